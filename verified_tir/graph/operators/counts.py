"""Operators that give numbers: sizes that are open, and numbers one after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence

from verified_tir import te
from verified_tir.graph.errors import GraphError
from verified_tir.graph.operators.registry import operator
from verified_tir.graph.operators.shape import flat_index
from verified_tir.graph.sizes import Dim, normal, widened
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.sugar import const
from verified_tir.script import tir as T  # noqa: N812
from verified_tir.te.tensor import Tensor


@operator("sizes")
def sizes(*tensors: Tensor, values: Sequence[Dim], shape: Sequence[int], dtype: str = "int64") -> Tensor:
    """Sizes as numbers, in row-major order; the tensors are there for the sake of their extents only."""
    every = list(map(normal, values))
    if len(every) != math.prod(shape):
        raise GraphError(f"{len(every)} sizes do not have the shape {list(shape)}")

    def element(*i: Var) -> Expr:
        flat = flat_index(i, shape)
        found: Expr = const(0, dtype)
        for k, e in reversed(list(enumerate(every))):
            one = T.cast(widened(e), dtype) if isinstance(e, Expr) else const(e, dtype)
            found = one if k == len(every) - 1 else T.if_then_else(flat.equal(k), one, found)
        return found

    return te.compute(list(shape), element, name="sizes")


@operator("arange")
def arange(*tensors: Tensor, count: Dim, start: Dim = 0, step: int = 1, dtype: str = "int64") -> Tensor:
    """``count`` numbers from ``start`` on, ``step`` apart; the tensors are there for the sake of their extents only."""
    first = normal(start)

    def element(i: Var) -> Expr:
        found: Expr = T.cast(i, dtype) * const(step, dtype)
        return found + (T.cast(widened(first), dtype) if isinstance(first, Expr) else const(first, dtype))

    return te.compute([normal(count)], element, name="arange")
