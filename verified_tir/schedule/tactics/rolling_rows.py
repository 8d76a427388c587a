"""The rows of a buffer that tiles compute, for ``rolling_buffer``: where a tile begins, which has a row first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from verified_tir.index.simplify import simplify as simplify_index
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Binary, Expr, Var
from verified_tir.ir.paths import Path
from verified_tir.ir.poly import as_poly, render
from verified_tir.ir.stmt import For, Store
from verified_tir.ir.sugar import binary, const
from verified_tir.ir.visit import free_vars, nodes_of, rewrite, substitute
from verified_tir.schedule import codes
from verified_tir.schedule.moves import NewLoop
from verified_tir.schedule.session import Session, fail
from verified_tir.schedule.tactics.regions import Side, box_of


@final
@dataclass(frozen=True, slots=True)
class Rows:
    """How the tiles divide one dimension of the buffer: tile ``t`` computes ``extent`` rows from ``start`` on, which is
    ``(step * t + offset) // divisor + shift``."""

    dim: int
    tile: For
    start: Expr
    extent: int
    loop: For | None
    """The loop of a tile over its rows, if there are several."""
    step: int
    offset: int
    divisor: int
    shift: int
    row: Var
    """Over all rows."""

    def at(self, tiles: Mapping[Var, Expr], inner: Mapping[Var, Expr]) -> Expr:
        """The row of an iteration of a tile, the variables having these values."""
        start = substitute(self.start, dict(tiles))
        return start if self.loop is None else start + (inner.get(self.loop.var, self.loop.var) - self.loop.min)

    @property
    def ends(self) -> tuple[int, int]:
        """The first row of the first tile, and the first row that no tile has."""
        low, count = constant(self.tile.min), constant(self.tile.extent)
        first, last = [(self.step * t + self.offset) // self.divisor + self.shift for t in (low, low + count - 1)]
        return first, last + self.extent

    def all_rows(self) -> NewLoop:
        """A loop over all rows."""
        low, high = (const(n, self.row.dtype) for n in self.ends)
        return NewLoop(self.row, low, simplify_index(high - low, {}))

    def guards(self, tile: Var, inner: Mapping[Var, Expr]) -> Iterator[Expr]:
        """Conditions under which an iteration of a tile is about a row that no earlier tile has."""
        if self.overlap:
            before = substitute(self.start, {self.tile.var: tile - 1}) + self.extent
            known = simplify_index(before - substitute(self.start, {self.tile.var: tile}), {})
            place = const(0) if self.loop is None else inner[self.loop.var] - self.loop.min
            yield binary("or", tile < self.tile.min + 1, simplify_index(place, {}) >= known)

    @property
    def first_tile(self) -> Expr:
        """The first tile that has the row: the least t with row < start(t) + extent."""
        least = (self.row - (self.shift + self.extent - 1)) * self.divisor - self.offset
        return simplify_index(binary("max", (least + (self.step - 1)) // self.step, self.tile.min), {})

    @property
    def overlap(self) -> bool:
        """Whether two tiles have a row in common."""
        return self.step < self.extent * self.divisor


def constant(e: Expr) -> int:
    """The value of a constant.

    :raises TacticFailed: if it is not one.
    """
    value = as_poly(e).constant
    if value is None:
        raise fail("the loops over tiles must have constant ranges to roll a buffer", code=codes.NOT_CONSTANT)
    return value


def rows_of(session: Session, nest: Path, tiles: Sequence[For], buffer: Buffer) -> list[Rows]:
    """What each loop over tiles moves; those that run once are not among them."""
    box = box_of(session.stmt(nest), buffer, session.ranges(nest), reads=False)
    assert box is not None
    found = []
    loops = nodes_of(session.stmt(nest), For)
    for tile in tiles:
        moves_ = [(d, side) for d, side in enumerate(box.sides) if tile.var in free_vars(side.start)]
        if len(moves_) == 1:
            found.append(_rows_in(session, nest, tile, *moves_[0], loops, buffer))
        elif moves_ or constant(tile.extent) != 1:
            raise fail(
                f"the loop over {tile.var.name} moves {len(moves_)} dimensions of {buffer.name}; it must be one",
                nest,
                code=codes.NOT_OF_THIS_FORM,
            )
    return found


def _rows_in(
    session: Session, nest: Path, tile: For, dim: int, side: Side, loops: Sequence[For], buffer: Buffer
) -> Rows:
    start = ordered(side.start)
    step, offset, divisor, shift = _line(start, tile.var, nest)
    stores = [n for n in nodes_of(session.stmt(nest), Store) if n.buffer is buffer]
    inner = {v for n in stores for v in free_vars(n.indices[dim]) if any(s.var is v for s in loops)}
    loop = next((s for s in loops if s.var in inner), None)
    if len(inner) > 1 or any(
        (p := as_poly(n.indices[dim]).coefficient(v)) is None or p[0].constant != 1 for n in stores for v in inner
    ):
        raise fail(
            f"the rows of {buffer.name} that a tile computes must be those of one loop",
            nest,
            code=codes.NOT_OF_THIS_FORM,
        )
    row = Var.fresh(loop.var.name if loop is not None else tile.var.name, side.start.dtype)
    return Rows(dim, tile, start, constant(side.extent), loop, step, offset, divisor, shift, row)


def _line(start: Expr, tile: Var, path: Path) -> tuple[int, int, int, int]:
    """a, b, m and c of ``(a * tile + b) // m + c``."""
    whole = as_poly(start)
    atom = next((x for x in whole.atoms() if tile in free_vars(x)), tile)
    split = whole.coefficient(atom)
    inside, divisor = (atom.a, atom.b) if isinstance(atom, Binary) and atom.op == "floordiv" else (atom, const(1))
    line, m = as_poly(inside).coefficient(tile), as_poly(divisor).constant
    if split is not None and line is not None and m is not None:
        (factor, shift), (a, b) = split, line
        numbers = (factor.constant, shift.constant, a.constant, b.constant)
        if all(n is not None for n in numbers):
            f, c, a_, b_ = (int(n) for n in numbers if n is not None)
            if a_ > 0 and f > 0 and (f == 1 or m == 1):
                return a_ * f, b_ * f, m, c
    raise fail(
        "a tile must begin at a constant distance from the last one to roll a buffer", path, code=codes.NOT_CONSTANT
    )


def ordered(e: Expr) -> Expr:
    """An index with the terms of all its sums in one order."""
    return rewrite(e, lambda n: render(as_poly(n), n.dtype) if isinstance(n, Binary) and n.dtype.is_int else None)
