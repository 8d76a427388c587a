"""Indices and accesses: which element of a buffer a statement is about."""

from __future__ import annotations

from verified_tir.ir.expr import Binary, Expr, Load, Var
from verified_tir.ir.sugar import binary, const
from verified_tir.testing.programs.reach import Ranged, Reach
from verified_tir.testing.programs.sketch import BUFFERS_AT_MOST, FAR, Cells, Place, Sketch, reaching

_FORMS = (*["plain"] * 9, "plus", "plus", "minus", "times", "sum", "quotient", "rest", "turned", "fixed")


def index(s: Sketch, place: Place, dimension: int, rank: int) -> Ranged:
    """An index for a dimension: mostly the variable of the loop that fits, mostly as it is."""
    pick, known = s.pick, place.indices
    if not known:
        return fixed(pick.integer(0, 2))
    nth = len(known) - rank + dimension + pick.one(0, 0, 0, 0, 0, 0, 1, 2)
    chosen = known[nth % len(known)]
    match pick.among(_FORMS):
        case "plus":
            return chosen.plus(pick.integer(1, 3))
        case "minus" if chosen.low > 0:
            return chosen.plus(-pick.integer(1, chosen.low))
        case "times" if chosen.high.symbol is None or s.has("faults"):
            return chosen.times(pick.integer(2, 3))
        case "sum":
            return added(chosen, pick.among(known))
        case "quotient":
            c = pick.integer(2, 4)
            most = chosen.high if chosen.high.symbol is not None else Reach(chosen.high.offset // c)
            return Ranged(chosen.expr // c, chosen.low // c, most)
        case "rest":
            return rest(chosen, pick.integer(2, 4))
        case "turned" if chosen.high.offset >= chosen.low or chosen.high.symbol is not None:
            return chosen.turned()
        case "fixed":
            return fixed(pick.integer(0, 2))
    return chosen


def fixed(value: int) -> Ranged:
    """A constant index."""
    return Ranged(const(value), value, Reach(value))


def added(a: Ranged, b: Ranged) -> Ranged:
    """The sum of two indices; the first alone if that would depend on two symbols."""
    high = a.high.plus(b.high)
    return a if high is None else Ranged(binary("add", a.expr, b.expr), a.low + b.low, high)


def rest(a: Ranged, divisor: int) -> Ranged:
    """The remainder by a constant."""
    return Ranged(a.expr % divisor, 0, Reach(divisor - 1))


def indices(s: Sketch, place: Place, cells: Cells, *, may_grow: bool) -> tuple[Expr, ...]:
    """Indices of an element, in bounds (the buffer grows, unless it must not)."""
    rank = len(cells.dims)
    found = []
    for k in range(rank):
        chosen = gathered(s, place, cells, k) if s.has("gathers") and s.pick.rarely(24) else None
        if chosen is None:
            chosen = index(s, place, k, rank)
        expr = reaching(cells, k, chosen, may_grow=may_grow)
        if expr is None:
            expr = _folded(s, cells, k, chosen)
        found.append(expr)
    return tuple(found)


def _folded(s: Sketch, cells: Cells, k: int, chosen: Ranged) -> Expr:
    """An index that would go too far, brought back."""
    have = cells.dims[k]
    if have.offset < 1 and have.symbol is not None:
        cells.dims[k] = have = Reach(1, have.symbol, have.scale)
    if have.offset >= 1 and have.symbol is None:
        if have.offset < FAR and s.pick.flip() and chosen.low >= 0:
            return binary("min", chosen.expr, const(have.offset - 1))
        return chosen.expr % have.offset if have.offset > 1 else const(0)
    cells.dims[k] = Reach(max(1, have.offset), have.symbol, have.scale)
    return const(0)


def gathered(s: Sketch, place: Place, target: Cells, dimension: int) -> Ranged | None:
    """An index from memory, folded into a small range, or the caller's duty to keep there."""
    if target.indices:
        return None
    found = [c for c in s.shown() if c.indices and not c.local]
    if found:
        source = s.pick.among(found)
    elif len(s.cells) < BUFFERS_AT_MOST:
        source = s.new(1, const(0).dtype)
        source.indices = True
    else:
        return None
    source.read = True
    at = reaching(source, 0, index(s, place, 0, 1), may_grow=True)
    value: Expr = Load(source.buffer, (const(0) if at is None else at,))
    most = s.pick.integer(2, 4)
    form = s.pick.one("rest", "rest", "clamp")
    if s.has("faults") and s.pick.rarely(8):
        form = "word"
    if form == "rest":
        value = Binary("floormod", value, const(most))
    elif form == "clamp":
        value = Binary("max", Binary("min", value, const(most - 1)), const(0))
    return Ranged(value, 0, Reach(most - 1))


def visible(s: Sketch, place: Place) -> list[Ranged]:
    """What may stand in index arithmetic: loop variables, and scalar parameters of the index type."""
    return [
        *place.indices,
        *(Ranged(v, 0, Reach(8)) for v in s.scalars if isinstance(v, Var) and v.dtype is const(0).dtype),
    ]
