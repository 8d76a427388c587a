"""compute_at: a producer computes, in each iteration of its consumer, what that iteration reads.

The chain of rules: the elements that are read are computed again where they are read (``repeat``); then the first
computation is of no use (``outdated``), the buffer belongs to one iteration (``scope``, sunk loop by loop), and only as
much of it is kept as one iteration needs (``storage``, compacted).  The last two are done as far as they go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, IntImm, Var, binary, const
from verified_tir.ir.paths import Path, places
from verified_tir.ir.stmt import Allocate, AttrStmt, Block, For, If, Seq, Store
from verified_tir.ir.visit import free_vars, substitute, walk
from verified_tir.kernel.rules.outdated import Outdated
from verified_tir.kernel.rules.reindex import NewLoop
from verified_tir.kernel.rules.repeat import Repeat
from verified_tir.kernel.rules.scope import Move
from verified_tir.kernel.rules.storage import Compact
from verified_tir.schedule.bounds import Bounds
from verified_tir.schedule.poly import as_poly
from verified_tir.schedule.session import Session, fail
from verified_tir.schedule.tactics.loops import Handle
from verified_tir.schedule.tactics.regions import Box, box_of
from verified_tir.schedule.tactics.simplify import remove_trivial_loops, simplify_expressions
from verified_tir.schedule.tactics.staging import ranges_around


@final
@dataclass(frozen=True, slots=True)
class Producer:
    """A nest that computes a local buffer: its first statement, the loops over elements, and what they run."""

    buffer: Buffer
    nest: Path
    source: Path
    loops: tuple[For, ...]
    guards: tuple[Expr, ...]
    dims: tuple[int | None, ...]
    """For each loop, the dimension of the buffer that it runs over; ``None`` if it has one iteration only."""


def compute_at(session: Session, block: str, loop: Handle) -> None:
    """Compute what ``block`` stores at the beginning of each iteration of ``loop``, as far as that iteration reads it.

    The block must store to a local buffer, at indices that are the variables of the outermost loops around it (the
    loops of a reduction within them), and nothing else may read what it stores.
    """
    where, consumer = session.loop(loop)
    producer = _producer(session, block, where)
    body = session.stmt((*where, 0))
    box = box_of(body, producer.buffer, ranges_around(session, (*where, 0)), writes=False)
    if box is None:
        raise fail(f"the loop over {consumer.var.name} does not read {producer.buffer.name}", where)
    place = (*where, 0, 0) if isinstance(body, Seq) else (*where, 0)
    session.apply(_repeated(producer, place, box, session))
    session.apply(Outdated(producer.nest))
    where, _ = session.loop(loop)
    simplify_expressions(session, where)
    remove_trivial_loops(session, (*where, 0))
    _narrow(session, producer.buffer, box, loop)


def _producer(session: Session, block: str, consumer: Path) -> Producer:
    """The nest around the block, back to the sequence in which it stands before the consumer."""
    place, label = session.block(block)
    shared = next((k for k, (a, b) in enumerate(zip(place, consumer, strict=False)) if a != b), None)
    if shared is None or not isinstance(session.stmt(place[:shared]), Seq):
        raise fail(f"block {block} and the loop stand in no two statements of one sequence", place)
    stores = [n for n in walk(label) if isinstance(n, Store)]
    buffers = {s.buffer for s in stores}
    if len(buffers) != 1:
        raise fail(f"block {block} stores to {len(buffers)} buffers; it must be one", place)
    (buffer,) = buffers
    indices = stores[0].indices
    if any(s.indices != indices for s in stores):
        raise fail(f"block {block} stores to several elements of {buffer.name}", place)
    loops: list[For] = []
    guards: list[Expr] = []
    dims: list[int | None] = []
    path = place[: shared + 1]
    wanted = {v for i in indices for v in free_vars(i)}
    while wanted and path != place:
        stmt = session.stmt(path)
        match stmt:
            case For(var=v) if v in wanted:
                loops.append(stmt)
                dims.append(next((k for k, i in enumerate(indices) if i is v), None))
                wanted.discard(v)
            case If(condition=c, else_body=None):
                guards.append(c)
            case AttrStmt() | Block():
                pass
            case _:
                break
        path = place[: len(path) + 1]
    made = Producer(buffer, place[: shared + 1], path, tuple(loops), tuple(guards), tuple(dims))
    return _checked(session, made, block)


def _checked(session: Session, p: Producer, block: str) -> Producer:
    """Every loop over elements is an index by itself; the loops inside are those of a reduction."""
    store = next(n for n in walk(session.stmt(p.source)) if isinstance(n, Store))
    for loop, dim in zip(p.loops, p.dims, strict=True):
        if dim is None and not (isinstance(loop.extent, IntImm) and loop.extent.value == 1):
            raise fail(f"{p.buffer.name} is not indexed by {loop.var.name} itself; undo the split first", p.nest)
    inside = {n.var for n in walk(session.stmt(p.source)) if isinstance(n, For)}
    if inside & {v for i in store.indices for v in free_vars(i)}:
        raise fail(
            f"the loops of {block} over elements must stand outside those of its reduction; reorder them", p.nest
        )
    return p


def _repeated(producer: Producer, place: Path, box: Box, session: Session) -> Repeat:
    """The instances that compute the box."""
    known = Bounds(ranges_around(session, place))
    loops: list[NewLoop] = []
    guards: list[Expr] = []
    values: dict[Var, Expr] = {}
    for loop, dim in zip(producer.loops, producer.dims, strict=True):
        if dim is None:
            values[loop.var] = loop.min
            continue
        side = box.sides[dim]
        new = Var.fresh(loop.var.name, loop.var.dtype)
        x = new + side.start
        loops.append(NewLoop(new, const(0, new.dtype), side.extent))
        values[loop.var] = x
        first, count = as_poly(side.start), as_poly(side.extent)
        if not known.nonneg(first - as_poly(loop.min)):
            guards.append(binary("ge", x, loop.min))
        if not known.nonneg(as_poly(loop.min) + as_poly(loop.extent) - first - count):
            guards.append(binary("lt", x, loop.min + loop.extent))
    guards += [substitute(c, values) for c in producer.guards]
    instance = tuple(values[s.var] for s in producer.loops)
    return Repeat(place, producer.source, tuple(loops), tuple(guards), instance)


def _narrow(session: Session, buffer: Buffer, box: Box, loop: Handle) -> None:
    """The allocation as far inside as it goes, and if it reaches the loop, as small as one iteration needs."""
    while True:
        path, allocation = _allocation(session, buffer)
        inside = allocation.body
        how = "sink" if isinstance(inside, For) else "narrow"
        if isinstance(inside, For) and len(path) > len(session.loop(loop)[0]):
            break
        if not session.attempt(Move(path, how)) or _allocation(session, buffer)[0] == path:  # type: ignore[arg-type]
            break
    path, _ = _allocation(session, buffer)
    if path[: len(session.loop(loop)[0])] != session.loop(loop)[0]:
        return
    layout = box.layout()
    if session.attempt(Compact(path, layout.inputs, layout.outputs, layout.shape)):
        simplify_expressions(session, path)


def _allocation(session: Session, buffer: Buffer) -> tuple[Path, Allocate]:
    found = places(session.func.body, lambda s: isinstance(s, Allocate) and s.buffer.data is buffer.data)
    path, stmt = next(found)
    assert isinstance(stmt, Allocate)
    return path, stmt
