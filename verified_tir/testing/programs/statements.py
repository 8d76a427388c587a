"""Statements: stores, loops, branches, lets, and what they are put together from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

from verified_tir.ir.dtype import BOOL, INT32, DType
from verified_tir.ir.expr import Binary, Expr, Load, Var
from verified_tir.ir.stmt import For, If, LetStmt, Stmt, Store, seq
from verified_tir.ir.sugar import binary, const
from verified_tir.ir.visit import walk
from verified_tir.testing.programs.again import again, remember
from verified_tir.testing.programs.blocks import block, label
from verified_tir.testing.programs.control import attribute, claim, while_loop
from verified_tir.testing.programs.features import Feature
from verified_tir.testing.programs.indices import index, indices
from verified_tir.testing.programs.kinds import kind_of
from verified_tir.testing.programs.reach import Ranged, Reach
from verified_tir.testing.programs.reductions import reduction
from verified_tir.testing.programs.sketch import BUFFERS_AT_MOST, LOOP_NAMES, Cells, Place, Sketch
from verified_tir.testing.programs.values import condition, load, rank, value
from verified_tir.testing.programs.vectors import vector_store
from verified_tir.testing.programs.views import view

Make = Callable[[Sketch, Place], Stmt]

EXTENTS = (2, 3, 4, 5, 2, 3, 4, 8, 7, 6)


def body(s: Sketch, place: Place, most: int = 3, one_in: int = 4) -> Stmt:
    """One or several statements, at most ``most``; there is one more in one of ``one_in`` cases."""

    def some() -> Stmt:
        first = statement(s, place)
        if most > 1 and s.has("sequences") and s.pick.rarely(one_in):
            return seq(first, body(s, place, most - 1, one_in))
        return first

    return s.pick.body(some)


def statement(s: Sketch, place: Place) -> Stmt:
    """One statement.

    The list of forms is the same at every place, so that a statement means the same when shrinking moves it elsewhere.
    """

    def one() -> Stmt:
        make = s.pick.among(_forms(s.features))
        return make(s, place) if place.depth > 0 or make is store else store(s, place)

    return s.pick.statement(one)


@cache
def _forms(features: frozenset[Feature]) -> tuple[Make, ...]:
    """What statements there are, simplest first, frequent forms several times."""
    found: list[Make] = [store, *[loop] * 8, store, store]
    if "guards" in features:
        found += [guard] * 3
    if "reductions" in features:
        found += [reduction] * 3
    if "lets" in features:
        found += [let] * 2
    found += [partial(make, body=body) for feature, make in _WRAPPERS if feature in features]
    if "vectors" in features:
        found.append(vector_store)
    return tuple(found)


_WRAPPERS: tuple[tuple[Feature, Callable[..., Stmt]], ...] = (
    ("labels", label), ("blocks", block), ("blocks", block), ("views", view), ("views", view), ("asserts", claim),
    ("assumes", claim), ("attributes", attribute), ("while_loops", while_loop),
)  # fmt: skip
"""Statements around others."""


def store(s: Sketch, place: Place) -> Stmt:
    """``B[i] = value``: into any element, or into one that was used before."""
    known = targets(s)
    before = again(s, place, known)
    if before and s.pick.rarely(8):
        element = s.pick.among(before)
        cells = element.cells[0]
        made = value(s, place, cells.dtype)
        cells.written = True
        return Store(cells.buffer, made, element.load.indices)
    if known and (len(s.cells) >= BUFFERS_AT_MOST or s.pick.rarely(3)):
        cells = s.pick.among(known)
        made = value(s, place, cells.dtype)
    else:
        dtype = _element(s)
        made = value(s, place, dtype)
        cells = s.new(rank(s, place), dtype, local=s.has("locals") and s.pick.rarely(4))
    cells.written = True
    return Store(cells.buffer, made, remember(s, cells, indices(s, place, cells, may_grow=True)).indices)


def _element(s: Sketch) -> DType:
    """The type of a new buffer's elements, sometimes bool or one with lanes."""
    dtype = s.dtype()
    if s.has("dtypes") and s.pick.rarely(24):
        return BOOL
    if s.has("vectors") and s.pick.rarely(24):
        return dtype.with_lanes(s.pick.one(4, 2))
    return dtype


def targets(s: Sketch) -> list[Cells]:
    """The buffers that may be stored to."""
    return [c for c in s.shown()[::-1] if not c.indices]


def loop(s: Sketch, place: Place) -> Stmt:
    """``for i in range(…)``."""
    low, extent, ranged = bounds(s, place)
    var = Var.fresh(LOOP_NAMES[place.loops % len(LOOP_NAMES)], INT32)
    inside = body(s, place.with_index(Ranged(var, ranged.low, ranged.high)))
    kind, thread = kind_of(s, place, var, extent, inside)
    return For(var, low, extent, inside, kind, thread)


def bounds(s: Sketch, place: Place) -> tuple[Expr, Expr, Ranged]:
    """The first value and the extent of a loop; least and greatest values of its variable (in place of a variable)."""
    pick = s.pick
    forms: list[int | str] = [*EXTENTS, 3, 5]  # one choice for the usual loop, so that no other is shorter to draw
    forms += ["symbol"] * 3 if s.has("symbols") else []
    forms += ["from", "odd"] if s.has("bounds") else []
    forms += ["up", "down", "up", "down"] if s.has("triangular") and place.indices else []
    zero = const(0)
    chosen = pick.among(forms)
    match chosen:
        case "symbol":
            n = s.symbol()
            return zero, n, Ranged(zero, 0, Reach(-1, n, 1))
        case "from":
            low, extent = pick.integer(1, 3), pick.among(EXTENTS)
            return const(low), const(extent), Ranged(zero, low, Reach(low + extent - 1))
        case "odd":
            extent = pick.one(1, 0)
            return zero, const(extent), Ranged(zero, 0, Reach(extent - 1))
        case "up":
            outer = pick.among(place.indices[::-1])
            c = pick.one(1, 0, 2)
            high = outer.high.plus(c - 1)
            assert high is not None
            return zero, binary("add", outer.expr, c), Ranged(zero, 0, high)
        case "down":
            outer = pick.among(place.indices[::-1])
            count = replace(outer.high, offset=outer.high.offset + 1).expr()
            return outer.expr, binary("sub", count, outer.expr), Ranged(zero, outer.low, outer.high)
    assert isinstance(chosen, int)
    return zero, const(chosen), Ranged(zero, 0, Reach(chosen - 1))


def guard(s: Sketch, place: Place) -> Stmt:
    """``if condition:``, sometimes with an ``else``."""
    if not place.indices and not (s.has("symbols") or s.has("scalars")):
        return loop(s, place)
    asked = condition(s, place)
    then = body(s, place.inner())
    return If(asked, then, body(s, place.inner()) if s.pick.rarely(4) else None)


def let(s: Sketch, place: Place) -> Stmt:
    """``x = e``: of an index, or of an element."""
    of_index = s.pick.flip()
    if of_index and place.indices:
        chosen = index(s, place, 0, 1)
        var = Var.fresh("v", INT32)
        inside = body(s, replace(place.with_index(Ranged(var, chosen.low, chosen.high)), loops=place.loops))
        return _bound(s, var, chosen.expr, inside)
    dtype = s.dtype()
    bound = load(s, place, dtype)
    if dtype != BOOL and s.pick.flip():
        bound = Binary("add", bound, load(s, place, dtype))
    var = Var.fresh("x", dtype)
    return _bound(s, var, bound, body(s, place.with_value(var)))


def _bound(s: Sketch, var: Var, value: Expr, inside: Stmt) -> Stmt:
    """The statements with the variable bound; those alone, mostly, if they do not use it."""
    if var not in walk(inside) and not (s.has("faults") and s.pick.rarely(8)):
        return inside
    return LetStmt(var, value, inside)


__all__ = ["Load", "body", "loop", "statement", "store"]
