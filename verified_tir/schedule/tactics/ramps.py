"""Vector indices as ramps.

The kernel moves a vector access lane by lane, ``T.Ramp(i, 1, 4)`` under ``x + 3`` to ``T.Ramp(i, 1, 4) +
T.Broadcast(3, 4)``.  That is the ramp from ``i + 3``, which people and machine code like better.  Each is a
``rewrite``.
"""

from __future__ import annotations

from collections.abc import Iterator

from verified_tir.ir.expr import Binary, BinaryOp, Broadcast, Expr, Load, Ramp
from verified_tir.ir.paths import Path, places
from verified_tir.ir.stmt import Store
from verified_tir.ir.sugar import binary, const
from verified_tir.ir.visit import nodes_of
from verified_tir.kernel.rules.rewrite import ExprPath, expressions
from verified_tir.schedule.edits import rewritten
from verified_tir.schedule.session import Session


def as_ramps(session: Session, under: Path = ()) -> None:
    """Write vector indices at or below a place as ramps, where they are ramps."""
    stmt = session.stmt(under)
    if not nodes_of(stmt, Ramp):
        return
    for path, s in places(stmt, lambda s: bool(nodes_of(s, Ramp))):
        for k, e in enumerate(expressions(s)):
            index = isinstance(s, Store) and k == len(s.indices)
            for where, new in _ramps(e, (k,), index=index):
                session.attempt(rewritten((*under, *path), where, new))


def _ramps(e: Expr, where: ExprPath, *, index: bool) -> Iterator[tuple[ExprPath, Expr]]:
    """Proposals for the indices in an expression, and for itself if it is one."""
    new = _ramp(e) if index and isinstance(e, Binary) else None
    if isinstance(new, Ramp):
        yield where, new
        return
    for k, part in enumerate(expressions(e)):
        yield from _ramps(part, (*where, k), index=isinstance(e, Load) and k == len(e.indices) - 1)


def _ramp(e: Expr) -> Expr:
    """The vector as a ramp, or as the scalar that is the same in each lane, if it is one of these."""
    match e:
        case Broadcast(value=value):
            return value
        case Binary(op=op, a=a, b=b):
            return combine(op, _ramp(a), _ramp(b))
    return e


def combine(op: BinaryOp, a: Expr, b: Expr) -> Expr:
    """A binary operation on lanes; sums and multiples of ramps stay ramps."""
    match op, a, b:
        case "add", Ramp(base=base, stride=stride, lanes=n), _ if b.dtype.lanes == 1:
            return Ramp(binary("add", base, b), stride, n)
        case "add", _, Ramp(base=base, stride=stride, lanes=n) if a.dtype.lanes == 1:
            return Ramp(binary("add", a, base), stride, n)
        case "sub", Ramp(base=base, stride=stride, lanes=n), _ if b.dtype.lanes == 1:
            return Ramp(binary("sub", base, b), stride, n)
        case "sub", _, Ramp(base=base, stride=stride, lanes=n) if a.dtype.lanes == 1:
            return Ramp(binary("sub", a, base), binary("mul", stride, const(-1, stride.dtype)), n)
        case "mul", Ramp(base=base, stride=stride, lanes=n), _ if b.dtype.lanes == 1:
            return Ramp(binary("mul", base, b), binary("mul", stride, b), n)
        case "mul", _, Ramp(base=base, stride=stride, lanes=n) if a.dtype.lanes == 1:
            return Ramp(binary("mul", a, base), binary("mul", a, stride), n)
        case (("add" | "sub"), Ramp(lanes=n), Ramp()):
            return Ramp(binary(op, a.base, b.base), binary(op, a.stride, b.stride), n)
    return binary(op, a, b)
