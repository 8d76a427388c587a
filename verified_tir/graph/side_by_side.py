"""Layouts within a program, so that what a vector takes lies side by side.

Two kinds of buffers may be moved without anyone noticing: local ones, and constants, which are packed when the program
is compiled.  One dimension of theirs is divided into tiles, which become the last dimension.
"""

from __future__ import annotations

from collections.abc import Collection

from verified_tir.graph.nests import LANES, Nest, contiguous, extent
from verified_tir.index.map import IndexMap
from verified_tir.ir.expr import Binary, Expr, Load, Var
from verified_tir.ir.visit import free_vars
from verified_tir.schedule.schedule import Schedule


def follow(s: Schedule, nest: Nest) -> None:
    """Move local buffers that a nest reads with strides where it stores side by side: ``t[n, 16 * k + i, y, x]``."""
    loop = nest.loops[-1] if nest.loops else None
    if loop is None or extent(loop) not in LANES or not contiguous(nest.store.indices, loop.var):
        return
    local = {b.name for b in s.buffers} - {b.name for b in s.func.buffers}
    for x in nest.loads:
        dim = _only_dimension(x, loop.var)
        if x.buffer.name in local and dim is not None and dim < len(x.indices) - 1 and _moves(x.indices[dim], loop.var):
            s.transform_layout(x.buffer.name, tiled(len(x.indices), dim, extent(loop)))


def packed(s: Schedule, load: Load, var: Var, lanes: int, constants: Collection[str]) -> bool:
    """Move a constant so that the elements that a variable runs over lie side by side; whether it was."""
    dim = _only_dimension(load, var)
    if load.buffer.name not in constants or dim is None or load.indices[dim] is not var:
        return False
    s.transform_layout(load.buffer.name, tiled(len(load.indices), dim, lanes))
    return True


def tiled(rank: int, dim: int, lanes: int) -> IndexMap:
    """The map that divides one dimension into tiles, which come last."""
    return IndexMap.from_func(
        lambda *i: [*(v // lanes if k == dim else v for k, v in enumerate(i)), i[dim] % lanes], rank
    )


def _only_dimension(load: Load, var: Var) -> int | None:
    """The dimension whose index has the variable, if there is one only."""
    found = [k for k, i in enumerate(load.indices) if var in free_vars(i)]
    return found[0] if len(found) == 1 else None


def _moves(index: Expr, var: Var) -> bool:
    """Whether an index is the variable, or that and something else that does not have it."""
    match index:
        case Var() as v:
            return v is var
        case Binary(op="add", a=a, b=b):
            return (a is var and var not in free_vars(b)) or (b is var and var not in free_vars(a))
    return False
