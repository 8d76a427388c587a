"""Passes and pipelines.

A *pass* is a tactic: untrusted code that asks the kernel for a chain of rules.  It takes a theorem and gives a theorem
about the lowered program; it can only be refused.  A pass is a frozen dataclass whose fields are its options, so that
a *pipeline* is data: one expression, which its ``repr`` gives back::

    RemoveAssume() >> UnrollLoop(max_extent=16) >> Simplify()
    Pipeline(RemoveAssume(), UnrollLoop(max_extent=16), Simplify())

A refusal is a :class:`~verified_tir.schedule.errors.ScheduleError` that names the pass, the place and the claim.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from typing import TypeAlias, TypeVar, final

from verified_tir.activity import Level, announce
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Stmt
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.obligation import NoMatch, Refusal, Unproved
from verified_tir.kernel.theorem import Refines
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict import Discharged
from verified_tir.schedule.claims import claim_of
from verified_tir.schedule.nesting import walked
from verified_tir.schedule.refusals import report
from verified_tir.schedule.schedule import Schedule
from verified_tir.schedule.session import Session, TacticFailed

S = TypeVar("S", bound=Stmt)


@final
@dataclass(slots=True)
class Lowering:
    """What a pass works on: the session with the kernel, and notes for a person."""

    session: Session
    notes: list[str] = field(default_factory=list)

    def note(self, sentence: str) -> None:
        """Report something that is not a refusal, such as a loop that was left serial."""
        if sentence not in self.notes:
            self.notes.append(sentence)

    def each(
        self, kind: type[S], change: Callable[[Path, S], object], wanted: Callable[[S], bool] = lambda _: True
    ) -> None:
        """Offer every statement of a class that is wanted to ``change``, last first and inner before outer.

        A change may replace the statement and what stands in and after it, but nothing before it.
        """
        remaining = len(self.session.find(kind, wanted))
        while remaining:
            remaining -= 1
            change(*self.session.find(kind, wanted)[remaining])


@final
@dataclass(frozen=True, slots=True)
class PassRecord:
    """What one pass did: the programs before and after, what was proved for it (in seconds), and its notes."""

    step: Pass
    before: PrimFunc
    after: PrimFunc
    obligations: tuple[Discharged, ...]
    rules: int
    seconds: float
    notes: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Pass(ABC):
    """A lowering pass with its options."""

    @property
    def name(self) -> str:
        """The name of the pass, as ``--print-after`` takes it."""
        return type(self).__name__

    @abstractmethod
    def lower(self, work: Lowering) -> None:
        """Extend the theorem of ``work.session``.

        :raises TacticFailed: if the kernel refuses what the pass cannot do without.
        """

    def run(self, start: Start, *, after: After | None = None, solver: Solver | None = None) -> Refines:
        """Run this pass alone; see :meth:`Pipeline.run`."""
        return Pipeline(self).run(start, after=after, solver=solver)

    def __rshift__(self, other: Pass | Pipeline) -> Pipeline:
        return Pipeline(self) >> other

    def __repr__(self) -> str:
        options = (f"{f.name}={value!r}" for f in fields(self) if (value := getattr(self, f.name)) != f.default)
        return f"{self.name}({', '.join(options)})"


Start: TypeAlias = Refines | Schedule
"""Where lowering starts: a theorem, or a schedule that holds one."""

After: TypeAlias = Callable[[PassRecord], None]
"""Called after each pass."""


@final
class Pipeline:
    """Passes, run in order."""

    __slots__ = ("passes",)

    def __init__(self, *passes: Pass) -> None:
        for p in passes:
            if not isinstance(p, Pass):
                hint = f"; write {p.__name__}()" if isinstance(p, type) and issubclass(p, Pass) else ""
                raise TypeError(f"a pipeline is made of passes, not of {p!r}{hint}")
        self.passes = passes

    def __iter__(self) -> Iterator[Pass]:
        return iter(self.passes)

    def __len__(self) -> int:
        return len(self.passes)

    def __rshift__(self, other: Pass | Pipeline) -> Pipeline:
        if isinstance(other, Pipeline):
            return Pipeline(*self.passes, *other.passes)
        return Pipeline(*self.passes, other)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pipeline) and self.passes == other.passes

    def __hash__(self) -> int:
        return hash(self.passes)

    def __repr__(self) -> str:
        return f"Pipeline({', '.join(map(repr, self.passes))})"

    def __call__(self, theorem: Refines) -> Refines:
        """:meth:`run`, so that a pipeline is what ``build(…, pipeline=…)`` takes."""
        return self.run(theorem)

    def run(self, start: Start, *, after: After | None = None, solver: Solver | None = None) -> Refines:
        """The theorem about the lowered program.

        :param start: a theorem, or a schedule; a schedule is left as it is.
        :param after: called with a :class:`PassRecord` after each pass.
        :param solver: asked for the obligations; the schedule's, or a new one, unless given.
        :raises ScheduleError: if a pass is refused.
        """
        theorem, known = (start.theorem, start.solver) if isinstance(start, Schedule) else (start, None)
        session = Session(theorem, Prover(solver or known or Solver()))
        for step in self.passes:
            record = run_pass(step, session)
            if after is not None:
                after(record)
        return session.theorem


def run_pass(step: Pass, session: Session) -> PassRecord:
    """Run one pass: it changes the session, or is refused and changes nothing.

    :raises ScheduleError: if it is refused.
    """
    theorem = reached = session.theorem
    races = len(session.races)
    begun = time.perf_counter()
    work = Lowering(session)
    announce(Level.STEP, repr(step))
    try:
        with walked(repr(step), theorem.after), session.atomic():
            try:
                step.lower(work)
            finally:
                reached = session.theorem
    except TacticFailed as failed:
        raise report(repr(step), failed.refusal, reached.after, reached, failed.code) from None
    done = session.theorem.derivation[len(theorem.derivation) :]
    obligations = (*(d for s in done for d in s.obligations), *session.races[races:])
    seconds = time.perf_counter() - begun
    return PassRecord(step, theorem.after, session.func, obligations, len(done), seconds, tuple(work.notes))


def reason(refusal: Refusal) -> str:
    """A refusal in one sentence, for a note."""
    match refusal:
        case NoMatch(reason=text):
            return text
        case Unproved(obligation=obligation):
            return f"not proved: {claim_of(obligation)}"
