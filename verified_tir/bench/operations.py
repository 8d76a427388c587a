"""How much a program computes: the arithmetic in its stores, times the iterations of the loops around them."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from verified_tir.index.evaluate import evaluate
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Binary, Call, Expr, Load, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError, Node
from verified_tir.ir.stmt import For, Store
from verified_tir.ir.visit import children

_ARITHMETIC = frozenset({"add", "sub", "mul", "div", "min", "max"})


def operations(func: PrimFunc, sizes: Mapping[Var, int]) -> int | None:
    """Additions, multiplications, divisions, minima and maxima of one run; ``None`` if loops depend on other loops.

    Branches count as taken; arithmetic on indices does not count.
    """
    try:
        return _below(func.body, dict(sizes))
    except IRError:  # an extent is not known
        return None


def _below(node: Node, values: Mapping[Var, int]) -> int:
    match node:
        case For(extent=extent, body=body):
            return max(0, int(evaluate([extent], values)[0])) * _below(body, values)
        case Store(value=value):
            return _arithmetic(value)
        case _:
            return sum(_below(c, values) for c in children(node) if not isinstance(c, Expr | Buffer))


def _arithmetic(e: Node) -> int:
    match e:
        case Load():
            return 0
        case Binary(op=op):
            own = e.dtype.lanes if op in _ARITHMETIC else 0
        case Call(op="fma"):
            own = 2 * e.dtype.lanes
        case _:
            own = 0
    return own + sum(map(_arithmetic, children(e)))


def least_bytes(func: PrimFunc, extents: Mapping[str, tuple[int, ...]]) -> int:
    """The size of all arguments: what must be read or written at least."""
    return sum(b.dtype.nbytes * prod(extents[b.name]) for b in func.buffers)
