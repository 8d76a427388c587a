"""Control and claims: while loops, assertions, assumptions, attributes."""

from __future__ import annotations

from verified_tir.ir.dtype import INT32
from verified_tir.ir.expr import Binary, Expr, Load, StringImm, Var
from verified_tir.ir.stmt import Assert, Assume, AttrStmt, For, Stmt, Store, While, seq
from verified_tir.ir.sugar import binary, const
from verified_tir.testing.programs.reach import Reach
from verified_tir.testing.programs.sketch import Body, Place, Sketch
from verified_tir.testing.programs.values import condition


def while_loop(s: Sketch, place: Place, body: Body) -> Stmt:
    """A counter in memory, and a loop while it is small."""
    counter = s.new(1, INT32, local=True)
    counter.indices = counter.read = counter.written = True
    counter.dims[0] = Reach(1)
    times = s.pick.one(2, 3, 1, 0, 5)
    at = (const(0),)
    now: Expr = Load(counter.buffer, at)
    inside = body(s, place.inner())
    step = Store(counter.buffer, Binary("add", now, const(1)), at)
    return seq(Store(counter.buffer, const(0), at), While(now < times, seq(inside, step)))


def claim(s: Sketch, place: Place, body: Body) -> Stmt:
    """``T.assume`` or ``assert`` of something that is mostly true, and statements after it."""
    asked = _true(s, place)
    if asked is None:
        return body(s, place.inner())
    kinds = [k for k in ("assumes", "asserts") if k in s.features]
    made: Stmt = Assume(asked) if s.pick.among(kinds) == "assumes" else Assert(asked, "not what was expected")
    return seq(made, body(s, place.inner()))


def _true(s: Sketch, place: Place) -> Expr | None:
    """Something that holds of the loops around, or of a symbol on some arguments."""
    pick = s.pick
    if place.indices and not pick.rarely(4):
        if s.has("faults") and pick.rarely(16):
            return condition(s, place)
        chosen = pick.among(place.indices[::-1])
        if pick.flip():
            return Binary("le", const(chosen.low), chosen.expr)
        return Binary("le", chosen.expr, chosen.high.expr())
    if not s.symbols:
        return None
    n: Var = pick.among(s.symbols)
    match pick.one("least", "multiple", "most"):
        case "multiple":
            return Binary("eq", Binary("floormod", n, const(pick.one(2, 4, 3))), const(0))
        case "most":
            return Binary("le", n, const(64))
    return Binary("ge", n, const(pick.one(1, 2, 4)))


def attribute(s: Sketch, place: Place, body: Body) -> Stmt:
    """An attribute around statements, or an annotation at a loop: neither means anything."""
    inside = body(s, place.inner())
    if isinstance(inside, For) and s.pick.flip():
        notes = (("pragma_auto_unroll_max_step", 16),)
        return For(inside.var, inside.min, inside.extent, inside.body, inside.kind, inside.thread, notes)
    node: Expr | str = place.indices[-1].expr if place.indices and isinstance(place.indices[-1].expr, Var) else ""
    value = s.pick.one(const(1), StringImm("hint"))
    return AttrStmt("pragma_note", node, value, inside)


__all__ = ["attribute", "binary", "claim", "while_loop"]
