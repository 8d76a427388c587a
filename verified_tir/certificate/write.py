"""From a schedule to its certificate: the derivation, and notes of the calls that led to it.

What stands in a certificate, ``verified_tir.certificate.content`` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, final

from verified_tir import __version__
from verified_tir.certificate.content import Noted, content
from verified_tir.certificate.replay import ReplayFailed, made_again
from verified_tir.derivation.codec import Scope, Writer
from verified_tir.derivation.theorems import NotDerived, as_data, derive_program
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.script import script
from verified_tir.kernel.facts import Prover
from verified_tir.logic.recheck import version
from verified_tir.schedule.recording import Call
from verified_tir.schedule.schedule import Schedule, StepRecord


@final
@dataclass(frozen=True, slots=True)
class Origin:
    """Where a schedule comes from: its function, its file as written in the certificate, the line, the file's path."""

    function: str
    file: str = ""
    line: int = 0
    path: str = ""


@final
@dataclass(slots=True)
class Written:
    """Certificates in the making: by name; the texts of their questions, and elements of constants, by hash."""

    certificates: dict[str, dict[str, Any]] = field(default_factory=dict)
    queries: dict[str, str] = field(default_factory=dict)
    constants: dict[str, bytes] = field(default_factory=dict)

    def add(self, name: str, schedule: Schedule, origin: Origin) -> None:
        """Write one certificate.

        :param name: its path below the folder, without ``.json``.
        :raises ValueError: if there is one of this name.
        """
        if name in self.certificates:
            raise ValueError(f"there are two certificates called {name}")
        self.certificates[name], queries = certificate_of(schedule, origin)
        self.queries |= queries


def certificate_name(file: str, function: str) -> str:
    """``schedules/gemm.py`` and ``tiled`` as ``schedules/gemm/tiled``."""
    parts = [p for p in PurePosixPath(Path(file).with_suffix("").as_posix()).parts if p not in ("..", "/", ".")]
    return str(PurePosixPath(*parts, function.replace("#", "-")))


def shown_below(path: Path, folder: Path) -> str:
    """The file as a certificate names it: its path below the folder, or else its name alone."""
    full = path.resolve()
    return full.relative_to(folder).as_posix() if full.is_relative_to(folder) else full.name


def certificate_of(schedule: Schedule, origin: Origin) -> tuple[dict[str, Any], dict[str, str]]:
    """The certificate of a schedule, and the texts of its questions by hash.

    It is written of the schedule made again from its text and the notes of its calls.  So it can be regenerated, holds
    nothing of steps that were tried and refused, and calls everything as the text does.  The solver is the same, with
    the verdicts that it remembers: little is proved twice.  If that fails, the certificate is of the schedule as it is,
    and says why.
    """
    steps = schedule.steps
    lines = [0 if r.call is None else r.call.line_in(origin.path) for r in steps]
    problems = [
        f"{r.name}: {'its call was not recorded' if r.call is None else r.call.problem}"
        for r in steps[1:]
        if r.call is None or r.call.problem
    ]
    again = schedule
    if not problems:
        calls = [r.call for r in steps if r.call is not None]
        try:
            again = made_again(script(steps[0].before), calls, schedule.solver)
            if not all(structural_equal(a.after, b.after) for a, b in zip(again.steps, steps, strict=True)):
                problems.append("made again, the steps lead to other programs")
        except ReplayFailed as failed:
            problems.append(f"made again, {steps[failed.step].name} is refused: {failed}")
    return content_of(schedule if problems else again, origin, lines, problems)


def content_of(
    schedule: Schedule, origin: Origin, lines: Sequence[int], problems: Sequence[str] = ()
) -> tuple[dict[str, Any], dict[str, str]]:
    """The certificate of a schedule as it is, and the texts of its questions by hash.

    It is written of the theorem derived again from its rules: so it holds what is owed for these, and nothing of what
    was tried on the way; and whoever reads it derives the same.

    :param lines: of each step, in the file that it came from.
    :param problems: why it cannot be regenerated.
    :raises ValueError: if the theorem cannot be derived from its rules again.
    """
    theorem, steps = schedule.theorem, schedule.steps
    data = as_data(theorem)
    licences = Writer(Scope.of(data.start)).write(data.licences)
    texts = [rule.text for rule in data.rules]
    try:
        derived = derive_program(steps[0].before, licences, texts, data.given_up, Prover(schedule.solver))
    except NotDerived as failed:
        where = f"rule {failed.step}, {texts[failed.step]}" if failed.step >= 0 else "the program itself"
        raise ValueError(f"derived again from its rules, the theorem is refused: {where}: {failed}") from None
    if not structural_equal(derived.theorem.after, schedule.func):
        raise ValueError("derived again from its rules, the theorem is about another program")
    noted = Noted(
        {"name": "vtir", "version": __version__, "z3": version("z3")},
        {"function": origin.function, "file": origin.file, "line": origin.line, "budget": schedule.solver.budget},
        [(_call(r, line), len(r.rules)) for r, line in zip(steps, lines, strict=True)],
        {"yes": not problems, "why not": list(problems)},
    )
    return content(derived, noted)


def _call(record: StepRecord, line: int) -> dict[str, Any]:
    call = record.call or Call(record.name)
    return {"primitive": record.name, "arguments": call.arguments, "named": call.named, "line": line}
