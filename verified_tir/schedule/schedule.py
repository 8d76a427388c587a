"""The schedule: what users call.

A :class:`Schedule` takes a program, proves that it has a meaning, and then offers primitives.  Each primitive either
changes the program, after the kernel has proved every obligation, or raises a :class:`ScheduleError` and changes
nothing.  Loops are named by the variables that primitives return, or by their names in the text.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.func import IRModule, PrimFunc
from verified_tir.ir.paths import places
from verified_tir.ir.stmt import Block, For
from verified_tir.kernel.entry import verify_program
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.obligation import Discharged, NoMatch, Refusal, Unproved
from verified_tir.kernel.theorem import Refines, reflexive
from verified_tir.logic import verdict as v
from verified_tir.logic.solver import INTEGER_BUDGET, Solver
from verified_tir.schedule.errors import NotApplicable, Refuted, ScheduleError, Undecided
from verified_tir.schedule.index_map import IndexMap
from verified_tir.schedule.replay import Programs, replay
from verified_tir.schedule.session import Session, TacticFailed
from verified_tir.schedule.tactics import branches, layout, loops, reduction
from verified_tir.schedule.tactics import simplify as simplification

Handle = Var | str
T = TypeVar("T")


@final
@dataclass(frozen=True, slots=True)
class StepRecord:
    """One primitive as it was called, what the kernel proved for it, and how long that took."""

    name: str
    arguments: str
    obligations: tuple[Discharged, ...]
    seconds: float
    before: PrimFunc
    after: PrimFunc

    def __str__(self) -> str:
        return f"{self.name}({self.arguments})"


class Schedule:
    """A program and the theorem about what it has become.

    :param func: the program: a ``PrimFunc``, a module with one function, or TVMScript text.
    :param budget: resource limit of one integer query (Z3's rlimit); larger decides more and takes longer.
    :raises ScheduleError: if the program itself has no meaning on some input, or a block declares something false.
    """

    def __init__(
        self, func: PrimFunc | IRModule | str, *, budget: int = INTEGER_BUDGET, solver: Solver | None = None
    ) -> None:
        program = _program(func)
        self._records: list[StepRecord] = []
        self._refusals: list[ScheduleError] = []
        prover = Prover(solver or Solver(budget))
        start = time.perf_counter()
        result = verify_program(program, prover)
        if isinstance(result, (NoMatch, Unproved)):
            raise _report("the program itself", result, program, None)
        expanded, obligations = result
        self._session = Session(reflexive(expanded), prover)
        seconds = time.perf_counter() - start
        self._records.append(StepRecord("program", program.name, obligations, seconds, program, expanded))

    # -- what there is ------------------------------------------------------------------------------------------

    @property
    def func(self) -> PrimFunc:
        """The program as scheduled so far."""
        return self._session.func

    @property
    def theorem(self) -> Refines:
        """What has been proved: the original program is refined by :attr:`func`."""
        return self._session.theorem

    @property
    def steps(self) -> tuple[StepRecord, ...]:
        """What was done, the check of the program itself first."""
        return tuple(self._records)

    @property
    def solver(self) -> Solver:
        return self._session.solver

    def script(self) -> str:
        """The program's text."""
        from verified_tir.ir.script import script

        return script(self.func)

    def loops(self, block: str | None = None) -> list[Var]:
        """The loops in program order, or those around a block."""
        found = []
        if block is not None:
            where = next(
                (p for p, s in places(self.func.body, lambda s: isinstance(s, Block) and s.name == block)), None
            )
            if where is None:
                raise NotApplicable("loops", f"there is no block called {block!r}", self.func)
        for path, stmt in places(self.func.body, lambda s: isinstance(s, For)):
            if isinstance(stmt, For) and (block is None or (where is not None and where[: len(path)] == path)):
                found.append(stmt.var)
        return found

    @property
    def assumptions(self) -> list[str]:
        """What the theorem rests on, as sentences: sizes, padding, what the program assumes of its arguments."""
        from verified_tir.schedule.assumptions import assumptions

        return assumptions(self.theorem)

    @property
    def refusals(self) -> tuple[ScheduleError, ...]:
        """Refusals that the schedule expected (see ``expect_refusal``)."""
        return tuple(self._refusals)

    def note_refusal(self, refused: ScheduleError) -> None:
        """Keep an expected refusal for the report."""
        self._refusals.append(refused)

    # -- loops --------------------------------------------------------------------------------------------------

    def split(self, loop: Handle, factors: Sequence[int | None]) -> list[Var]:
        """Split a loop into nested loops of the given extents, outermost first; one factor may be ``None``.

        Where the factors do not divide the extent, a guard is added.  Gives the new loops.
        """
        return self._do("split", (loop, list(factors)), lambda s: loops.split(s, loop, factors))

    def fuse(self, *handles: Handle) -> Var:
        """Make one loop of perfectly nested ones, given outermost first."""
        return self._do("fuse", handles, lambda s: loops.fuse(s, handles))

    def reorder(self, *handles: Handle) -> None:
        """Put nested loops into the given order; loops between them that are not named keep their places."""
        self._do("reorder", handles, lambda s: loops.reorder(s, handles))

    def tile(self, *handles: Handle, factors: Sequence[int]) -> list[Var]:
        """Split each loop by its factor and put all outer loops before all inner ones; gives outer, then inner
        loops."""
        return self._do("tile", (*handles, list(factors)), lambda s: loops.tile(s, handles, factors))

    def partition(self, loop: Handle, mid: Expr | int) -> tuple[Var, Var]:
        """Cut a loop's range in two at ``mid``."""
        return self._do("partition", (loop, mid), lambda s: loops.partition(s, loop, mid))

    def peel(self, loop: Handle, end: bool = False) -> Var:
        """Run the first (``end``: the last) iteration outside the loop; gives the remaining loop."""
        return self._do("peel", (loop,), lambda s: loops.peel(s, loop, end))

    def fission(self, loop: Handle, position: int = 1) -> tuple[Var, Var]:
        """Split a loop over several statements into two loops, before the statement at ``position``."""
        return self._do("fission", (loop, position), lambda s: loops.fission(s, loop, position))

    def merge_loops(self, first: Handle, second: Handle) -> Var:
        """Merge two adjacent loops."""
        return self._do("merge_loops", (first, second), lambda s: loops.merge(s, first, second))

    def remove_loop(self, loop: Handle) -> None:
        """Replace a loop whose iterations all do the same by its body."""
        self._do("remove_loop", (loop,), lambda s: reduction.remove_loop(s, loop))

    def parallel(self, loop: Handle) -> None:
        """Permit a loop's iterations to run at once."""
        self._do("parallel", (loop,), lambda s: loops.mark(s, loop, "parallel"))

    def vectorize(self, loop: Handle) -> None:
        """Permit a loop's iterations to run as vector lanes."""
        self._do("vectorize", (loop,), lambda s: loops.mark(s, loop, "vectorized"))

    def unroll(self, loop: Handle) -> None:
        """Mark a loop to be unrolled."""
        self._do("unroll", (loop,), lambda s: loops.mark(s, loop, "unrolled"))

    def bind(self, loop: Handle, thread: str) -> None:
        """Bind a loop to a thread axis such as ``"threadIdx.x"``."""
        self._do("bind", (loop, thread), lambda s: loops.mark(s, loop, "thread_binding", thread))

    # -- layouts and buffers ------------------------------------------------------------------------------------

    def transform_layout(
        self, buffer: str | Buffer, index_map: IndexMap | Callable[..., Any], pad_value: Any = None
    ) -> None:
        """Move every element of a buffer (parameter or local) to ``index_map`` of its indices.

        :param pad_value: what the padding holds: ``None`` (touching it is forbidden), a number, ``T.undef()``, or a
            function of the new indices giving one of these.
        """
        name = buffer if isinstance(buffer, str) else buffer.name
        self._do(
            "transform_layout", (name, _map_text(index_map), f"pad_value={_short(pad_value)}"),
            lambda s: layout.transform_layout(s, buffer, index_map, pad_value),
        )  # fmt: skip

    def sequential_buffer_access(self, buffer: str | Buffer) -> list[Var]:
        """Make the loops around the accesses of a buffer follow its layout; gives the new loops."""
        name = buffer if isinstance(buffer, str) else buffer.name
        return self._do("sequential_buffer_access", (name,), lambda s: layout.sequential_buffer_access(s, buffer))

    def sink_allocation(self, buffer: str) -> None:
        """Move an allocation into the loop below it."""
        self._do("sink_allocation", (buffer,), lambda s: reduction.sink_allocation(s, buffer))

    # -- reductions and branches --------------------------------------------------------------------------------

    def decompose_reduction(self, block: str, loop: Handle) -> None:
        """Move a block's initialisation into a nest of its own before ``loop``."""
        self._do("decompose_reduction", (block, loop), lambda s: reduction.decompose_reduction(s, block, loop))

    def remove_branching_through_overcompute(self) -> int:
        """Remove branches whose body may as well run always; gives how many went."""
        return self._do("remove_branching_through_overcompute", (), branches.remove_branching_through_overcompute)

    def simplify(self) -> int:
        """Simplify index expressions, decide branches, remove loops that run once or never; gives how many changes."""
        return self._do("simplify", (), simplification.simplify)

    # -- the way to the kernel ----------------------------------------------------------------------------------

    def _do(self, name: str, arguments: Sequence[object], tactic: Callable[[Session], T]) -> T:
        session = self._session
        theorem = session.theorem
        renamed = dict(session.renamed)
        start = time.perf_counter()
        text = ", ".join(_short(a) for a in arguments)
        try:
            result = tactic(session)
        except TacticFailed as failed:
            at_failure = session.theorem
            session.theorem, session.renamed = theorem, renamed
            raise _report(f"{name}({text})", failed.refusal, at_failure.after, at_failure) from None
        done = session.theorem.derivation[len(theorem.derivation) :]
        obligations = tuple(d for step in done for d in step.obligations)
        seconds = time.perf_counter() - start
        self._records.append(StepRecord(name, text, obligations, seconds, theorem.after, session.func))
        return result


def _program(func: PrimFunc | IRModule | str) -> PrimFunc:
    if isinstance(func, str):
        from verified_tir.ir.script import parse_func

        return parse_func(func)
    if isinstance(func, IRModule):
        if len(func.functions) != 1:
            raise ValueError("a schedule takes one function; pick one of the module's")
        return func.functions[0][1]
    return func


def _short(value: object) -> str:
    if isinstance(value, Var):
        return value.name
    if isinstance(value, Expr):
        from verified_tir.ir.script import script

        return script(value)
    if callable(value) and not isinstance(value, Expr):
        return "<function>"
    return str(value) if isinstance(value, str) else repr(value)


def _map_text(index_map: IndexMap | Callable[..., Any]) -> str:
    if isinstance(index_map, IndexMap):
        return str(index_map)
    try:
        count = index_map.__code__.co_argcount
        return str(IndexMap.from_func(index_map, count))
    except Exception:  # only a name for the record
        return "<index map>"


def _report(step: str, refusal: Refusal, program: PrimFunc, theorem: Refines | None) -> ScheduleError:
    """The exception for a refusal."""
    if isinstance(refusal, NoMatch):
        return NotApplicable(step, refusal.reason, program, refusal.where)
    obligation, verdict = refusal.obligation, refusal.verdict
    shown = program if obligation.where == "before" else refusal.would_be
    if isinstance(verdict, v.Unknown):
        return Undecided(step, obligation.claim, shown, obligation.place, obligation=obligation,
                         solver_reason=verdict.reason)  # fmt: skip
    assert isinstance(verdict, v.Refuted)
    values = {
        obligation.names[name]: value
        for name, value in sorted(verdict.model.values.items())
        if name in obligation.names and verdict.model.sorts[name] == "Int"
    }
    before = program if theorem is None else theorem.after
    paddings = () if theorem is None else theorem.paddings
    question: Literal["same result", "licence", "meaning"] = "same result" if theorem is not None else "meaning"
    if obligation.name == "licence":
        question = "licence"
    programs = Programs(before, refusal.would_be, paddings, refusal.paddings or paddings, refusal.maps, question)
    shown_replay = replay(programs, values)
    return Refuted(step, obligation.claim, shown, obligation.place, obligation=obligation, counterexample=values,
                   replay=shown_replay)  # fmt: skip


__all__ = ["Schedule", "StepRecord"]
