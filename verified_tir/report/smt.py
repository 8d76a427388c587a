"""Obligations as SMT-LIB files, to be looked at or given to another solver.

    DIR/<file>/<schedule>/<step>-<primitive>/<number>-<obligation>.smt2

Each file asks whether the givens can hold and the goal not; so ``unsat`` means that the claim holds.  The header
tells the claim and how the program calls the variables.
"""

from __future__ import annotations

import re
from pathlib import Path

from verified_tir.logic.called import called
from verified_tir.logic.model import our_names
from verified_tir.logic.smtlib import query
from verified_tir.logic.verdict import Obligation
from verified_tir.report.collect import verdict_name
from verified_tir.schedule.claims import claim_of
from verified_tir.schedule.errors import Refuted, ScheduleError, Undecided
from verified_tir.schedule.schedule import Schedule

_STATUS = {"proved": "unsat", "refuted": "sat", "undecided": "unknown"}


def write_obligations(folder: Path, schedule: Schedule) -> int:
    """Write every obligation that was proved for the schedule, and every lemma; gives the number of files.

    :raises OSError: if a file cannot be written.
    """
    written = 0
    for k, step in enumerate(schedule.steps):
        inside = folder / f"{k:02}-{file_name(step.name)}"
        for n, d in enumerate(step.obligations):
            _write(inside, f"{n:03}-{file_name(d.obligation.name)}", str(step), d.obligation, verdict_name(d.verdict))
            written += 1
            for m, lemma in enumerate(d.lemmas):
                name = f"{n:03}-lemma-{m:02}"
                _write(inside, name, str(step), lemma.obligation, verdict_name(lemma.verdict))
                written += 1
    return written


def write_refusal(folder: Path, name: str, refused: ScheduleError) -> int:
    """Write the obligation that a step was refused for, if there is one."""
    match refused:
        case Refuted(obligation=Obligation() as o):
            verdict = "refuted"
        case Undecided(obligation=Obligation() as o):
            verdict = "undecided"
        case _:
            return 0
    _write(folder / name, f"000-{file_name(o.name)}", refused.step, o, verdict)
    return 1


def _write(folder: Path, name: str, step: str, o: Obligation, verdict: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.smt2").write_text(smt_text(step, o, verdict), encoding="utf-8")


def smt_text(step: str, o: Obligation, verdict: str) -> str:
    """An obligation of a step as the text of an SMT-LIB file."""
    script, names = query(o.given, o.goal), called(o)
    shown = [(short, names[ours]) for short, (ours, _) in our_names(script).items() if ours in names]
    header = [
        f"claim: {claim_of(o)}",
        f"step: {step}",
        f"verdict: {verdict}",
        "The claim holds if this is unsat.",
        *(f"{short} is {theirs}" for short, theirs in shown),
    ]
    lines = [
        *(f"; {' '.join(line.split())}" for line in header),
        f"(set-info :status {_STATUS[verdict]})",
        "(set-logic ALL)",
        script.text,
        "(check-sat)",
    ]
    return "\n".join(lines) + "\n"


def folder_for(root: Path, file: str) -> Path:
    """The folder for a schedule file's obligations, below ``root`` whatever the path to the file looks like."""
    parts = [p for p in Path(file).with_suffix("").parts if p not in ("..", "/")]
    return root.joinpath(*map(file_name, parts))


def file_name(text: str) -> str:
    """The text as part of a file name."""
    return re.sub(r"[^A-Za-z0-9_]+", "-", text).strip("-")[:60] or "unnamed"
