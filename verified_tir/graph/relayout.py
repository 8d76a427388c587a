"""A program on tensors in other layouts, proved to compute the same.

The buffers are moved by the kernel's rules (``Schedule.transform_layout``), and the loops of each nest follow the
layout of what it stores.  Where maps pad,

* padding of operands may hold anything, or a value that the layout names; the program may read it then;
* loops that compute element by element run over the padding, too, where that is proved to do no harm: stores to padding
  that may hold anything, from operands that may.  Loops that sum keep to the elements;
* padding of results that is to hold a value does so at the end, whatever it held before.  That is a ``T.assume`` about
  its bits that the kernel has proved behind the last store.  First it is asked without more ado (a product of zeros is
  zero); if it is not so, the padding is stored.

The theorem says under which maps the new program computes what the old one did.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import final

from verified_tir.graph.errors import GraphError
from verified_tir.graph.layouts import Layout, constant, index_map_of, is_identity, pads, room_of, value_of
from verified_tir.graph.sizes import Dim, normal
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Binary, Expr, FloatImm, IntImm, Load, Undef, Var
from verified_tir.ir.find import local_buffers
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Block, For, Store
from verified_tir.ir.visit import free_vars, substitute, walk
from verified_tir.kernel.effects import written_blocks
from verified_tir.kernel.memory import Padding
from verified_tir.kernel.theorem import Refines
from verified_tir.schedule.errors import Refuted, ScheduleError
from verified_tir.schedule.schedule import Schedule
from verified_tir.script import tir as T  # noqa: N812


@final
@dataclass(frozen=True, slots=True)
class Relaid:
    """The program after the change, its theorem, steps that were left out, with the reason, and the steps taken."""

    func: PrimFunc
    theorem: Refines
    left_out: tuple[str, ...]
    schedule: Schedule
    filled: tuple[str, ...] = ()
    """Results whose padding the program stores, since it does not come out by itself."""


def relayout(func: PrimFunc, layouts: Mapping[Buffer, Layout], *, padded_sums: bool = False) -> Relaid:
    """The program with its buffers in the given layouts.

    :param padded_sums: loops that sum run over the padding of operands, too, in whole tiles, where that is proved to
        leave each sum as it is: both factors are zero there, and the sum so far is not -0.0.
    :raises ScheduleError: if a parameter cannot be moved, or the padding of a result does not hold its value; a local
        buffer, or loops that do not follow, are left as they are and reported.
    """
    moved = {b: m for b, m in layouts.items() if m is not None}
    to_hold = promised(func, moved)
    if not to_hold:
        return _Moving(func, moved, padded_sums).done()
    if _helpful(func, moved) and not any(_summed(func, b) for b in to_hold):
        try:
            return _Moving(func, moved, padded_sums).done()
        except ScheduleError:
            pass  # its padding does not hold the value by itself
    return _Moving(func, moved, padded_sums, fill=True).done()


def promised(func: PrimFunc, layouts: Mapping[Buffer, Layout]) -> dict[Buffer, float | int]:
    """The results whose padding is to hold a value, and the value."""
    written = written_blocks(func.body)
    held = {b: value_of(layouts[b]) for b in func.buffers if b.data in written and _pads(b, layouts)}
    return {b: value for b, value in held.items() if value is not None}


def _helpful(func: PrimFunc, layouts: Mapping[Buffer, Layout]) -> bool:
    """Whether an operand's padding holds a value, from which that of a result may come."""
    written = written_blocks(func.body)
    return any(value_of(m) is not None and b in func.buffers and b.data not in written for b, m in layouts.items())


def _summed(func: PrimFunc, b: Buffer) -> bool:
    """Whether a result is summed up: loops that sum keep to the elements, and leave padding as it is."""
    return any(
        isinstance(n, Block) and any(isinstance(x, Load) and x.buffer is b for x in walk(n.body))
        for n in walk(func.body)
    )


def _pads(b: Buffer, layouts: Mapping[Buffer, Layout]) -> bool:
    return b in layouts and pads(layouts[b], extents(b))


def extents(b: Buffer) -> tuple[Dim, ...]:
    """The extents of a buffer of a graph's program."""
    return tuple(map(normal, b.shape))


def why_not(refused: ScheduleError | GraphError) -> str:
    """The claim that failed, with the counterexample and what came of running it."""
    if not isinstance(refused, ScheduleError):
        return str(refused)
    found = refused.summary()
    if isinstance(refused, Refuted) and refused.counterexample:
        found += f"; counterexample: {', '.join(f'{k} = {v}' for k, v in refused.counterexample.items())}"
        found += " (confirmed)" if refused.confirmed else " (unconfirmed)"
    return found


class _Moving:
    """One attempt, step by step."""

    def __init__(
        self, func: PrimFunc, layouts: Mapping[Buffer, Layout], padded_sums: bool, *, fill: bool = False
    ) -> None:
        self.func = func
        self.layouts = layouts
        self.padded_sums = padded_sums
        self.fill = fill
        self.s = Schedule(func)
        self.left_out: list[str] = []
        self.moved: list[str] = []

    def done(self) -> Relaid:
        func, s = self.func, self.s
        blocks = list(s.blocks)
        for b in [*func.buffers, *local_buffers(func.body)]:
            self._move(b)
        for block in blocks:
            stored = _stored(s.func, block)
            if stored is not None and stored.name in self.moved:
                self._try(f"loops of {block}", partial(s.sequential_buffer_access, stored, block))
        to_hold = promised(func, self.layouts)
        filled = {b.name: value for b, value in to_hold.items()} if self.fill else {}
        if any(_pads(b, self.layouts) for b in self.layouts):
            self._run_over_padding(blocks, filled)
        s.simplify()
        for name, value in filled.items():
            s.write_padding(name, value)
        for b, value in to_hold.items():
            prove_padding(s, b.name, value)
        return Relaid(s.func, s.theorem, tuple(self.left_out), s, tuple(filled))

    def _move(self, b: Buffer) -> None:
        layout = self.layouts.get(b)
        index_map = index_map_of(layout)
        if layout is None or index_map is None or (is_identity(index_map) and not _pads(b, self.layouts)):
            return
        try:
            if not _pads(b, self.layouts):
                self.s.transform_layout(b.name, index_map)
            else:
                operand = b in self.func.buffers and b.data not in written_blocks(self.func.body)
                value = value_of(layout) if operand else None
                room = room_of(layout)
                free = T.undef() if value is None else constant(value, str(b.dtype))
                self.s.transform_layout(b.name, index_map, pad_value=free, shape=room)
        except ScheduleError as refused:
            if b in self.func.buffers:
                raise
            self.left_out.append(f"{b.name}: {refused.summary()}")
            return
        self.moved.append(b.name)

    def _try(self, what: str, step: Callable[[], object]) -> None:
        try:
            step()
        except ScheduleError as refused:
            self.left_out.append(f"{what}: {refused.summary()}")

    def _run_over_padding(self, blocks: list[str], filled: Collection[str]) -> None:
        for block in blocks:
            stored = _stored(self.s.func, block)
            if stored is None or (stored.name in filled and not _sums(self.s.func, block)):
                continue
            if _sums(self.s.func, block):
                if self.padded_sums:
                    self._sum_in_whole_tiles(block, stored)
                continue
            try:
                self.s.remove_branching_through_overcompute(block)
            except ScheduleError:
                continue  # the branch stays: it is right, too

    def _sum_in_whole_tiles(self, block: str, stored: Buffer) -> None:
        """Split the loops of a sum by the tiles of what it reads; the last tile runs over padding."""
        s = self.s
        if not _uneven_tiles(s.func, block, stored):
            return
        try:
            s.decompose_reduction(block, _sum_loops(s, block, stored)[0])
        except ScheduleError as refused:
            self.left_out.append(f"sum of {block}: {refused.summary()}")
            return
        for v, tile in _uneven_tiles(s.func, block, stored).items():
            s.split(v, [None, tile])
        self._try(f"sum of {block} over padding", lambda: s.remove_branching_through_overcompute(block))


def prove_padding(s: Schedule, name: str, value: float | int) -> None:
    """That the padding of a result holds a value, to the bit, when the program ends; whatever it held before.

    :raises ScheduleError: if it does not.
    """
    now = next(b for b in s.func.buffers if b.name == name)
    for p in [p for p in s.theorem.paddings if p.buffer is now and isinstance(p.value, Undef)]:

        def holds(*i: Expr, p: Padding = p) -> Expr:
            where = substitute(p.predicate, dict(zip(p.indices, i, strict=True)))
            return T.Or(T.Not(where), same_bits(now[i], constant(value, str(now.dtype))))

        s.assume(holds, name, at_end=True)


def same_bits(a: Expr, b: Expr) -> Expr:
    """Whether an element is a constant, bit by bit (two NaNs count as equal), as a condition."""
    if not a.dtype.is_float:
        return a.equal(b)
    if isinstance(b, FloatImm) and b.value != b.value:
        return Binary("ne", a, a)
    word = f"uint{a.dtype.bits}"  # a NaN has no bits that one may ask for: first that it is none
    return T.And(a.equal(b), T.reinterpret(word, a).equal(T.reinterpret(word, b)))


def _sum_loops(s: Schedule, block: str, stored: Buffer) -> list[Var]:
    """The loops around a block that the indices of what it stores do not mention."""
    used = _indices(_block(s.func, block), stored)
    return [v for v in s.loops(block) if v not in used]


def _indices(block: Block | None, stored: Buffer) -> set[Var]:
    """The variables that say which elements a block stores."""
    assert block is not None
    return {v for x in walk(block.body) if isinstance(x, Store) and x.buffer is stored
            for i in x.indices for v in free_vars(i)}  # fmt: skip


def _uneven_tiles(func: PrimFunc, block: str, stored: Buffer) -> dict[Var, int]:
    """Loops of a sum that a layout divides by a tile which does not go into their extent."""
    inside = _block(func, block)
    used = _indices(inside, stored)
    assert inside is not None
    sizes = {n.var: n.extent.value for n in walk(func.body) if isinstance(n, For) and isinstance(n.extent, IntImm)}
    return {
        v: t
        for n in walk(inside.body)
        for v, t in [_divided(n)]
        if v is not None and v not in used and v in sizes and sizes[v] % t
    }


def _divided(n: object) -> tuple[Var | None, int]:
    match n:
        case Binary(op="floordiv" | "floormod", a=Var() as v, b=IntImm(value=t)) if t > 0:
            return v, t
    return None, 1


def _block(func: PrimFunc, name: str) -> Block | None:
    return next((n for n in walk(func.body) if isinstance(n, Block) and n.name == name), None)


def _stored(func: PrimFunc, block: str) -> Buffer | None:
    """The buffer that a block stores to."""
    found = _block(func, block)
    return None if found is None else next((x.buffer for x in walk(found.body) if isinstance(x, Store)), None)


def _sums(func: PrimFunc, block: str) -> bool:
    """Whether a block reads what it stores to."""
    found, stored = _block(func, block), _stored(func, block)
    return found is not None and any(isinstance(x, Load) and x.buffer is stored for x in walk(found.body))
