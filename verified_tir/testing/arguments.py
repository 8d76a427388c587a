"""Arguments for a function: sizes for its symbols, arrays for its buffers, numbers for its scalars.

What is drawn fits the function: extents follow from the symbols, strides and offsets are honoured, no two arrays share
memory.  Elements that serve as indices are mostly small enough to be some.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Binary, Expr, IntImm, Load, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.ir.stmt import Assume, Store
from verified_tir.ir.visit import walk
from verified_tir.testing.arrays import Array, array
from verified_tir.testing.drawing import Picker
from verified_tir.testing.dtypes import numbers

Arguments = dict[str, Any]
"""Arrays and numbers by the names of parameters, as ``run`` and built functions take them."""

SIZES = (2, 3, 4, 1, 0, 5, 8, 7, 6, 9, 16, 13)


def arguments(func: PrimFunc, *, sizes: Sequence[int] = SIZES) -> SearchStrategy[Arguments]:
    """Arrays and numbers for a function's parameters, by name.

    A parameter with strides is given as a view of a larger array.  A symbol that the arrays do not tell is there by its
    name too.  Symbols satisfy what ``T.assume`` and assertions at the top of the function ask of them alone, if one of
    the sizes does.

    :param sizes: what symbolic extents are chosen from, simplest first.
    """
    return _arguments(func, tuple(sizes))


@st.composite
def _arguments(draw: DrawFn, func: PrimFunc, sizes: tuple[int, ...]) -> Arguments:
    pick = Picker(draw)
    known: dict[Var, int] = {}
    shaping = {n for b in func.buffers for e in b.shape for n in walk(e)} | set(func.params)
    symbols = symbols_of(func)
    for v in sorted(symbols, key=lambda v: v not in shaping):
        known[v] = _size(pick, v, sizes, known, func) if v in shaping else _stride(pick, v, known, func)
    found: Arguments = {}
    limits = index_limits(func, known)
    for p in func.params:
        b = func.buffer_of(p)
        if b is None:
            found[p.name] = known[p] if p in known else _number(pick, p, sizes)
        else:
            found[b.name] = _parameter(pick, b, known, limits.get(b.data))
    for v, size in known.items():
        if v not in func.params and not _told(func, v):
            found[v.name] = size
    return found


def symbols_of(func: PrimFunc) -> list[Var]:
    """The variables in the extents, strides and offsets of a function's parameters."""
    exprs = [e for b in func.buffers for e in (*b.shape, *b.strides, b.elem_offset)]
    return list(dict.fromkeys(n for e in exprs for n in walk(e) if isinstance(n, Var)))


def _told(func: PrimFunc, v: Var) -> bool:
    """Whether some extent or stride is the symbol itself, or a form that is solved for it."""
    return any(v in walk(e) for b in func.buffers for e in (*b.shape, *b.strides))


def _size(pick: Picker, v: Var, sizes: tuple[int, ...], known: Mapping[Var, int], func: PrimFunc) -> int:
    """A size that satisfies what is claimed of the symbol alone: the first that does, from a drawn one on."""
    first = pick.integer(0, len(sizes) - 1)
    claims = [c for c in claims_of(func) if {n for n in walk(c) if isinstance(n, (Var, Load))} <= {v, *known}]
    candidates = (*sizes[first:], *sizes[:first], *range(32))
    return next((k for k in candidates if all(evaluate(c, {**known, v: k}) for c in claims)), sizes[first])


def _stride(pick: Picker, v: Var, known: Mapping[Var, int], func: PrimFunc) -> int:
    """A stride that keeps the elements apart: the inner extents' product, or a little more."""
    least = 1
    for b in func.buffers:
        for k, e in enumerate(b.strides):
            if e is v:
                inner = zip(b.shape[k + 1 :], b.strides[k + 1 :], strict=True)
                ends = [(max(1, _extent(n, known)) - 1) * _extent(d, known) for n, d in inner]
                least = max(least, 1 + sum(ends))
    return least + pick.one(0, 1, 3)


def claims_of(func: PrimFunc) -> list[Expr]:
    """What is assumed anywhere in a function, conjunctions taken apart."""
    found: list[Expr] = []
    waiting = [n.condition for n in walk(func.body) if isinstance(n, Assume)]
    while waiting:
        c = waiting.pop()
        if isinstance(c, Binary) and c.op == "and":
            waiting += [c.b, c.a]
        else:
            found.append(c)
    return found


_OPERATIONS: Mapping[str, Callable[[int, int], int]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv,
    "floormod": operator.mod, "min": min, "max": max, "eq": operator.eq, "ne": operator.ne, "lt": operator.lt,
    "le": operator.le, "gt": operator.gt, "ge": operator.ge, "and": operator.and_, "or": operator.or_,
}  # fmt: skip


def evaluate(expr: Expr, known: Mapping[Var, int]) -> int | None:
    """The value of index arithmetic; ``None`` if it has none, or is not known."""
    match expr:
        case IntImm(value=value):
            return value
        case Var():
            return known.get(expr)
        case Binary(op=op, a=a, b=b):
            x, y = evaluate(a, known), evaluate(b, known)
            if x is None or y is None or (y == 0 and op in ("floordiv", "floormod")):
                return None
            operate = _OPERATIONS.get(op)
            return None if operate is None else operate(x, y)
    return None


def index_limits(func: PrimFunc, known: Mapping[Var, int]) -> dict[Var, int]:
    """For the blocks of integers whose elements are used in indices: the least extent that they index."""
    found: dict[Var, int] = {}
    for n in walk(func.body):
        if not isinstance(n, (Load, Store)):
            continue
        for k, index in enumerate(n.indices):
            extent = evaluate(n.buffer.shape[k], known)
            for load in _loads(index):
                least = min(found.get(load.buffer.data, 1 << 30), 4 if extent is None else int(extent))
                found[load.buffer.data] = least
    return found


def _loads(node: Node) -> list[Load]:
    return [n for n in walk(node) if isinstance(n, Load) and n.buffer.dtype.is_int]


def _number(pick: Picker, p: Var, sizes: tuple[int, ...]) -> Any:
    """A scalar: mostly small, as it may be an extent or an index."""
    if p.dtype.is_int and not pick.rarely(8):
        return pick.among(sizes)
    return pick.draw(numbers(p.dtype))


def _parameter(pick: Picker, b: Buffer, known: Mapping[Var, int], limit: int | None) -> Array:
    """An array for a buffer, with its strides."""
    shape = tuple(max(0, _extent(e, known)) for e in b.shape)
    full = shape if b.dtype.lanes == 1 else (*shape, b.dtype.lanes)
    bounds = None
    if limit is not None and not pick.rarely(16):
        bounds = (0, min(max(0, limit - 1), b.dtype.max_value))
    values = array(pick, b.dtype, full, bounds)
    if not b.strides:
        return values
    strides = [_extent(e, known) for e in b.strides]
    return _strided(values, strides, b, shape)


def _extent(e: Expr, known: Mapping[Var, int]) -> int:
    found = evaluate(e, known)
    return 1 if found is None else int(found)


def laid_out(values: Array, b: Buffer, known: Mapping[Var, int]) -> Array:
    """An array for a buffer as machine code takes it: with the strides that are declared, if their values are known.

    :param values: of any strides, which the interpreter does not look at.
    """
    strides = [evaluate(e, known) for e in b.strides]
    distances = [d for d in strides if d is not None and d > 0]
    if not strides or len(distances) < len(strides):
        return values
    return _strided(values, distances, b, values.shape[: len(strides)])


def _strided(values: Array, strides: Sequence[int], b: Buffer, shape: tuple[int, ...]) -> Array:
    """The values in an array with these strides, in elements."""
    span = 1 + sum((n - 1) * d for n, d in zip(shape, strides, strict=True)) if 0 not in shape else 0
    block = np.zeros((max(0, span), b.dtype.lanes), numpy_dtype(b.dtype.scalar))
    step = block.itemsize
    lanes = () if b.dtype.lanes == 1 else (b.dtype.lanes,)
    steps = (*(d * b.dtype.lanes * step for d in strides), *(step for _ in lanes))
    view = np.lib.stride_tricks.as_strided(block, (*shape, *lanes), steps)
    view[...] = values
    return view
