"""Stores of scalable vectors, read as the loop over their lanes that they abbreviate.

    B[0 : T.vscale() * 4] = A[T.Ramp(0, 1, T.vscale() * 4)] * T.Broadcast(2.0, T.vscale() * 4)

        ⟶   for lane in T.vectorized(T.vscale() * 4):
                B[lane] = A[lane] * 2.0

No expression here has a number of lanes that is not constant.  But such a store means the same as the loop, as long as
no lane reads what another one stores; a store that might is refused, and so are scalable values anywhere else.
``T.vscale()`` itself is a call of which nothing is known.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from verified_tir.ir.calls import is_pure
from verified_tir.ir.dtype import INT32
from verified_tir.ir.expr import Call, Expr, Load, Var
from verified_tir.ir.script.source import Located
from verified_tir.ir.script.values import cast_to, typed
from verified_tir.ir.stmt import For, Stmt, Store
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import walk

if TYPE_CHECKING:
    from verified_tir.ir.script.exprs import ExprParser

SCALABLE: Final = (
    "scalable vectors are only supported in a store of such lanes; give the vector a constant number of lanes, "
    "or write the loop"
)
_VECTORS: Final = {"Ramp": 2, "ramp": 2, "Broadcast": 1, "broadcast": 1}
"""Calls that make vectors, with the position of the number of lanes."""


def factor(p: ExprParser, node: ast.expr) -> int | None:
    """The constant ``c`` of ``c * T.vscale()``; ``None`` if the expression is something else."""
    found = _product(p, node)
    return found[0] if found is not None and found[1] == 1 else None


def _product(p: ExprParser, node: ast.expr) -> tuple[int, int] | None:
    """A product of integers and ``T.vscale()``: the integers multiplied, and the number of other factors."""
    match node:
        case ast.Constant(value=int() as v):
            return v, 0
        case ast.Call(func=func, args=[]) if p.t_name(func) == "vscale":
            return 1, 1
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            a, b = _product(p, left), _product(p, right)
            return None if a is None or b is None else (a[0] * b[0], a[1] + b[1])
    return None


def lanes_of_slice(p: ExprParser, node: ast.Slice) -> int | None:
    """The ``c`` of a slice with ``c * T.vscale()`` lanes: ``x : x + n * T.vscale()``, its step dividing ``n``."""
    if node.upper is None or node.lower is None:
        return None
    span: int | None = None
    match node.lower, node.upper:
        case ast.Constant(value=0), upper:
            span = factor(p, upper)
        case lower, ast.BinOp(left=left, op=ast.Add(), right=right) if ast.dump(lower) == ast.dump(left):
            span = factor(p, right)
    step = 1 if node.step is None else p.int_constant(node.step)
    return span // step if span is not None and step > 0 and span % step == 0 else None


def lanes_in(p: ExprParser, nodes: Iterable[ast.expr]) -> int | None:
    """The ``c`` of the first vector with ``c * T.vscale()`` lanes among the expressions."""
    for node in nodes:
        for n in ast.walk(node):
            match n:
                case ast.Call(func=func, args=args) if (at := _VECTORS.get(p.t_name(func) or "")) is not None:
                    found = factor(p, args[at]) if len(args) > at else None
                case ast.Slice():
                    found = lanes_of_slice(p, n)
                case _:
                    found = None
            if found is not None:
                return found
    return None


def lane(p: ExprParser, place: Located, lanes: int | None) -> Var | None:
    """The lane that a scalable vector stands for at the place; ``None`` if it is not one.

    :raises ScriptError: outside a store, or if the store has another number of lanes.
    """
    if lanes is None:
        return None
    if p.lane is None:
        raise p.error(place, SCALABLE)
    if p.lane[1] != lanes:
        raise p.error(place, f"{lanes} * T.vscale() lanes are combined with {p.lane[1]} * T.vscale() lanes")
    return p.lane[0]


def at_lane(p: ExprParser, base: Expr, stride: Expr, of: Var) -> Expr:
    """``base + lane * stride``."""
    step = typed(p.binary("mul", cast_to(base.dtype, of), cast_to(base.dtype, stride)), None)
    return typed(p.binary("add", base, step), None)


def _might_meet(p: ExprParser, read: Load, store: Store) -> bool:
    """Whether a lane may read what another one stores, going by blocks and the text of the indices."""
    if read.buffer is store.buffer and read.indices == store.indices:
        return False
    blocks = {read.buffer.data, store.buffer.data}
    return len(blocks) == 1 or not p.pointers.isdisjoint(blocks)


def over_lanes(p: ExprParser, place: Located, store: Stmt, of: Var, lanes: int) -> Stmt:
    """The store of one lane, for all lanes.

    :raises ScriptError: if one lane might read what another one stores, or calls something unknown.
    """
    assert isinstance(store, Store)
    if not any(n is of for i in store.indices for n in walk(i)):
        raise p.error(place, "a scalable vector is stored to one place; its index has no lanes")
    for n in (n for e in (store.value, *store.indices) for n in walk(e)):
        if isinstance(n, Load) and _might_meet(p, n, store):
            raise p.error(
                place, f"a lane of this scalable vector might read what another lane stores to {store.buffer.name}"
            )
        if isinstance(n, Call) and n.op != "vscale" and not is_pure(n.op):
            raise p.error(place, f"T.{n.op} would be called for each lane of a scalable vector")
    extent = typed(p.binary("mul", Call(INT32, "vscale", ()), lanes), None)
    return For(of, const(0), extent, store, "vectorized")
