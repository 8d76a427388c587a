"""Obligations of the examples as SMT-LIB files, each under the rule that owed it.

    python proofs/collect.py

Writes ``proofs/rules/<rule>/from-<example>-<schedule>-<number>.smt2`` for what was proved, and
``near-miss-from-….smt2`` for what was refuted; files of an earlier run are removed first.  Equal questions are written
once.  Left out are questions that fold to a constant, and those that mix floats with integers: Z3 proves these in parts
(``verified_tir.logic.floats``), and their float parts are among the files written by hand.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

from verified_tir.kernel.theorem import Refines
from verified_tir.logic.smtlib import query
from verified_tir.logic.verdict import Obligation, Proved
from verified_tir.schedule.errors import Refuted, ScheduleError
from verified_tir.schedule.registry import ScheduleFunction, collecting
from verified_tir.schedule.schedule import Schedule

ROOT = Path(__file__).resolve().parent
EXAMPLES = ROOT.parent / "examples"


def schedules() -> Iterator[tuple[str, ScheduleFunction]]:
    """Every schedule of the examples, with the name of its file."""
    for file in sorted(EXAMPLES.glob("*.py")):
        spec = importlib.util.spec_from_file_location(f"example_{file.stem}", file)
        assert spec is not None and spec.loader is not None
        with collecting() as made:
            spec.loader.exec_module(importlib.util.module_from_spec(spec))
        for function in made:
            yield file.stem, function


def owed(theorem: Refines) -> Iterator[tuple[str, Obligation]]:
    """The obligations and lemmas of a theorem, with the rule that owed them."""
    for step in theorem.derivation:
        rule = rule_of(step.rule)
        for d in step.obligations:
            where = "kind" if d.obligation.name == "licence" else rule
            if isinstance(d.verdict, Proved) and d.verdict.how == "z3":
                yield where, d.obligation
            yield from ((where, lemma.obligation) for lemma in d.lemmas)


def rule_of(rule: object) -> str:
    """The stem of the rule's module."""
    return type(rule).__module__.rsplit(".", 1)[1]


def run(function: ScheduleFunction) -> tuple[Schedule, list[ScheduleError]]:
    """The schedule as far as it came, and its refusals."""
    made = Schedule(function.program)
    refusals: list[ScheduleError] = []
    try:
        function.function(made)
    except ScheduleError as refused:
        refusals.append(refused)
    return made, [*made.refusals, *refusals]


RULE_OF_REFUSAL = {"order": "reindex", "licence": "kind", "no-op": "insert", "safety": "insert"}
"""The rule whose obligation was refuted, by the obligation's name (for the refusals that the examples expect)."""


def write(rule: str, name: str, step: str, o: Obligation, status: str) -> None:
    """One file."""
    script = query(o.given, o.goal)
    called = [f"; {short} is {o.names[ours]}" for short, (ours, _) in script.names.items() if ours in o.names]
    verdict = "The lemma holds if this is unsatisfiable." if status == "unsat" else "Near miss: satisfiable."
    lines = [
        f"; {o.claim}",
        f"; owed by {step}",
        *called,
        ";",
        f"; {verdict}",
        f"(set-info :status {status})",
        "(set-logic ALL)",
        script.text,
        "(check-sat)",
    ]
    folder = ROOT / "rules" / rule
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.smt2").write_text("\n".join(lines) + "\n", encoding="utf-8")


def mixed(o: Obligation) -> bool:
    """Whether floats and integers meet in the question."""
    text = query(o.given, o.goal).text
    return "FloatingPoint" in text and "Int" in text


def main() -> int:
    """Write all files; say how many."""
    for old in (ROOT / "rules").glob("*/*from-*.smt2"):
        old.unlink()
    seen: set[str] = set()
    written = 0
    for example, function in schedules():
        made, refusals = run(function)
        number = 0
        found = [(rule, o, "unsat", "") for rule, o in owed(made.theorem)]
        for refused in refusals:
            if isinstance(refused, Refuted) and refused.obligation is not None:
                o = refused.obligation
                found.append((RULE_OF_REFUSAL[o.name], o, "sat", "near-miss-"))
        for rule, o, status, prefix in found:
            text = query(o.given, o.goal).text
            if mixed(o) or text in seen:
                continue
            seen.add(text)
            name = f"{prefix}from-{example}-{function.name}-{number:03}".replace("_", "-")
            write(rule, name, f"{function.name} in examples/{example}.py", o, status)
            number += 1
            written += 1
    print(f"{written} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
