"""Near misses from the examples: what was refuted there, as SMT-LIB files, each under the rule that owed it.

    python proofs/collect.py

Writes ``proofs/rules/<rule>/near-miss-from-<example>-<schedule>-<number>.smt2``; files of an earlier run are removed
first.  (What was *proved* for the examples is in ``proofs/certificates``.)  Left out are questions that mix floats with
integers: their models are hard to read; and those that multiply unknown integers: for some solvers they are too hard.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

from verified_tir.logic.called import called
from verified_tir.logic.formula import FLOAT_SORTS, INT, subterms
from verified_tir.logic.model import our_names
from verified_tir.logic.recheck import has_hard_operations
from verified_tir.logic.smtlib import query
from verified_tir.logic.standalone import standalone
from verified_tir.logic.verdict import Obligation
from verified_tir.schedule.errors import Refuted, ScheduleError
from verified_tir.schedule.registry import ScheduleFunction, collecting
from verified_tir.schedule.schedule import Schedule

ROOT = Path(__file__).resolve().parent
EXAMPLES = ROOT.parent / "examples"

RULE_OF_REFUSAL = {
    "dependence": "reindex", "race": "same", "no-op": "insert", "safety": "insert", "rounding": "reassociate",
}  # fmt: skip
"""The rule whose obligation was refuted, by the obligation's name (for the refusals that the examples expect)."""


def schedules() -> Iterator[tuple[str, ScheduleFunction]]:
    """Every schedule of the examples, with the name of its file."""
    for file in [*sorted(EXAMPLES.glob("*.py")), *sorted((EXAMPLES / "padding").glob("*.py"))]:
        spec = importlib.util.spec_from_file_location(f"example_{file.stem}", file)
        assert spec is not None and spec.loader is not None
        with collecting() as made:
            spec.loader.exec_module(importlib.util.module_from_spec(spec))
        for function in made:
            yield file.relative_to(EXAMPLES).with_suffix("").as_posix(), function


def refusals(function: ScheduleFunction) -> list[ScheduleError]:
    """What is refused when the schedule runs."""
    made = Schedule(function.program)
    last: list[ScheduleError] = []
    try:
        function.function(made)
    except ScheduleError as refused:
        last.append(refused)
    return [*made.refusals, *last]


def text_of(step: str, o: Obligation) -> str:
    """The file of a refuted obligation."""
    names, texts = called(o), our_names(query(o.given, o.goal))
    header = [
        o.claim,
        f"owed by {step}",
        *(f"{short} is {names[ours]}" for short, (ours, _) in texts.items() if ours in names),
        "",
        "Near miss: satisfiable.",
    ]
    comments = [f"; {line}".rstrip() for line in header]
    return "\n".join([*comments, "(set-info :status sat)", standalone(o.given, o.goal)])


def mixed(o: Obligation) -> bool:
    """Whether floats and integers meet in the question."""
    terms = list(subterms(*o.given, o.goal))
    return any(t.sort in FLOAT_SORTS for t in terms) and any(t.sort == INT for t in terms)


def collected() -> dict[str, str]:
    """All files: paths below ``proofs/rules``, and texts.  Equal questions are there once."""
    seen: set[str] = set()
    found: dict[str, str] = {}
    for example, function in schedules():
        obligations = [r.obligation for r in refusals(function) if isinstance(r, Refuted) and r.obligation is not None]
        for number, o in enumerate(obligations):
            question = standalone(o.given, o.goal)
            if mixed(o) or has_hard_operations(*o.given, o.goal) or question in seen:
                continue
            seen.add(question)
            name = f"near-miss-from-{example}-{function.name}-{number:03}"
            name = name.replace("_", "-").replace("/", "-")
            text = text_of(f"{function.name} in examples/{example}.py", o)
            found[f"{RULE_OF_REFUSAL[o.name]}/{name}.smt2"] = text
    return found


def main() -> int:
    """Write all files; say how many."""
    for old in (ROOT / "rules").glob("*/*from-*.smt2"):
        old.unlink()
    files = collected()
    for name, text in files.items():
        path = ROOT / "rules" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    print(f"{len(files)} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
