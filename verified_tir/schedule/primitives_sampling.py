"""Sampling instructions of the schedule, and its trace (TVM's ``sample_*``, ``trace``, ``seed``).

They change nothing in a program: what they decide goes to primitives, which are proved as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from random import Random
from typing import Any

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import IntImm, Load, Var
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Allocate, Block, Store
from verified_tir.ir.visit import nodes_of
from verified_tir.schedule import codes, sampling
from verified_tir.schedule.copies import block_of_copy
from verified_tir.schedule.primitives import Primitives
from verified_tir.schedule.recorded_text import Unrecordable
from verified_tir.schedule.recording import Call, repeat
from verified_tir.schedule.sampling import COMPUTE_INLINE, COMPUTE_ROOT, Sampled
from verified_tir.schedule.session import Handle, Session, TacticFailed, fail
from verified_tir.schedule.tactics.compute import compute_at
from verified_tir.schedule.tactics.inline import compute_inline
from verified_tir.schedule.tactics.reverse_compute import reverse_compute_at
from verified_tir.schedule.trace import Trace
from verified_tir.schedule.trace_instructions import TraceError


class SamplingPrimitives(Primitives):
    """A part of :class:`~verified_tir.schedule.schedule.Schedule`."""

    _random: Random

    @property
    def trace(self) -> Trace:
        """The calls so far as a trace: what TVM can apply to its own schedules, where TVM has the primitives."""
        return self._tracer.trace

    def _call_again(self, primitive: str, arguments: list[Any], named: dict[str, Any]) -> Any:
        """Call a primitive with arguments as certificates have them.

        :raises TraceError: if they do not fit.
        """
        try:
            return repeat(self, Call(primitive, arguments, named))
        except Unrecordable as problem:
            raise TraceError(str(problem)) from problem

    def seed(self, seed: int) -> None:
        """Let what is sampled from now on follow from a number."""
        self._random = Random(seed)

    def fork_seed(self) -> int:
        """A seed for another schedule, which follows from this schedule's."""
        return self._random.randrange(1, 2**31 - 1)

    def sample_categorical(
        self, candidates: Sequence[int], probs: Sequence[float], decision: int | None = None
    ) -> Sampled:
        """One of some integers, drawn by their probabilities (TVM's ``sample_categorical``).

        :param decision: the number of the candidate, if that is decided already.
        :raises ScheduleError: if there are no candidates, as many probabilities, or candidate of that number.
        """

        def chosen(_: Session) -> int:
            if not candidates or len(candidates) != len(probs) or min(probs) < 0 or not sum(probs) > 0:
                raise fail(
                    "sample_categorical takes candidates, and for each a probability that is not negative",
                    code=codes.WRONG_ARGUMENT,
                )
            if decision is None:
                return sampling.categorical(self._random, [float(p) for p in probs])
            if not 0 <= decision < len(candidates):
                raise fail(
                    f"there are {len(candidates)} candidates, and none of number {decision}", code=codes.WRONG_ARGUMENT
                )
            return int(decision)

        number = self._look("sample_categorical", chosen)
        found = Sampled(candidates[number])
        attrs = [[int(c) for c in candidates], [float(p) for p in probs]]
        self._tracer = self._tracer.sampled(self._session, "SampleCategorical", [], attrs, found, number)
        return found

    def sample_perfect_tile(
        self, loop: Handle, n: int, max_innermost_factor: int = 16, decision: Sequence[int] | None = None
    ) -> list[Sampled]:
        """``n`` factors whose product is the extent of a loop (TVM's ``sample_perfect_tile``).  Without a decision each
        list of factors is as likely.

        :param max_innermost_factor: the largest last factor that is drawn.
        :param decision: the factors, if they are decided already.  If they do not divide the extent they are made to,
            as TVM does.
        :raises ScheduleError: if the extent is not a positive constant, or the decision is not ``n`` factors.
        """

        def chosen(s: Session) -> list[int]:
            path, target = s.loop(loop)
            if not isinstance(target.extent, IntImm) or target.extent.value < 1:
                raise fail(f"the extent of the loop over {target.var.name} is not a positive constant: no perfect tile "
                           "of it can be sampled", path, code=codes.NOT_CONSTANT)  # fmt: skip
            extent = target.extent.value
            if n < 1 or max_innermost_factor < 1:
                raise fail(
                    "sample_perfect_tile takes a number of factors, and a largest one, that are positive",
                    code=codes.FACTORS_DO_NOT_FIT,
                )
            if decision is None:
                return sampling.perfect_tile(self._random, extent, n, max_innermost_factor)
            if len(decision) != n or any(f < 1 for f in decision):
                raise fail(f"the decision {list(decision)} is not {n} positive factors", code=codes.FACTORS_DO_NOT_FIT)
            return sampling.refitted([int(f) for f in decision], extent)

        factors = self._look("sample_perfect_tile", chosen)
        found = [Sampled(f) for f in factors]
        self._tracer = self._tracer.sampled(
            self._session, "SamplePerfectTile", [loop], [int(n), int(max_innermost_factor)], found, factors
        )
        return found

    def sample_compute_location(self, block: str | Buffer, decision: int | None = None) -> Var | str:
        """A place where a block may be computed (TVM's ``sample_compute_location``), to be passed to ``compute_at`` or
        ``reverse_compute_at``: a loop of the first block that reads what it stores; or no loop, which leaves it where
        it is; or the places where it is read, for ``compute_inline``.

        Drawn are places at which ``compute_at`` is accepted.

        :param decision: -2 for inline, -1 for no loop, else the number of the loop around the first reader.
        :raises ScheduleError: if there is no such loop.
        """
        name = block_of_copy(self._session, block)

        def chosen(s: Session) -> tuple[int, Var | str]:
            candidates = locations(s, name)
            if decision is not None:
                if decision not in candidates:
                    known = ", ".join(map(str, candidates))
                    raise fail(
                        f"block {name} has no location of number {decision}; there are {known}",
                        code=codes.WRONG_ARGUMENT,
                    )
                return int(decision), candidates[decision]
            numbers = list(candidates)
            self._random.shuffle(numbers)
            number = next(k for k in numbers if _possible(s, name, candidates[k]))
            return number, candidates[number]

        number, found = self._look("sample_compute_location", chosen)
        self._tracer = self._tracer.sampled(self._session, "SampleComputeLocation", [name], [], [found], number)
        return found


def locations(session: Session, block: str) -> dict[int, Var | str]:
    """Where a block may be moved to, by TVM's numbers."""
    path, label = session.block(block)
    found: dict[int, Var | str] = {-2: COMPUTE_INLINE, -1: COMPUTE_ROOT}
    others = _neighbours(session, path, {n.buffer for n in nodes_of(label, Store)}, Load)
    if not others:  # nothing reads it: it may follow those that it reads
        others = _neighbours(session, path, {n.buffer for n in nodes_of(label, Load)}, Store)[-1:]
    if not others:
        return found
    shared = others[0]
    for other in others[1:]:
        length = next((k for k, (a, b) in enumerate(zip(shared, other, strict=False)) if a != b), len(shared))
        shared = shared[:length]
    around = [s for s in session.loops_around(shared) if s not in session.loops_around(path)]
    first = len(session.loops_around(shared)) - len(around)
    return found | {first + k: s.var for k, s in enumerate(around)}


def _neighbours(session: Session, path: Path, buffers: set[Buffer], kind: type[Load] | type[Store]) -> list[Path]:
    """The places of other blocks that read, or store to, some local buffers."""
    local = buffers & {s.buffer for _, s in session.find(Allocate)}
    return [p for p, b in session.find(Block)
            if p[: len(path)] != path and any(n.buffer in local for n in nodes_of(b, kind))]  # fmt: skip


class _Tried(Exception):
    """Takes back a step that was made to see whether it can be."""


def _possible(session: Session, block: str, location: Var | str) -> bool:
    """Whether a block may be computed at a place; changes nothing."""
    if location == COMPUTE_ROOT:
        return True
    ways: list[Callable[[], object]] = [partial(compute_inline, session, block)]
    if isinstance(location, Var):
        ways = [partial(compute_at, session, block, location), partial(reverse_compute_at, session, block, location)]
    for way in ways:
        with suppress(TacticFailed):
            try:
                with session.atomic():
                    way()
                    raise _Tried
            except _Tried:
                return True
    return False


__all__ = ["SamplingPrimitives", "locations"]
