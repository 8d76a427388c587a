"""Look for what would make a refused step succeed, by trying it.

What is tried depends on the obligation: the user's word that a sum may be rounded otherwise, ``decompose_reduction``
or ``sink_allocation`` before the step, another value in the padding, an assumption about the arguments.  Each is tried
on a copy of the schedule, and is named only if the step was proved with it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import IntImm, Var
from verified_tir.ir.find import writes_of
from verified_tir.ir.node import IRError
from verified_tir.ir.stmt import Assume, Block, For, If, Seq
from verified_tir.ir.visit import nodes_of
from verified_tir.kernel.obligation import Refusal, Unproved
from verified_tir.schedule.errors import ScheduleError
from verified_tir.schedule.missing import (
    about_floats,
    about_sizes,
    missing_assumption,
    missing_size,
    sizes_of,
    succeeds,
)
from verified_tir.schedule.recorded_text import Unrecordable
from verified_tir.schedule.recording import Call, repeat, takes
from verified_tir.schedule.session import Session, TacticFailed
from verified_tir.schedule.tactics.reduction import decompose_reduction, sink_allocation

if TYPE_CHECKING:
    from verified_tir.schedule.schedule import Schedule

SECONDS: Final = 10.0
"""After this time nothing more is tried."""
MOST: Final = 6
"""How many blocks, loops or values of a kind are tried."""

_OF_ORDER: Final = frozenset({"dependence", "bijection", "race", "vectorize"})
"""Obligations that a reduction fails while it initialises its result on the way."""
_OF_PADDING: Final = frozenset({"no-op", "equal", "safety"})
"""Obligations that what the padding holds may decide."""


@final
@dataclass(frozen=True, slots=True)
class Attempt:
    """A step that was refused: the schedule as it was before, and how the step is taken again."""

    schedule: Schedule
    tactic: Callable[[Session], object]
    call: Call | None

    @property
    def session(self) -> Session:
        """A session of its own, as that of the schedule was before the step."""
        return copied(self.schedule)._session


def copied(schedule: Schedule) -> Schedule:
    """A schedule that stands where another one does, and goes its own way from there."""
    found: Schedule = object.__new__(type(schedule))
    s = schedule._session
    vars(found).update(vars(schedule))
    found._session = replace(s, renamed=dict(s.renamed), gone=dict(s.gone), races=list(s.races), calls=list(s.calls))
    found._records, found._refusals, found.notes = list(schedule._records), [], list(schedule.notes)
    return found


def remedy_of(attempt: Attempt, refusal: Refusal) -> str | None:
    """What would make the step succeed, as a sentence; ``None`` if nothing that was tried does."""
    if not isinstance(refusal, Unproved):
        return None
    begun = time.perf_counter()
    for found in _tried(attempt, refusal):
        if found is not None:
            return found
        if time.perf_counter() - begun > SECONDS:
            return None
    return None


def _tried(attempt: Attempt, refusal: Unproved) -> Iterator[str | None]:
    """The result of each attempt, the cheap ones first."""
    theorem, prover = attempt.schedule.theorem, attempt.schedule._session.prover
    name = refusal.obligation.name
    if name in ("dependence", "rounding"):
        yield from _in_another_order(attempt)
    if name == "race":
        yield from _with_own_memory(attempt)
    if name in _OF_ORDER:
        yield from _decomposed(attempt)
    if about_floats(refusal):
        yield missing_assumption(theorem, prover, attempt.tactic)
    elif about_sizes(refusal, theorem):
        yield missing_size(theorem, prover, attempt.tactic)
        yield from _multiples(attempt)
    if name in _OF_PADDING:
        yield from _other_padding(attempt)


def _succeeds(steps: Callable[[], object]) -> bool:
    try:
        steps()
    except (TacticFailed, ScheduleError, Unrecordable, IRError):
        return False
    return True


def _in_another_order(attempt: Attempt) -> Iterator[str | None]:
    """The user's word that a sum may be rounded otherwise."""
    call = attempt.call
    if call is None or not takes(call.primitive, "reassociate") or call.named.get("reassociate"):
        return
    written = dict.fromkeys(s.buffer for s in writes_of(attempt.schedule.func.body) if s.buffer.dtype.is_float)
    for buffer in list(written)[:MOST]:
        licensed = replace(call, named={**call.named, "reassociate": buffer.name})
        if _succeeds(lambda call=licensed: repeat(copied(attempt.schedule), call)):  # type: ignore[misc]
            yield (
                f'it would be proved with reassociate="{buffer.name}", your word that the sum into {buffer.name} '
                "may be rounded otherwise"
            )
        yield None


def _with_own_memory(attempt: Attempt) -> Iterator[str | None]:
    """Each iteration gets its own local buffer."""
    session = attempt.session
    for buffer in [b for b in session.buffers if b not in session.func.buffers][:MOST]:
        yield _after(attempt, f'sink_allocation("{buffer.name}")', lambda s, b=buffer: sink_allocation(s, b))  # type: ignore[misc]


def _decomposed(attempt: Attempt) -> Iterator[str | None]:
    """A reduction is initialised in a nest of its own first."""
    session = attempt.session
    for path, block in session.find(Block, _initialises)[:MOST]:
        for loop in session.loops_around(path)[:MOST]:
            if sum(s.var.name == loop.var.name for s in nodes_of(session.func.body, For)) == 1:
                name, outer = block.name, loop.var
                step = f'decompose_reduction("{name}", "{outer.name}")'
                yield _after(attempt, step, lambda s, b=name, v=outer: decompose_reduction(s, b, v))  # type: ignore[misc]


def _initialises(block: Block) -> bool:
    body = block.body
    return isinstance(body, Seq) and bool(body.stmts) and isinstance(body.stmts[0], If)


def _after(attempt: Attempt, called: str, first: Callable[[Session], object]) -> str | None:
    """A sentence about a step that is taken before, if the refused one succeeds then."""
    session = attempt.session

    def both() -> None:
        first(session)
        attempt.tactic(session)

    return f"it would be proved after {called}" if _succeeds(both) else None


def _multiples(attempt: Attempt) -> Iterator[str | None]:
    """A size is a multiple of a factor with which the schedule tiles."""
    theorem, prover = attempt.schedule.theorem, attempt.schedule._session.prover
    for size in sizes_of(theorem):
        for factor in _factors(attempt, size):
            claim = Assume((size % factor).equal(0))
            if succeeds(theorem, prover, attempt.tactic, claim):
                yield f"it would be proved if the program began with T.assume({size.name} % {factor} == 0)"
            yield None


def _factors(attempt: Attempt, size: Var) -> list[int]:
    """Constants of the program and of the refused call that may be tiles of a size, the largest first."""
    given = [attempt.call.arguments, attempt.call.named] if attempt.call is not None else []
    numbers = {n.value for n in nodes_of(attempt.schedule.func.body, IntImm) if n.dtype == size.dtype}
    return sorted((n for n in numbers | set(_integers(given)) if 2 <= n <= 1024), reverse=True)[:MOST]


def _integers(value: Any) -> Iterator[int]:
    if isinstance(value, int) and not isinstance(value, bool):
        yield value
    elif isinstance(value, (list, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _integers(part)


def _other_padding(attempt: Attempt) -> Iterator[str | None]:
    """The schedule with another value in the padding of one buffer."""
    records = attempt.schedule.steps[1:]
    if attempt.call is None or any(r.call is None or r.call.problem for r in records):
        return
    for k, record in enumerate(records):
        call = record.call
        if call is None or call.primitive != "transform_layout":
            continue
        buffer = _buffer_of(call, record.before.buffers)
        for shown, noted in () if buffer is None else _values(buffer):
            changed = replace(call, arguments=[*call.arguments[:-1], noted])
            calls = [changed if j == k else r.call for j, r in enumerate(records)]
            if noted != call.arguments[-1] and _succeeds(lambda calls=calls: _again(attempt, calls)):  # type: ignore[misc]
                yield f"it would be proved with pad_value={shown} in the transform_layout of {buffer.name}"  # type: ignore[union-attr]
            yield None


def _again(attempt: Attempt, calls: list[Call | None]) -> None:
    old = attempt.schedule
    schedule = type(old)(old.steps[0].before, solver=old.solver)
    for call in [*calls, attempt.call]:
        repeat(schedule, call)  # type: ignore[arg-type]


def _buffer_of(call: Call, buffers: tuple[Buffer, ...]) -> Buffer | None:
    """The parameter whose layout a call changes."""
    named = [a["name"] for a in call.arguments if isinstance(a, dict) and "name" in a]
    return next((b for b in buffers if b.name in named), None)


def _values(buffer: Buffer) -> list[tuple[str, Any]]:
    """Neutral elements of sums, maxima and minima: as they are written, and as a call notes them."""
    if buffer.dtype.is_float:
        return [
            ("0.0", {"float": (0.0).hex()}),
            ('float("-inf")', {"float": "-inf"}),
            ('float("inf")', {"float": "inf"}),
        ]
    return [("0", 0)] if buffer.dtype.is_int else []


__all__ = ["Attempt", "remedy_of"]
