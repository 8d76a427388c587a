"""The report of a run as plain values: files, their schedules, the steps of each, the obligations of each step.

Nothing here holds a program or a formula, so that a report of many files stays small.  Times are in seconds, lines and
columns count from 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, final

from verified_tir.report.diff import DiffLine

VerdictName = Literal["proved", "refuted", "undecided"]
OpinionName = Literal["agrees", "undecided", "disagrees"]
RefusalKind = Literal["refuted", "undecided", "not-applicable"]


class Outcome(Enum):
    """How a schedule ended, and whether that was expected."""

    PROVED = "proved"
    REFUSED_AS_EXPECTED = "refused-as-expected"
    REFUSED = "refused"
    NOT_REFUSED = "not-refused"
    VACUOUS = "vacuous"
    NO_INPUT = "no-input-found"
    ERROR = "error"

    @property
    def proves_nothing(self) -> bool:
        """Whether all steps were proved, of no input that is known."""
        return self in (Outcome.VACUOUS, Outcome.NO_INPUT)

    @property
    def as_expected(self) -> bool:
        return self in (Outcome.PROVED, Outcome.REFUSED_AS_EXPECTED)


@final
@dataclass(frozen=True, slots=True)
class Place:
    """A statement in the text of a program: its path, its line and what the line says.

    ``program`` tells which program is meant: that ``"before"`` the rule that owes the obligation, or that ``"after"``.
    """

    program: str
    path: tuple[int, ...]
    line: int
    text: str


@final
@dataclass(frozen=True, slots=True)
class ObligationReport:
    """One obligation with its verdict.

    ``how`` names the method (``"z3"``, ``"trivial"``, …); ``rule`` is the kernel rule that owed it, empty for the
    program itself; ``lemmas`` are side questions about the contents of memory that were proved for it.
    """

    name: str
    claim: str
    verdict: VerdictName
    how: str
    seconds: float
    rule: str
    place: Place | None
    lemmas: tuple[ObligationReport, ...]


@final
@dataclass(frozen=True, slots=True)
class StepReport:
    """One primitive as it was called, with what was proved for it.

    ``line`` is the one in the schedule's file that called it, 0 for the program itself; ``program`` the text of the
    program after it, and ``diff`` what it changed there, where that was asked for.
    """

    name: str
    arguments: str
    seconds: float
    obligations: tuple[ObligationReport, ...]
    line: int = 0
    program: str = ""
    diff: tuple[DiffLine, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}({self.arguments})"

    @property
    def questions(self) -> int:
        """Obligations and their lemmas."""
        return sum(1 + len(o.lemmas) for o in self.obligations)


@final
@dataclass(frozen=True, slots=True)
class SourcePlace:
    """A line of a file that the user wrote."""

    file: str
    line: int
    column: int | None = None
    source: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.column is None else f"{self.file}:{self.line}:{self.column}"


@final
@dataclass(frozen=True, slots=True)
class ReplayReport:
    """What running the counterexample showed; ``confirmed`` means that the result changed."""

    confirmed: bool
    message: str

    def __str__(self) -> str:
        return f"replayed: {self.message} ({'confirmed' if self.confirmed else 'unconfirmed'})"


@final
@dataclass(frozen=True, slots=True)
class RefusalReport:
    """A refused step: which, why, and where in the program and in the schedule.

    ``text`` is the whole message of the exception, ``program`` the program's text with the place marked; ``remedy``
    what makes the step succeed, if that was looked for and found; ``advice`` what to try, untried.  ``code`` is
    explained by ``vtir help CODE``.
    """

    step: str
    kind: RefusalKind
    claim: str
    text: str
    program: str
    place: Place | None
    counterexample: dict[str, int]
    replay: ReplayReport | None
    raised: SourcePlace | None
    code: str
    remedy: str | None = None
    advice: str = ""

    @property
    def values(self) -> str:
        """The counterexample, as people write it."""
        return ", ".join(f"{k} = {v}" for k, v in self.counterexample.items())


@final
@dataclass(frozen=True, slots=True)
class ErrorReport:
    """A mistake in what the user wrote: ``kind`` is the exception's name, ``at`` its place as far as it is known.

    ``code`` is explained by ``vtir help CODE``.
    """

    kind: str
    message: str
    at: SourcePlace
    traceback: str = ""
    code: str = field(kw_only=True)

    @property
    def sentence(self) -> str:
        """The message, behind the exception's name where that says more."""
        return self.message if self.kind in ("", "ScriptError") else f"{self.kind}: {self.message}"


@final
@dataclass(frozen=True, slots=True)
class StepOpinion:
    """What the independent validator says of the program after one step, by the step's number and text.

    ``sizes`` are the values of the symbols at which it was asked, ``left_out`` those that would have taken too long.
    """

    step: int
    name: str
    word: OpinionName
    sentence: str
    sizes: tuple[dict[str, int], ...]
    left_out: tuple[dict[str, int], ...]
    operations: int
    seconds: float


@final
@dataclass(frozen=True, slots=True)
class OpinionReport:
    """The validator's second opinion on a schedule, and on each step that it was asked about."""

    word: OpinionName
    sentence: str
    steps: tuple[StepOpinion, ...]


@final
@dataclass(frozen=True, slots=True)
class MachineCodeSize:
    """What is said of one text of LLVM IR (``"as written"`` or ``"optimised"``) at some sizes."""

    text: str
    sizes: dict[str, int]
    verdict: str
    instructions: int
    seconds: float


@final
@dataclass(frozen=True, slots=True)
class MachineCodeReport:
    """Whether the LLVM IR of a schedule does what its program says."""

    word: OpinionName
    sentence: str
    sizes: tuple[MachineCodeSize, ...]
    seconds: float = 0.0


InputName = Literal["input", "not run", "vacuous", "no input found"]


@final
@dataclass(frozen=True, slots=True)
class InputReport:
    """An input that satisfies what the program assumes, or why there is none.

    ``complete`` means that the program was run to its end; ``contradictory`` are assumptions that contradict each
    other.
    """

    found: InputName
    sentence: str
    sizes: dict[str, int | float | str]
    steps: int
    complete: bool
    contradictory: tuple[str, ...]


@final
@dataclass(frozen=True, slots=True)
class ScheduleReport:
    """One schedule function.

    ``expected_refusals`` are those of ``with expect_refusal(s):`` blocks; ``refusal`` is what ended the schedule.
    ``assumptions`` are the sentences on which what was proved rests.  ``program`` is the text of the program as
    scheduled, as far as the schedule came.  ``opinion`` is what the independent validator says, if it was asked;
    ``machine_code`` what it says of the LLVM IR.  ``input`` is one that the theorem speaks of.
    """

    name: str
    at: SourcePlace
    doc: str
    expect: str
    outcome: Outcome
    seconds: float
    steps: tuple[StepReport, ...]
    expected_refusals: tuple[RefusalReport, ...]
    refusal: RefusalReport | None
    error: ErrorReport | None
    assumptions: tuple[str, ...]
    program: str
    opinion: OpinionReport | None = None
    machine_code: MachineCodeReport | None = None
    input: InputReport | None = None
    unexpected: str = ""
    """Why ``refusal`` is not the one that was expected, where one was."""
    profile: tuple[tuple[str, float], ...] = ()
    """Where the time went, if that was asked for: parts of vtir, and seconds."""

    @property
    def obligations(self) -> int:
        """How many obligations were proved, lemmas not counted."""
        return sum(len(s.obligations) for s in self.steps)


@final
@dataclass(frozen=True, slots=True)
class FileReport:
    """One file; ``error`` is set if it could not be read, ``warning`` if it is odd."""

    file: str
    schedules: tuple[ScheduleReport, ...]
    seconds: float = 0.0
    error: ErrorReport | None = None
    warning: str = ""


@final
@dataclass(frozen=True, slots=True)
class Report:
    """A whole run.  ``nothing`` says why nothing was verified, if nothing was."""

    files: tuple[FileReport, ...]
    seconds: float
    nothing: str = ""
    interrupted: bool = False

    @property
    def schedules(self) -> tuple[ScheduleReport, ...]:
        return tuple(s for f in self.files for s in f.schedules)

    def count(self, outcome: Outcome) -> int:
        """How many schedules ended so."""
        return sum(s.outcome is outcome for s in self.schedules)

    @property
    def bad_files(self) -> int:
        return sum(f.error is not None for f in self.files)

    @property
    def exit_code(self) -> int:
        """0: all as expected; 1: some schedule was not; 2: a bad file, or nothing to verify; 4: no input is known that
        some schedule is about, and all others were as expected; 130: interrupted."""
        if self.interrupted:
            return 130
        if self.nothing or self.bad_files:
            return 2
        odd = [s.outcome for s in self.schedules if not s.outcome.as_expected]
        return 0 if not odd else 4 if all(outcome.proves_nothing for outcome in odd) else 1
