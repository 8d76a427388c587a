"""Functions of rows: softmax, layer normalisation, sums and maxima along the last axis.

A row is reduced in vectors: a few vectors of partial results, each lane of each its own, so that no addition waits for
the one before.  That is another order than the program's.  So the theorems say (``kernel.schedule.assumptions``) that
*the bits of the reductions may be those of another order of the same terms*; all else has the bits of the plain loops.

Maxima pass over NaN, as the programs say: any order gives the same number then.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial

import numpy as np

from verified_tir.codegen.target import Target
from verified_tir.ir.func import PrimFunc
from verified_tir.library.kernel import Array, Kernel, calls, destination, extents, lanes_of, operand, specialised
from verified_tir.library.vectors import VECTORS_AND_REST, groups_of, in_vectors, machine_for, reduced_in_lanes
from verified_tir.schedule.schedule import Schedule
from verified_tir.script import tir as T

FLOATS = ("float32", "float64")
"""The types that these functions take."""


def row_by_row(
    s: Schedule, *, lanes: int, columns: int, sums: Sequence[tuple[str, str]], maps: Sequence[str] = ()
) -> None:
    """The strategy of every function here: each pass over a row in vectors, and rows on threads.

    :param sums: the loops that reduce a row, and the buffers into which they do.
    :param maps: the loops that compute elements of a row one by one.
    """
    groups = groups_of(columns, lanes)
    for loop, buffer in sums:
        reduced_in_lanes(s, loop, buffer, lanes, groups)
    for loop in maps:
        in_vectors(s, loop, lanes * groups)
    s.parallel("i")


def _kernel(program: PrimFunc, dtype: str, target: Target | None, columns: int, **passes: Sequence[object]) -> Kernel:
    strategy = partial(row_by_row, lanes=lanes_of(target, dtype), columns=columns, **passes)  # type: ignore[arg-type]
    return Kernel(program, strategy, lowering=VECTORS_AND_REST, target=target)


# -- kernels -----------------------------------------------------------------------------------------------------------


@specialised
def softmax_kernel(columns: int, dtype: str = "float32", *, target: Target | None = None) -> Kernel:
    """Softmax of any number of rows."""
    (columns,) = extents("softmax", "columns", columns, least=1)
    lowest = float("-inf")

    @T.prim_func
    def softmax(a: T.handle, b: T.handle) -> None:
        rows = T.int32()
        A = T.match_buffer(a, (rows, columns), dtype)
        B = T.match_buffer(b, (rows, columns), dtype)
        for i in range(rows):
            top = T.alloc_buffer((1,), dtype, scope="local")
            total = T.alloc_buffer((1,), dtype, scope="local")
            top[0] = T.cast(lowest, dtype)
            for j_top in range(columns):
                top[0] = T.max(top[0], T.Select(A[i, j_top] == A[i, j_top], A[i, j_top], T.cast(lowest, dtype)))
            for j_exp in range(columns):
                B[i, j_exp] = T.exp(A[i, j_exp] - top[0])
            total[0] = T.cast(0, dtype)
            for j_sum in range(columns):
                total[0] = total[0] + B[i, j_sum]
            for j in range(columns):
                B[i, j] = B[i, j] / total[0]

    return _kernel(softmax, dtype, target, columns, sums=(("j_top", "top"), ("j_sum", "total")), maps=("j_exp", "j"))


def _finite(eps: object) -> float:
    if not isinstance(eps, (int, float, np.integer, np.floating)):
        raise TypeError(f"layer_norm: eps is a number, not {eps!r}")
    if not 0 <= eps <= sys.float_info.max:
        raise ValueError(f"layer_norm: eps is a finite number from 0 on, not {eps}")
    return float(eps)


@specialised
def layer_norm_kernel(
    columns: int, dtype: str = "float32", *, eps: float = 1e-5, target: Target | None = None
) -> Kernel:
    """Layer normalisation of any number of rows: ``(A - mean) / sqrt(variance + eps) * W + V``.

    :raises TypeError: if ``eps`` is no number.
    :raises ValueError: if it is negative or not finite.
    """
    (columns,), eps = extents("layer_norm", "columns", columns, least=1), _finite(eps)

    @T.prim_func
    def layer_norm(a: T.handle, w: T.handle, v: T.handle, b: T.handle) -> None:
        rows = T.int32()
        A = T.match_buffer(a, (rows, columns), dtype)
        W = T.match_buffer(w, (columns,), dtype)
        V = T.match_buffer(v, (columns,), dtype)
        B = T.match_buffer(b, (rows, columns), dtype)
        for i in range(rows):
            total = T.alloc_buffer((1,), dtype, scope="local")
            squares = T.alloc_buffer((1,), dtype, scope="local")
            mean = T.alloc_buffer((1,), dtype, scope="local")
            scale = T.alloc_buffer((1,), dtype, scope="local")
            total[0] = T.cast(0, dtype)
            for j_sum in range(columns):
                total[0] = total[0] + A[i, j_sum]
            mean[0] = total[0] / T.cast(columns, dtype)
            squares[0] = T.cast(0, dtype)
            for j_square in range(columns):
                squares[0] = squares[0] + (A[i, j_square] - mean[0]) * (A[i, j_square] - mean[0])
            scale[0] = T.rsqrt(squares[0] / T.cast(columns, dtype) + T.cast(eps, dtype))
            for j in range(columns):
                B[i, j] = (A[i, j] - mean[0]) * scale[0] * W[j] + V[j]

    return _kernel(layer_norm, dtype, target, columns, sums=(("j_sum", "total"), ("j_square", "squares")), maps=("j",))


@specialised
def row_sum_kernel(columns: int, dtype: str = "float32", *, target: Target | None = None) -> Kernel:
    """The sums of any number of rows."""
    (columns,) = extents("row_sum", "columns", columns, least=1)

    @T.prim_func
    def row_sum(a: T.handle, b: T.handle) -> None:
        rows = T.int32()
        A = T.match_buffer(a, (rows, columns), dtype)
        B = T.match_buffer(b, (rows,), dtype)
        for i in range(rows):
            B[i] = T.cast(0, dtype)
            for j in range(columns):
                B[i] = B[i] + A[i, j]

    return _kernel(row_sum, dtype, target, columns, sums=(("j", "B"),))


@specialised
def row_max_kernel(columns: int, dtype: str = "float32", *, target: Target | None = None) -> Kernel:
    """The largest number of each of any number of rows; minus infinity if there is none."""
    (columns,) = extents("row_max", "columns", columns, least=1)
    lowest = float("-inf")

    @T.prim_func
    def row_max(a: T.handle, b: T.handle) -> None:
        rows = T.int32()
        A = T.match_buffer(a, (rows, columns), dtype)
        B = T.match_buffer(b, (rows,), dtype)
        for i in range(rows):
            B[i] = T.cast(lowest, dtype)
            for j in range(columns):
                B[i] = T.max(B[i], T.Select(A[i, j] == A[i, j], A[i, j], T.cast(lowest, dtype)))

    return _kernel(row_max, dtype, target, columns, sums=(("j", "B"),))


# -- functions ---------------------------------------------------------------------------------------------------------


def _rows(function: str, value: object) -> Array:
    """An operand as a matrix, whose rows are those of the last axis."""
    array = operand(function, "a", value, dtypes=FLOATS)
    if array.ndim == 0 or array.shape[-1] == 0:
        raise ValueError(f"{function}: a has no elements in its last axis; its shape is {array.shape}")
    return array


def _matrix(array: Array) -> Array:
    return array.reshape(-1, array.shape[-1])


@calls(softmax_kernel)
def softmax(a: object, *, out: Array | None = None, threads: int | None = None) -> Array:
    """``exp(a - max(a)) / sum(exp(a - max(a)))`` along the last axis.

    A row with NaN or infinity becomes NaN, as does a row of which every number is minus infinity.

    :param a: an array of float32 or float64, of any number of dimensions.
    :param out: where the result is written; a new array unless given.
    :param threads: how many threads work on it; all that the process may use unless given.
    """
    array = _rows("softmax", a)
    result = destination("softmax", out, array.shape, array.dtype, (array,))
    kernel = softmax_kernel(array.shape[-1], array.dtype.name, target=machine_for(array, threads))
    kernel(_matrix(array), _matrix(result))
    return result


@calls(layer_norm_kernel)
def layer_norm(
    a: object,
    weight: object = None,
    bias: object = None,
    *,
    eps: float = 1e-5,
    out: Array | None = None,
    threads: int | None = None,
) -> Array:
    """``(a - mean) / sqrt(variance + eps) * weight + bias`` along the last axis.

    :param weight: a vector as long as a row; ones unless given.
    :param bias: a vector as long as a row; zeros unless given.
    :raises ValueError: if one of them has another length, or if ``eps`` is negative or no finite number.
    """
    array = _rows("layer_norm", a)
    columns, dtype = array.shape[-1], array.dtype.name
    vectors = []
    for name, value, otherwise in (("weight", weight, 1), ("bias", bias, 0)):
        given = np.full(columns, otherwise, dtype) if value is None else value
        vector = operand("layer_norm", name, given, rank=1, dtypes=(dtype,))
        if vector.size != columns:
            raise ValueError(f"layer_norm: {name} has {vector.size} elements, and rows have {columns}")
        vectors.append(vector)
    result = destination("layer_norm", out, array.shape, array.dtype, (array, *vectors))
    kernel = layer_norm_kernel(columns, dtype, eps=_finite(eps), target=machine_for(array, threads))
    kernel(_matrix(array), *vectors, _matrix(result))
    return result


@calls(row_sum_kernel)
def row_sum(a: object, *, out: Array | None = None, threads: int | None = None) -> Array:
    """The sums along the last axis, in the type of the elements."""
    array = _rows("row_sum", a)
    result = destination("row_sum", out, array.shape[:-1], array.dtype, (array,))
    row_sum_kernel(array.shape[-1], array.dtype.name, target=machine_for(array, threads))(
        _matrix(array), result.reshape(-1)
    )
    return result


@calls(row_max_kernel)
def row_max(a: object, *, out: Array | None = None, threads: int | None = None) -> Array:
    """The largest numbers along the last axis.  NaN counts as less than all numbers, and of zeros any may be given."""
    array = _rows("row_max", a)
    result = destination("row_max", out, array.shape[:-1], array.dtype, (array,))
    row_max_kernel(array.shape[-1], array.dtype.name, target=machine_for(array, threads))(
        _matrix(array), result.reshape(-1)
    )
    return result


__all__ = [
    "layer_norm", "layer_norm_kernel", "row_max", "row_max_kernel", "row_sum", "row_sum_kernel", "softmax",
    "softmax_kernel",
]  # fmt: skip
