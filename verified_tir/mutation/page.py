"""The table of mutants: ``docs/mutation.md``, and a page for each file in ``docs/mutation/``.

What is between the markers is written here; the rest of the page by hand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from verified_tir.mutation.mutant import Mutant, short_name
from verified_tir.mutation.results import KILLED, Result, Results, text_of

PAGE, FOLDER = "docs/mutation.md", "docs/mutation"
KNOWN = "docs/mutation/results.jsonl"
"""What the pages were made of: a checkout without results of its own goes on from there."""
BEGIN, END = "<!-- mutants -->", "<!-- end of the mutants -->"

_COLUMNS = ("killed", "timeout", "crashed", "equivalent", "survived", "out of time", "unreached", "not run")


def write(
    root: Path, mutants: Sequence[Mutant], results: Mapping[str, Result], excused: Mapping[str, str]
) -> list[str]:
    """Write the pages of all files that have mutants among these, and the summary of all pages; gives what changed."""
    groups: dict[str, list[Mutant]] = {}
    for m in mutants:
        groups.setdefault(_group(m), []).append(m)
    changed = [
        _put(root / FOLDER / f"{name}.md", _page(name, group, results, excused)) for name, group in groups.items()
    ]
    changed.append(_put(root / KNOWN, text_of(_known(root, mutants, results, excused))))
    page = root / PAGE
    text = page.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    changed.append(_put(page, f"{head}{BEGIN}\n{summary(root)}{END}{tail}"))
    return [name for name in changed if name]


def _known(
    root: Path, mutants: Sequence[Mutant], results: Mapping[str, Result], excused: Mapping[str, str]
) -> list[Result]:
    """The results that the pages show: those given, and of other mutants what was known before."""
    given = {m.id for m in mutants}
    shown = {name for page in (root / FOLDER).glob("*.md") for name in ids_on(page)} - excused.keys()
    before = [r for r in Results(root / KNOWN).by_id.values() if r.id not in given]
    return [r for r in [*before, *results.values()] if r.id in shown]


def _put(path: Path, text: str) -> str:
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return ""
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path.name


def _group(m: Mutant) -> str:
    return "catalogue" if m.operator == "fault" else short_name(m.file)


def _status(m: Mutant, results: Mapping[str, Result], excused: Mapping[str, str]) -> str:
    if m.id in excused:
        return "equivalent"
    return results[m.id].status if m.id in results else "not run"


def _page(name: str, mutants: Sequence[Mutant], results: Mapping[str, Result], excused: Mapping[str, str]) -> str:
    rows = [_row(m, results.get(m.id), excused.get(m.id)) for m in mutants]
    counts = Counter(_status(m, results, excused) for m in mutants)
    seconds = sum(results[m.id].seconds for m in mutants if m.id in results and m.id not in excused)
    file = "the catalogue of faults" if name == "catalogue" else f"`{mutants[0].file}`"
    told = ", ".join(f"{counts[c]} {c}" for c in _COLUMNS if counts[c])
    lines = [
        f"# Mutants of {file}",
        "",
        f"{len(mutants)} mutants: {told}; {seconds:.0f} seconds. Written by `vtir mutate --write-docs`; "
        "[](../mutation.md) says what the columns mean.",
        "",
        "| mutant | effect | what is changed | killed by | seconds |",
        "|---|---|---|---|---|",
        *rows,
        "",
    ]
    return "\n".join(lines)


def _row(m: Mutant, result: Result | None, reason: str | None) -> str:
    place = m.id.removeprefix(f"{short_name(m.file)}:").removeprefix("catalogue:")
    if reason is not None:
        end = f"*equivalent*: {_cell(reason)} | "
    elif result is None:
        end = "**not run** | "
    elif result.status == "killed":
        end = f"{_test(result.by)} | {result.seconds:.1f}"
    elif result.status in KILLED:
        end = f"{_test(result.by)} ({result.status}) | {result.seconds:.1f}"
    else:
        end = f"**{result.status}** ({result.ran} of {result.of} tests) | {result.seconds:.1f}"
    return f"| `{place}` | {m.effect} | {_cell(m.words)} | {end} |"


def _test(name: str) -> str:
    file, _, rest = name.partition("::")
    short = rest if len(rest) <= 80 else rest[:77] + "…"
    return f"`{file.removeprefix('tests/')}` `{_code(short)}`" if rest else f"`{_code(name)}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _code(text: str) -> str:
    return text.replace("|", "\\|").replace("`", "'")


# -- what the pages say --------------------------------------------------------------------------------------------


def ids_on(page: Path) -> list[str]:
    """Ids of the mutants on a page of the folder."""
    prefix = page.stem + ":"
    lines = page.read_text(encoding="utf-8").splitlines()
    return [prefix + line.split("`")[1] for line in lines if line.startswith("| `")]


def counts_on(page: Path) -> Counter[str]:
    """How many mutants of a page are in each state."""
    for line in page.read_text(encoding="utf-8").splitlines():
        if " mutants: " in line:
            told = line.partition(" mutants: ")[2].partition(";")[0]
            return Counter({word: int(n) for part in told.split(", ") for n, _, word in [part.partition(" ")]})
    return Counter()


def summary(root: Path) -> str:
    """The table of totals of all pages, and the list of pages."""
    pages = sorted((root / FOLDER).glob("*.md"), key=lambda p: (not p.stem.startswith("rules."), p.stem))
    counts = {p.stem: counts_on(p) for p in pages}
    used = [c for c in _COLUMNS if any(n[c] for n in counts.values())]
    rows = [f"| file | mutants | {' | '.join(used)} |", f"|---|---|{'---|' * len(used)}"]
    rows += [_totals(f"[`{name}`](mutation/{name}.md)", n, used) for name, n in counts.items()]
    rows.append(_totals("**all**", _sum(counts.values()), used))
    toctree = ["```{toctree}", ":hidden:", "", *(f"mutation/{name}" for name in counts), "```"]
    return "\n".join([*rows, "", *toctree, ""])


def _totals(name: str, counts: Counter[str], used: Sequence[str]) -> str:
    return f"| {name} | {counts.total()} | {' | '.join(str(counts[c]) for c in used)} |"


def _sum(counts: Iterable[Counter[str]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for c in counts:
        total += c
    return total
