"""The nest that computes a local buffer, looked at from its elements: which iteration computes an element.

Input: a block or a loop, in a statement of a sequence.  Output: a :class:`Producer`, the loops of the nest that move
the element, the statement below them that computes it, and, for a box of elements, the loops, conditions and values
(:class:`Again`) under which that statement computes just these.

The loops of a reduction are brought inside first where they are not, and an initialisation that stands in a nest of its
own is merged into the nest.  Where each loop moves one dimension by a multiple of its variable, the iterations for a
box are a range of it; else (a nest that was split or fused) the indices are taken for an index map and inverted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import final

from verified_tir.index.bounds import Bounds, Ranges
from verified_tir.index.conditions import conjuncts
from verified_tir.index.map import IndexMapError, preimage
from verified_tir.index.simplify import Simplifier
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, IntImm, Var
from verified_tir.ir.paths import Path
from verified_tir.ir.poly import Poly, as_poly, counted_in, render
from verified_tir.ir.stmt import Allocate, AttrStmt, Block, For, ForKind, If, Seq, Stmt, Store
from verified_tir.ir.sugar import binary, const
from verified_tir.ir.visit import free_vars, nodes_of, substitute
from verified_tir.kernel.effects import written_blocks
from verified_tir.schedule import codes
from verified_tir.schedule.moves import NewLoop
from verified_tir.schedule.rule_builders import moved
from verified_tir.schedule.session import Handle, Session, fail
from verified_tir.schedule.tactics.loops import rebuild
from verified_tir.schedule.tactics.regions import Box, Side, ends_of
from verified_tir.schedule.tactics.reverse_compute import called, reverse_compute_at


@final
@dataclass(frozen=True, slots=True)
class Producer:
    """A nest that computes a local buffer: its first statement, the loops and guards around the source, and what the
    source stores to."""

    buffer: Buffer
    nest: Path
    source: Path
    loops: tuple[For, ...]
    guards: tuple[Expr, ...]
    stored: tuple[tuple[Expr, ...], ...]


@final
@dataclass(frozen=True, slots=True)
class Again:
    """Loops and conditions under which the source computes a box of elements, and the iteration that it then runs."""

    loops: tuple[NewLoop, ...]
    guards: tuple[Expr, ...]
    instance: tuple[Expr, ...]


# -- finding it --------------------------------------------------------------------------------------------------------


def producer_of(session: Session, block: Handle, loop: Handle) -> Producer:
    """The nest around a block, or below a loop, that stands in a sequence before the statement around ``loop``."""
    for _ in range(2):
        place, nest = _nest_before(session, block, loop)
        buffer = _stored_buffer(session, place, nest, block)
        if not _merged(session, block, nest, buffer):
            break
    place, nest = _nest_before(session, block, loop)
    made = _descended(session, place, nest, buffer, block)
    if made is None:
        _reordered(session, place, nest, buffer, block)
        place, nest = _nest_before(session, block, loop)
        made = _descended(session, place, nest, buffer, block)
    if made is None:
        raise fail(
            f"the loops of {called(block)} over elements must stand outside those of its reduction; reorder them",
            nest,
            code=codes.STANDS_ELSEWHERE,
        )
    return made


def _nest_before(session: Session, block: Handle, loop: Handle) -> tuple[Path, Path]:
    """The place that is meant, and the statement around it in the sequence that it shares with the consumer.  Memory
    that is allocated around the place (by ``rfactor``, say) is allocated around both."""
    while True:
        place, consumer = session.place(block), session.loop(loop)[0]
        shared = session.parting(place, consumer)
        if shared is None:
            raise fail(
                f"{called(block)} and the loop stand in no two statements of one sequence",
                place,
                code=codes.STANDS_ELSEWHERE,
            )
        nest = place[: shared + 1]
        if not isinstance(session.stmt(nest), Allocate) or consumer[shared] < nest[-1]:
            return place, nest
        for _ in range(consumer[shared] - nest[-1]):
            session.apply(moved(nest, "widen"))


def _stored_buffer(session: Session, place: Path, nest: Path, block: Handle) -> Buffer:
    """The one buffer that the nest stores to, its own ones left out."""
    own = {n.buffer.data for n in nodes_of(session.stmt(nest), Allocate)}
    buffers = dict.fromkeys(n.buffer for n in nodes_of(session.stmt(place), Store) if n.buffer.data not in own)
    if len(buffers) != 1:
        names = ", ".join(b.name for b in buffers) or "none"
        raise fail(
            f"{called(block)} stores to {len(buffers)} buffers ({names}); it must be one",
            place,
            code=codes.NOT_OF_THIS_FORM,
        )
    return next(iter(buffers))


def _merged(session: Session, block: Handle, nest: Path, buffer: Buffer) -> bool:
    """Let the nest join an earlier one that stores to the buffer, too (its initialisation); whether that was done."""
    around = session.at(nest[:-1], Seq)
    for k in range(nest[-1] - 1, -1, -1):
        if buffer.data not in written_blocks(around.stmts[k]):
            continue
        path, loops = (*nest[:-1], k), list[Var]()
        stmt = session.stmt(path)
        used = {v for n in nodes_of(stmt, Store) for e in n.indices for v in free_vars(e)}
        while isinstance(stmt, (For, Block, If)):
            if isinstance(stmt, For) and stmt.var in used:
                loops.append(stmt.var)
            stmt = session.stmt(path := (*path, 0))
        if not loops:
            return False
        return session.succeeds(partial(reverse_compute_at, session, block, loops[-1]))
    return False


def _descended(session: Session, place: Path, nest: Path, buffer: Buffer, block: Handle) -> Producer | None:
    """From the nest's first statement down to below the last loop that moves an element; ``None`` if a loop of the
    reduction stands on the way."""
    inside = nodes_of(session.stmt(nest), For)
    # A loop of one iteration may be named by one store and not by another: its variable has one value.
    once = {n.var: n.min for n in inside if isinstance(n.extent, IntImm) and n.extent.value == 1}
    stores = [n for n in nodes_of(session.stmt(nest), Store) if n.buffer is buffer]
    stored = tuple(dict.fromkeys(tuple(substitute(i, once) for i in n.indices) for n in stores))
    used = {v for indices in stored for e in indices for v in free_vars(e)}
    wanted = {s.var for s in inside} & used
    loops: list[For] = []
    guards: list[Expr] = []
    path = nest
    while wanted:
        stmt = session.stmt(path)
        match stmt:
            case For(var=v, extent=extent) if v in wanted or (isinstance(extent, IntImm) and extent.value == 1):
                loops.append(stmt)
                wanted.discard(v)
            case For():
                return None
            case If(condition=c, else_body=None):
                guards.append(c)
            case AttrStmt() | Block():
                pass
            case If():
                raise fail(
                    f"{called(block)} stands under a condition with an else; it is not computed elsewhere",
                    path,
                    code=codes.STANDS_ELSEWHERE,
                )
            case _:
                what = f"a {type(stmt).__name__}" if not isinstance(stmt, Allocate) else f"{stmt.buffer.name}"
                raise fail(
                    f"between the loops of {called(block)} over elements stands {what}",
                    path,
                    code=codes.NOT_PERFECTLY_NESTED,
                )
        path = (*path, 0)
    return Producer(buffer, nest, path, tuple(loops), tuple(guards), stored)


def _reordered(session: Session, place: Path, nest: Path, buffer: Buffer, block: Handle) -> None:
    """Bring the loops that move an element outside, in the order in which they stand."""
    stmt = session.stmt(nest)
    used = {v for n in nodes_of(stmt, Store) if n.buffer is buffer for e in n.indices for v in free_vars(e)}
    chain: list[Stmt] = []
    last = 0
    while isinstance(stmt, (For, Block)) or (isinstance(stmt, If) and stmt.else_body is None):
        if isinstance(stmt, Block) and stmt.name == block:
            break
        chain.append(stmt)
        last = len(chain) if isinstance(stmt, For) and stmt.var in used else last
        stmt = session.stmt((*nest, *[0] * len(chain)))
    chain = chain[:last]
    loops = [s for s in chain if isinstance(s, For)]
    outer = [s for s in loops if s.var in used]
    rebuild(session, nest, chain, [*outer, *(s for s in loops if s.var not in used)])


# -- the iterations for a box ------------------------------------------------------------------------------------------


def again_for(producer: Producer, box: Box, around: Ranges) -> Again:
    """The iterations in which the elements of a box are computed, and perhaps a few more.

    :param around: the ranges of the loops around the place where they are to run.
    """
    made = _by_ranges(producer, box) or _by_inverse(producer, box)
    if made is None:
        raise fail(
            f"which iteration computes an element of {producer.buffer.name} cannot be told from its indices",
            producer.nest,
            code=codes.NOT_INVERTIBLE,
        )
    loops, values = made
    guards = list[Expr]()
    inside = Bounds({**around, **{n.var: (n.min, n.extent) for n in loops}})
    for s in producer.loops:
        x, low, end = values[s.var], substitute(s.min, values), substitute(s.min + s.extent, values)
        if not inside.nonneg(as_poly(x) - as_poly(low)):
            guards.append(binary("ge", x, low))
        if not inside.nonneg(as_poly(end) - as_poly(x) - 1):
            guards.append(binary("lt", x, end))
    guards += [c for g in producer.guards for c in conjuncts(substitute(g, values))]
    return Again(loops, tuple(guards), tuple(values[s.var] for s in producer.loops))


Made = tuple[tuple[NewLoop, ...], dict[Var, Expr]]


def _by_ranges(producer: Producer, box: Box) -> Made | None:
    """Each loop moves a dimension of its own by a multiple of its variable: ``a·v + c``."""
    variables = {s.var for s in producer.loops}
    loops: list[NewLoop] = []
    values: dict[Var, Expr] = {}
    for s in producer.loops:
        if not any(s.var in free_vars(e) for indices in producer.stored for e in indices):
            values[s.var] = substitute(s.min, values)
            continue
        found = next((r for d, side in enumerate(box.sides) if (r := _range(producer, s, d, side, variables))), None)
        if found is None:
            return None
        start, extent = found
        new = Var.fresh(s.var.name, s.var.dtype)
        kind: ForKind = "serial" if s.kind == "thread_binding" else s.kind
        loops.append(NewLoop(new, const(0, new.dtype), extent, kind, annotations=s.annotations))
        values[s.var] = new + start
    return tuple(loops), values


def _range(producer: Producer, loop: For, dim: int, side: Side, variables: set[Var]) -> tuple[Expr, Expr] | None:
    """Start and number of the iterations of a loop that store into one side of a box."""
    factor: int | None = None
    offsets: list[Poly] = []
    for indices in producer.stored:
        for e in ends_of(indices[dim]):
            split = as_poly(e).coefficient(loop.var) if e.dtype.lanes == 1 else None
            if split is None or (a := split[0].constant) is None or a < 1 or factor not in (None, a):
                return None
            if set(free_vars(render(split[1], loop.var.dtype))) & variables:
                return None
            factor = a
            offsets.append(split[1])
    spread = [p - q for p in offsets for q in offsets]
    if factor is None or any(d.constant is None for d in spread):
        return None
    width = max(d.constant or 0 for d in spread)
    greatest = next(p for p in offsets if all(((p - q).constant or 0) >= 0 for q in offsets))
    start, extent = as_poly(side.start) - greatest, as_poly(side.extent) - 1 + width
    dtype = loop.var.dtype
    if factor == 1:
        return render(start, dtype), render(extent + 1, dtype)
    return (render(start + (factor - 1), dtype)) // factor, render(extent, dtype) // factor + 1


def _by_inverse(producer: Producer, box: Box) -> Made | None:
    """The indices as an index map of the loops, inverted: loops over the box, dimension by dimension."""
    if len(producer.stored) != 1:
        return None
    indices = producer.stored[0]
    variables = {s.var for s in producer.loops}
    dims = [d for d, e in enumerate(indices) if set(free_vars(e)) & variables]
    moving = [s for s in producer.loops if any(s.var in free_vars(indices[d]) for d in dims)]
    loops: list[NewLoop] = []
    equations: list[tuple[Expr, Expr]] = []
    for d in dims:
        new = Var.fresh(f"ax{d}", indices[d].dtype)
        loops.append(NewLoop(new, const(0, new.dtype), counted_in(box.sides[d].extent, new.dtype)))
        equations.append((indices[d], new + counted_in(box.sides[d].start, new.dtype)))
    try:
        found = preimage([(s.var, s.min, s.extent) for s in moving], equations)
    except IndexMapError:
        return None
    simpler = Simplifier(Bounds({n.var: (n.min, n.extent) for n in loops}))
    values = {s.var: s.min for s in producer.loops}
    values |= {v: simpler.expr(counted_in(e, v.dtype)) for v, e in found.items()}
    return tuple(loops), values
