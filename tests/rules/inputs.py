"""Small inputs in a few patterns: for programs of families, whose extents are known.

Seven patterns of contents, two of them with elements that are undefined; the last two have negative integers between
others, which tells apart what one iteration found true from what all do.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.ir.visit import walk
from verified_tir.testing.reference import value_of

Array = npt.NDArray[Any]

INTEGERS = (
    (1, 2, 3, 0, 1, 2, 2, 1),
    (0, 0, 0, 0, 0, 0, 0, 0),
    (2, 0, 1, 3, 3, 0, 1, 1),
    (-1, 1, 0, 2, -2, 5, 1, 0),
    (1, 1, 1, 1, 1, 1, 1, 1),
    (0, -5, 1, 0, 2, 0, -1, 3),
    (-1, 1, 0, 2, 0, 3, 0, -2),
)
FLOATS = (
    (1.0, 2.0, -0.0, 3.0, 0.5, -2.0, 1.0, 4.0),
    (0.0, -0.0, 0.0, -0.0, 0.0, 0.0, -0.0, 0.0),
    (np.nan, 1.0, np.inf, -0.0, -np.inf, 2.0, np.nan, 1e38),
    (-1.0, 0.0, 2.5, np.inf, -0.0, np.nan, 0.0, -3.0),
    (-0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0),
    (0.0, -5.0, 1.0, -0.0, 2.0, 0.0, -1.0, 3.0),
    (-1.0, 1.0, 0.0, 2.0, 0.0, 3.0, -0.0, -2.0),
)


@final
@dataclass(frozen=True, slots=True)
class Input:
    """Arguments by name, and which elements of the arrays are defined."""

    args: dict[str, Any]
    defined: dict[str, Array]


def symbols(func: PrimFunc) -> list[Var]:
    """Scalar parameters and shape symbols."""
    found = [p for p in func.params if func.buffer_of(p) is None]
    for b in func.buffers:
        for e in b.shape:
            found.extend(n for n in walk(e) if isinstance(n, Var) and n not in found)
    return found


def inputs_of(func: PrimFunc, sizes: tuple[int, ...] = (0, 1, 2, 3)) -> list[Input]:
    """Small inputs: all patterns of contents, each size of the symbols with at least two of the first five."""
    scalars = symbols(func)
    if not scalars:
        return [_input(func, {}, k) for k in range(len(INTEGERS))]
    turns = itertools.count()
    return [
        _input(func, dict(zip(scalars, values, strict=True)), next(turns) % 5)
        for values in itertools.product(sizes, repeat=len(scalars))
        for _ in range(2 if len(scalars) == 1 else 1)
    ] + [_input(func, dict.fromkeys(scalars, sizes[-1]), k) for k in range(5, len(INTEGERS))]


def _input(func: PrimFunc, scalars: Mapping[Var, int], turn: int) -> Input:
    args: dict[str, Any] = {p.name: _scalar(p, scalars[p]) for p in func.params if func.buffer_of(p) is None}
    defined: dict[str, Array] = {}
    for position, b in enumerate(func.buffers):
        shape = tuple(int(value_of(e, scalars)) for e in b.shape)
        shape = shape if b.dtype.lanes == 1 else (*shape, b.dtype.lanes)
        count = int(np.prod(shape, dtype=np.int64))
        scalar = b.dtype.scalar
        pattern: tuple[Any, ...] = (FLOATS if scalar.is_float else INTEGERS)[turn]
        flat = [pattern[(k + position) % len(pattern)] for k in range(count)]
        plain = np.float64 if scalar.is_float else np.int64
        args[b.name] = np.array(flat, dtype=plain).astype(numpy_dtype(scalar)).reshape(shape)
        if turn == 3:  # every other element of one buffer
            defined[b.name] = ((np.arange(count) + position) % 2 == 0).reshape(shape)
        elif turn == 4:  # nothing of all buffers but the first
            defined[b.name] = np.full(shape, position == 0)
    return Input(args, defined)


def _scalar(p: Var, value: int) -> Any:
    if p.dtype.is_float:
        return (0.0, -0.0, float("nan"), 1.5)[value % 4]
    return bool(value % 2) if p.dtype.is_bool else value
