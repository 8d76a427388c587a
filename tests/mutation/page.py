"""The table of mutants in ``docs/mutation.md``, and the list of those that survived.

What is between the markers is written here; the rest of the page by hand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tests.mutation.equivalent import EQUIVALENT
from tests.mutation.mutant import Mutant, short_name
from tests.mutation.results import Result

PAGE = "docs/mutation.md"
BEGIN, END = "<!-- mutants -->", "<!-- end of the mutants -->"

_COLUMNS = ("killed", "timeout", "crashed", "equivalent", "survived", "out of time", "unreached", "not run")


def write(root: Path, mutants: Sequence[Mutant], results: Mapping[str, Result]) -> bool:
    """Write what became of all mutants; says whether the page is another one now."""
    page = root / PAGE
    text = page.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    new = f"{head}{BEGIN}\n{table(mutants, results)}{left(mutants, results)}{END}{tail}"
    page.write_text(new, encoding="utf-8")
    return new != text


def table(mutants: Sequence[Mutant], results: Mapping[str, Result]) -> str:
    """A row for each file: how many mutants it has, and how many of them are in each state."""
    counts: dict[str, Counter[str]] = {}
    for m in mutants:
        counts.setdefault(short_name(m.file), Counter())[_status(m, results)] += 1
    used = [c for c in _COLUMNS if any(n[c] for n in counts.values())]
    rows = [f"| file | mutants | {' | '.join(used)} |", f"|---|---|{'---|' * len(used)}"]
    rows += [_totals(f"`{name}`", n, used) for name, n in counts.items()]
    rows.append(_totals("**all**", _sum(counts.values()), used))
    return "\n".join([*rows, ""])


def left(mutants: Sequence[Mutant], results: Mapping[str, Result]) -> str:
    """A row for each mutant that was run and that no test noticed, with the reason if it changes nothing."""
    found = [m for m in mutants if m.id in EQUIVALENT or (m.id in results and not results[m.id].killed)]
    if not found:
        return ""
    rows = [f"| `{m.id}` | {m.effect} | {_cell(m.words)} | {_ran(results.get(m.id))} | {_why(m)} |" for m in found]
    head = "| survivor | effect | what is changed | tests | why it changes nothing |"
    return "\n".join(["", head, "|---|---|---|---|---|", *rows, ""])


def _why(m: Mutant) -> str:
    return EQUIVALENT.get(m.id, "")


def _status(m: Mutant, results: Mapping[str, Result]) -> str:
    result = results.get(m.id)
    if m.id in EQUIVALENT and (result is None or not result.killed):
        return "equivalent"
    return "not run" if result is None else result.status


def _ran(result: Result | None) -> str:
    return "none" if result is None or result.status == "unreached" else f"{result.ran} of {result.of}"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _totals(name: str, counts: Counter[str], used: Sequence[str]) -> str:
    return f"| {name} | {counts.total()} | {' | '.join(str(counts[c]) for c in used)} |"


def _sum(counts: Iterable[Counter[str]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for c in counts:
        total += c
    return total
