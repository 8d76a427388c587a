"""The schedule: what users call.

A :class:`Schedule` takes a program, proves that it has a meaning, and then offers primitives.  Each primitive either
changes the program, after the kernel has proved every obligation, or raises a :class:`ScheduleError` and changes
nothing.  Loops are named by the variables that primitives return, or by their names in the text.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar, final, overload

from verified_tir.activity import Level, announce
from verified_tir.elaborate.calls import Misfit
from verified_tir.elaborate.claims import verify_program
from verified_tir.elaborate.own_memory import with_own_memory
from verified_tir.index.map import IndexMap
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.collector import seldom_collected
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.func import IRModule, PrimFunc
from verified_tir.ir.stmt import Block, For, Store
from verified_tir.kernel.begin import begin
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import NoMatch, Unproved
from verified_tir.kernel.theorem import Refines, Step, reflexive
from verified_tir.logic.solver import INTEGER_BUDGET, Solver
from verified_tir.logic.verdict import Discharged
from verified_tir.schedule.codes import CALL_DOES_NOT_FIT
from verified_tir.schedule.copies import block_of_copy
from verified_tir.schedule.declared_axes import declared_axes
from verified_tir.schedule.errors import NotApplicable, ScheduleError, refused_by
from verified_tir.schedule.functions import module_of, program_of, with_contraction
from verified_tir.schedule.intrinsic import Intrinsic
from verified_tir.schedule.nesting import walked
from verified_tir.schedule.own_memory import own_memory, settle
from verified_tir.schedule.primitives_blocks import BlockPrimitives
from verified_tir.schedule.primitives_branches import BranchPrimitives
from verified_tir.schedule.primitives_calls import CallPrimitives
from verified_tir.schedule.primitives_constraints import ConstraintPrimitives
from verified_tir.schedule.primitives_loops import LoopPrimitives
from verified_tir.schedule.primitives_sampling import SamplingPrimitives
from verified_tir.schedule.primitives_tiles import TilePrimitives
from verified_tir.schedule.primitives_values import ValuePrimitives
from verified_tir.schedule.recording import Call, recorded, repeat
from verified_tir.schedule.refusals import check_race_free, mark_subject, report
from verified_tir.schedule.remedies import Attempt, copied, remedy_of
from verified_tir.schedule.replay_inputs import symbols
from verified_tir.schedule.session import Handle, Session, TacticFailed
from verified_tir.schedule.shown import listed, map_text, short
from verified_tir.schedule.spelling import meant
from verified_tir.schedule.tactics import assume, layout, reduction
from verified_tir.schedule.tactics import simplify as simplification
from verified_tir.schedule.tactics.counted import orders_declared
from verified_tir.schedule.trace_recording import Tracer
from verified_tir.schedule.verdicts import open_store

if TYPE_CHECKING:
    from verified_tir.schedule.exhibit import Exhibit
    from verified_tir.schedule.second_opinion import Validation

_WAITS = (
    "is memory that threads do not share, and is used outside of their loops: a later step must move all its uses "
    "into one loop (compute_at, reverse_compute_at); build and vtir verify refuse the program until then"
)

MapLike = IndexMap | Callable[..., Any]
Shape = Sequence[Expr | int]
T = TypeVar("T")


@final
@dataclass(frozen=True, slots=True)
class StepRecord:
    """One primitive as it was called, what the kernel proved for it, and how long that took.

    ``rules`` are the kernel's steps, and ``call`` is what to call again for the same; neither is there for the check of
    the program itself.
    """

    name: str
    arguments: str
    obligations: tuple[Discharged, ...]
    seconds: float
    before: PrimFunc
    after: PrimFunc
    rules: tuple[Step, ...] = ()
    call: Call | None = None

    def __str__(self) -> str:
        return f"{self.name}({self.arguments})"


class Schedule(
    BlockPrimitives,
    CallPrimitives,
    ConstraintPrimitives,
    LoopPrimitives,
    BranchPrimitives,
    ValuePrimitives,
    TilePrimitives,
    SamplingPrimitives,
):
    """A program and the theorem about what it has become.

    :param func: the program: a ``PrimFunc``, a module, or TVMScript text; or TVM's own function or module.
    :param name: the function of a module; the only one, or ``main``, unless given.  Calls of the others are expanded.
    :param budget: resource limit of one integer query (Z3's rlimit); larger decides more and takes longer.
    :param cache: whether verdicts are kept on disk, and those of earlier runs believed (see ``docs/trust.md``).
    :param seed: what the sampling instructions draw follows from this number.
    :param contract: buffers whose updates ``C[x] = C[x] + a * b`` are to be fused multiply-adds; the theorem is about
        the program that has them (see :func:`~verified_tir.elaborate.contraction.contracted`).
    :raises ScheduleError: if the program itself has no meaning on some input, or a block declares something false.
    :raises WrongCall: if there is no such buffer to contract, or nothing in it; a ``TypeError``.
    """

    @seldom_collected()
    def __init__(
        self,
        func: PrimFunc | IRModule | str | Any,
        *,
        name: str | None = None,
        budget: int = INTEGER_BUDGET,
        solver: Solver | None = None,
        cache: bool = True,
        seed: int | None = None,
        contract: str | Sequence[str] = (),
    ) -> None:
        try:
            module = module_of(func)
            program, owed, written = program_of(module, name)
            program, written = with_contraction(program, written, contract)
        except Misfit as problem:
            raise NotApplicable(
                "the program itself", str(problem), problem.caller, problem.path, marks_all=True, code=CALL_DOES_NOT_FIT
            ) from None
        self._records: list[StepRecord] = []
        self._refusals: list[tuple[ScheduleError, int]] = []
        self._call: Call | None = None
        self.notes: list[str] = []
        """What was not decided of the claims of the program's blocks, and is dropped: nothing rests on it; and buffers
        that threads have each for itself, which a later step has to bring together in their loops."""
        self._tracer = Tracer()
        self._function_names = {program.name} | ({"main"} if len(module.functions) == 1 else set())
        self._random = Random(seed)
        prover = Prover(solver or Solver(budget, open_store(cache)))
        start = time.perf_counter()
        announce(Level.STEP, "the program itself")
        with walked("the program itself", program):
            if own := own_memory(program, prover):
                alone = written is program
                program = with_own_memory(program, own)
                written = program if alone else with_own_memory(written, own)
            result = verify_program(program, prover, written=written, notes=self.notes)
        if isinstance(result, (NoMatch, Unproved)):
            raise report("the program itself", result, program, None)
        expanded, obligations = result
        self._session = Session(
            reflexive(expanded, definite=True), prover,
            axes=declared_axes(program), declared=orders_declared(written, expanded),
        )  # fmt: skip
        seconds = time.perf_counter() - start
        self._records.append(StepRecord("program", program.name, obligations, seconds, program, expanded))
        for block, function in owed:
            self.assume_precondition(block, function)

    @classmethod
    def _of_any_arguments(cls, func: PrimFunc, solver: Solver | None = None) -> Schedule:
        """A schedule whose theorem is about arguments of any kind, not only those of definite values, since what a
        statement leaves undefined may be passed to a function."""
        s = cls(func, solver=solver)
        s._session = Session(reflexive(s.func), s._session.prover, declared=s._session.declared)
        return s

    def _lemma(self, intrinsic: Intrinsic) -> Refines:
        s = Schedule._of_any_arguments(intrinsic.description, self.solver)
        for step in intrinsic.steps:
            repeat(s, Call(step["primitive"], step["arguments"], step["named"]))
        return s.theorem

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

    def prove_race_free(self) -> None:
        """Prove that every marked loop of :attr:`func` may run as it is marked.

        Each step asks about the loops that it could have spoiled.  ``vtir verify``, ``build`` and certificates ask
        about all.

        :raises ScheduleError: if one of them may race.
        """
        with refused_by(self):
            check_race_free(self.theorem, self._session.prover)

    def __str__(self) -> str:
        """The program's text."""
        return self.script()

    def __repr__(self) -> str:
        count = len(self._records) - 1
        return f"<Schedule of {self.func.name}: {count} step{'s' * (count != 1)}>"

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"a Schedule has no {name!r}{meant(name, dir(type(self)))}", name=name, obj=self)

    def script(self, *, padding: bool = False) -> str:
        """The program's text.

        :param padding: what the relation says of the padding of parameters is written into the text, as RFC 77's
            ``T.assume`` at its beginning; then ``Schedule(text)`` knows it, too.
        """
        from verified_tir.ir.script import script

        if not padding:
            return script(self.func)
        told = Session(self.theorem, self._session.prover)
        for b in self.func.buffers:
            if assume.assumed_paddings(told, b):
                assume.assume_padding(told, b)
        return script(told.func)

    def loops(self, block: str | Buffer | None = None) -> list[Var]:
        """The loops in program order, or those around a block, outermost first.

        A copy that ``cache_read`` or ``cache_write`` gave means the block that copies, here and in all primitives that
        take a block.
        """
        around = None if block is None else self._look("loops", lambda s: s.block(block_of_copy(s, block))[0])
        return [s.var for p, s in self._session.find(For) if around is None or around[: len(p)] == p]

    def get_loops(self, block: str | Buffer) -> list[Var]:
        """The loops around a block, as TVM calls it."""
        return self.loops(block)

    def get_block(self, name: str) -> str:
        """The block of a name, which is its name: for schedules written for TVM.

        :raises ScheduleError: if there is none, or several.
        """
        return self._look("get_block", lambda s: s.block(name)[1].name)

    get_sblock = get_block

    @property
    def blocks(self) -> list[str]:
        """The names of the blocks in program order."""
        return [block.name for _, block in self._session.find(Block)]

    def buffer(self, name: str) -> Buffer:
        """The parameter or local buffer of a name, as it is now."""
        return self._look("buffer", lambda s: layout.find_buffer(s, name)[0])

    @property
    def buffers(self) -> list[Buffer]:
        """The parameters and then the local buffers in program order."""
        return self._session.buffers

    def symbol(self, name: str) -> Var:
        """The scalar parameter or shape symbol of a name, to be used in ``partition``."""
        return self._look("symbol", lambda s: layout.find_symbol(s, name))

    @property
    def assumptions(self) -> list[str]:
        """What the theorem rests on, as sentences: sizes, padding, what the program assumes of its arguments."""
        from verified_tir.derivation.assumptions import assumptions

        return assumptions(self.theorem)

    @property
    def unreachable(self) -> list[str]:
        """Stores of the program that no run gets to, as text: what is proved about them means nothing."""
        from verified_tir.ir.script import script

        written = self.theorem.before
        stores = [(s, known) for _, s, known in begin(written, Entry()).places(written.body) if isinstance(s, Store)]
        found = [s for s, known in stores if self.solver.contradictory(tuple(known.path))]
        return [script(s).splitlines()[-1].strip() for s in found]

    def validate(
        self,
        *,
        every_step: bool = False,
        sizes: Sequence[Mapping[str, int]] | None = None,
        most_operations: int | None = None,
    ) -> Validation:
        """A second opinion: the independent validator compares the program as written with the one as scheduled.

        It executes both at some sizes, and knows nothing of the kernel (see ``docs/how-to/validate.md``).

        :param every_step: compare after each step, and not only after the last.
        :param sizes: values of the symbols, by name; small ones unless given.
        :param most_operations: to execute for one comparison, all sizes together; what takes more is left out.
        :raises BugInThisTool: if it finds a difference.
        :raises ValueError: for the size of a symbol that the program does not have.
        """
        from verified_tir.schedule.second_opinion import QUICK, second_opinion, stages_of

        known = [v.name for v in symbols(self._records[0].before)]
        for name in dict.fromkeys(n for given in sizes or () for n in given if n not in known):
            listed = f"its symbols are {', '.join(known)}" if known else "it has no symbols"
            raise ValueError(f"the program has no symbol called {name!r}; {listed}")
        found = second_opinion(
            self._records[0].before, self.theorem, stages_of(self._records),
            every_step=every_step, sizes=sizes, most_operations=most_operations or QUICK,
        )  # fmt: skip
        if found.bug is not None:
            raise found.bug
        return found

    def exhibit(self) -> Exhibit:
        """One input that the theorem speaks of: it satisfies all assumptions, and the program runs on it.

        Assumptions that contradict each other prove everything; then it says that there is no such input, or that none
        was found (see ``docs/trust.md``).
        """
        from verified_tir.schedule.exhibit import exhibit

        return exhibit(self.theorem.before)

    @property
    def refusals(self) -> tuple[ScheduleError, ...]:
        """Refusals that the schedule expected (see ``expect_refusal``)."""
        return tuple(refused for refused, _ in self._refusals)

    @property
    def refused_after(self) -> tuple[int, ...]:
        """How many of :attr:`steps` there were at each of :attr:`refusals`."""
        return tuple(after for _, after in self._refusals)

    def note_refusal(self, refused: ScheduleError) -> None:
        """Keep an expected refusal for the report."""
        self._refusals.append((refused, len(self._records)))

    # -- layouts and buffers ------------------------------------------------------------------------------------

    @overload
    def transform_layout(
        self, buffer: str | Buffer, index_map: MapLike, pad_value: Any = None, *, shape: Shape | None = None
    ) -> None: ...
    @overload
    def transform_layout(
        self, block: str, buffer: layout.BufferIn, index_map: MapLike, pad_value: Any = None,
        *, shape: Shape | None = None,
    ) -> None: ...  # fmt: skip
    @recorded  # type: ignore[misc]  # for mypy a decorated implementation takes no more than *args
    def transform_layout(self, *args: Any, **named: Any) -> None:
        """Move every element of a buffer (parameter or local) to ``index_map`` of its indices.

        TVM's form names a block first; ``buffer`` may then also be ``("read", k)`` or ``("write", k)``: the k-th buffer
        that the block reads or writes.

        :param pad_value: what the padding holds: ``None`` (touching it is forbidden), a number, ``T.undef()``, or a
            function of the new indices giving one of these or an expression.  In a buffer that the program writes, a
            number or expression is stored by a new block ``<buffer>_padding``.
        :param shape: the new extents, where they are to be larger than the elements need: what is more is padding.
        """
        block, where, index_map, pad_value, shape = layout.layout_arguments(args, named)
        text = [*([] if block is None else [block]), where, map_text(index_map), f"pad_value={short(pad_value)}"]
        text += [] if shape is None else [f"shape={listed(shape)}"]

        def steps(s: Session) -> None:
            buffer = where if block is None else layout.buffer_in(s, block, where)
            layout.transform_layout(s, buffer, index_map, pad_value, shape)

        self._do("transform_layout", text, steps)

    @recorded
    def sink_allocation(self, buffer: str | Buffer) -> None:
        """Move an allocation into the loop below it."""
        self._do("sink_allocation", (buffer,), lambda s: reduction.sink_allocation(s, buffer))

    # -- reductions and branches --------------------------------------------------------------------------------

    @recorded
    def decompose_reduction(self, block: str, loop: Handle) -> str:
        """Move a block's initialisation into a nest of its own before ``loop``; gives its block, ``<block>_init``."""
        return self._do("decompose_reduction", (block, loop), lambda s: reduction.decompose_reduction(s, block, loop))

    @recorded
    def simplify(self) -> int:
        """Simplify index expressions, decide branches, remove loops that run once or never; gives how many changes."""
        return self._do("simplify", (), simplification.simplify)

    # -- the way to the kernel ----------------------------------------------------------------------------------

    def _do(self, name: str, arguments: Sequence[object], tactic: Callable[[Session], T]) -> T:
        session = self._session
        theorem, races = session.theorem, len(session.races)
        start = time.perf_counter()
        text = ", ".join(short(a) for a in arguments)
        announce(Level.STEP, f"{name}({text})")
        reached = theorem
        try:
            with walked(f"{name}({text})", theorem.after), session.atomic():
                try:
                    result = tactic(session)
                    waiting = settle(session) if session.func is not theorem.after else []
                finally:
                    reached = session.theorem
        except TacticFailed as failed:
            error = report(f"{name}({text})", failed.refusal, reached.after, reached, failed.code)
            mark_subject(error, session, arguments)
            error.search = partial(remedy_of, Attempt(copied(self), tactic, self._call), failed.refusal)
            raise error from None
        self.notes[:] = [n for n in self.notes if not n.endswith(_WAITS)] + [f"{b} {_WAITS}" for b in waiting]
        done = session.theorem.derivation[len(theorem.derivation) :]
        session.calls.extend(f"{name}({text})" for _ in done)
        obligations = (*(d for step in done for d in step.obligations), *session.races[races:])
        seconds = time.perf_counter() - start
        self._records.append(
            StepRecord(name, text, obligations, seconds, theorem.after, session.func, done, self._call)
        )
        return result

    def _look(self, what: str, question: Callable[[Session], T]) -> T:
        """An answer about the program, or a :class:`ScheduleError` that says what there is instead."""
        try:
            return question(self._session)
        except TacticFailed as failed:
            with refused_by(self):
                raise report(what, failed.refusal, self.func, self.theorem, failed.code) from None


__all__ = ["Schedule", "StepRecord"]
