"""Matrix products.

``gemm(a, b)`` is ``act(op(a) @ op(b) + bias)`` for two matrices.  The program adds up the terms of each element in
order, each by one fused multiply-add, starting from zero; so the result is the same on every machine, for every number
of threads, and for ``a`` given as it is or transposed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, final

import numpy as np

from verified_tir.codegen.target import Target
from verified_tir.ir.script import parse_func
from verified_tir.library.gemm_schedule import product
from verified_tir.library.gemm_tiles import Tiles
from verified_tir.library.kernel import (
    Array,
    Kernel,
    calls,
    destination,
    extents,
    is_one_of,
    machine,
    operand,
    specialised,
)

RESULTS: Final = {"float32": "float32", "float64": "float64", "bfloat16": "float32", "int8": "int32"}
"""The type of the result for each type of the operands."""

ACTIVATIONS: Final = {
    None: "{x}",
    "relu": "T.max({zero}, {x})",
    "clip": "T.min(T.Cast({dtype!r}, 6), T.max({zero}, {x}))",
}
"""What may be done with each sum at the end, by name; ``clip`` is at 0 and 6.  NaN stays: it is the second operand."""

SMALL = 2**18
"""Multiplications below which one thread is enough: starting others takes as long."""


def program(
    rows: int, columns: int, depth: int, dtype: str = "float32", *, transpose_a: bool = False,
    transpose_b: bool = False, bias: bool = False, activation: str | None = None,
) -> str:  # fmt: skip
    """The plain program, as text."""
    result, more = RESULTS[dtype], f"D: T.Buffer(({columns},), {RESULTS[dtype]!r}), " if bias else ""
    a, b = ("A[k, i]" if transpose_a else "A[i, k]"), ("B[j, k]" if transpose_b else "B[k, j]")
    if dtype != result:
        a, b = f"T.Cast({result!r}, {a})", f"T.Cast({result!r}, {b})"
    update = f"T.fma({a}, {b}, C[i, j])" if result.startswith("float") else f"C[i, j] + {a} * {b}"
    zero = f"T.Cast({result!r}, 0)"
    end = ACTIVATIONS[activation].format(x="C[i, j] + D[j]" if bias else "C[i, j]", zero=zero, dtype=result)
    finish = "" if end == "C[i, j]" else f'\n        with T.sblock("finish"):\n            C[i, j] = {end}'
    return f"""
@T.prim_func(s_tir=True)
def gemm(A: T.Buffer({(depth, rows) if transpose_a else (rows, depth)}, {dtype!r}),
         B: T.Buffer({(columns, depth) if transpose_b else (depth, columns)}, {dtype!r}), {more}
         C: T.Buffer({(rows, columns)}, {result!r})):
    for i, j in T.grid({rows}, {columns}):
        with T.sblock("zero"):
            C[i, j] = {zero}
        for k in range({depth}):
            with T.sblock("sum"):
                C[i, j] = {update}{finish}
"""


@specialised
def gemm_kernel(
    rows: int, columns: int, depth: int, dtype: str = "float32", *, transpose_a: bool = False,
    transpose_b: bool = False, bias: bool = False, activation: str | None = None, target: Target | None = None,
) -> Kernel:  # fmt: skip
    """The kernel of a product of rows × depth and depth × columns elements.

    Its parameters are A, B, D (the bias, if there is one), and C, the result.

    :param dtype: of A and B: float32, float64, bfloat16 (the result is float32) or int8 (the result is int32).
    :param transpose_a: A is given as depth × rows elements.
    :param transpose_b: B is given as columns × depth elements.
    :param bias: whether a row is added to each row of the result.
    :param activation: what is done with each element at the end: nothing, ``"relu"`` or ``"clip"`` (at 0 and 6).
    :param target: the machine; this one unless given.
    :raises ValueError: for another type or activation, or sizes that kernels do not have.
    """
    if dtype not in RESULTS:
        raise ValueError(f"gemm: there is no kernel for {dtype}; {', '.join(RESULTS)} are taken")
    _known(activation)
    rows, columns, depth = sizes = extents("gemm", "rows, columns and depth", rows, columns, depth)
    target = target or machine()
    threads = target.threads if math.prod(sizes) > SMALL else 1
    plain = parse_func(
        program(
            rows,
            columns,
            depth,
            dtype,
            transpose_a=transpose_a,
            transpose_b=transpose_b,
            bias=bias,
            activation=activation,
        )
    )
    if 0 in sizes:
        return Kernel(plain, lambda s: None, target=target)
    tiles = Tiles.of(rows, columns, depth, RESULTS[dtype], target, transposed=transpose_b)
    finish = bias or activation is not None
    strategy = partial(product, tiles=tiles, finish=finish, transposed=transpose_b, threads=threads)
    return Kernel(plain, strategy, target=target)


def _known(activation: str | None) -> None:
    if not is_one_of(activation, ACTIVATIONS):
        raise ValueError(f"gemm: there is no activation {activation!r}; {_named(ACTIVATIONS)} are known")


def _named(names: Any) -> str:
    return ", ".join(repr(name) for name in names)


# -- the function ------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True)
class _Call:
    """How arrays of certain shapes are multiplied: the compiled function, whether an operand is passed transposed, and
    the shape and type of the result."""

    function: Any
    flip_a: bool
    flip_b: bool
    shape: tuple[int, int]
    dtype: np.dtype[Any]


_CALLS: dict[tuple[Any, ...], _Call] = {}
"""Calls that were checked before, by all that the check depends on."""


@calls(gemm_kernel)
def gemm(
    a: Array, b: Array, bias: Array | None = None, *, transpose_a: bool = False, transpose_b: bool = False,
    activation: str | None = None, out: Array | None = None, threads: int | None = None,
) -> Array:  # fmt: skip
    """Multiply two matrices, add a row, apply an activation.

    The first call for some shapes proves and compiles a kernel, which takes some tenths of a second; later ones, also
    of other processes, find the proof and the code.

    :param a: M × K elements, of float32, float64, bfloat16 or int8; with ``transpose_a``, K × M.
    :param b: K × N elements of the same type; with ``transpose_b``, N × K.
    :param bias: N elements of the result's type, which are added to each row.
    :param activation: ``"relu"`` or ``"clip"`` (at 0 and 6); NaN stays NaN.
    :param out: where the result is written to: M × N contiguous elements, no memory of an operand.
    :param threads: how many threads take part at most; all that the process may use unless given.
    :returns: M × N elements: float32 for bfloat16, int32 (wrapping) for int8, else the operands' type.
    :raises TypeError: for something else than arrays of these types.
    :raises ValueError: if shapes do not fit each other, or ``out`` is not as it must be.

    A transposed view (``x.T``) is taken as it is.  Operands whose elements lie otherwise are copied first.
    """
    try:
        key = (a.shape, a.strides, a.dtype, b.shape, b.strides, b.dtype, transpose_a, transpose_b, activation, threads)
        call = _CALLS.get(key) if bias is None else None
    except (AttributeError, TypeError):  # they are not arrays, which is said below
        call = None
    if call is None or type(a) is not np.ndarray or type(b) is not np.ndarray or type(out) not in _OUT:
        return _checked(a, b, bias, transpose_a, transpose_b, activation, out, threads)
    if type(transpose_a) is not bool or type(transpose_b) is not bool or type(threads) not in _THREADS:  # 1.0 == 1
        return _checked(a, b, bias, transpose_a, transpose_b, activation, out, threads)
    result = np.empty(call.shape, call.dtype) if out is None else out
    try:
        call.function(a.T if call.flip_a else a, b.T if call.flip_b else b, result)
    except (TypeError, ValueError):  # said again, in the words of this function
        return _checked(a, b, bias, transpose_a, transpose_b, activation, out, threads)
    return result


def _checked(
    a: Any, b: Any, bias: Any, transpose_a: bool, transpose_b: bool, activation: str | None, out: Any,
    threads: int | None,
) -> Array:  # fmt: skip
    for name, value in (("transpose_a", transpose_a), ("transpose_b", transpose_b)):
        if not isinstance(value, bool):
            raise TypeError(f"gemm: {name} is True or False, not {value!r}")
    _known(activation)
    given = [_as_it_lies(name, x) for name, x in (("a", a), ("b", b))]
    (a_lies, flip_a), (b_lies, flip_b) = given
    rows, depth = a.shape[::-1] if transpose_a else a.shape
    met, columns = b.shape[::-1] if transpose_b else b.shape
    if a.dtype != b.dtype:
        raise TypeError(f"gemm: a is an array of {a.dtype.name}, and b one of {b.dtype.name}; convert one of them")
    if depth != met:
        shapes = f"shapes {a.shape}{' transposed' * transpose_a} and {b.shape}{' transposed' * transpose_b}"
        raise ValueError(f"gemm: {shapes} cannot be multiplied: {depth} columns meet {met} rows")
    dtype = np.dtype(RESULTS[a.dtype.name])
    added = [] if bias is None else [operand("gemm", "bias", bias, rank=1, dtypes=(dtype.name,))]
    if added and added[0].shape != (columns,):
        raise ValueError(f"gemm: bias has shape {added[0].shape}; the result has {columns} columns")
    kernel = gemm_kernel(
        rows, columns, depth, a.dtype.name, transpose_a=transpose_a ^ flip_a, transpose_b=transpose_b ^ flip_b,
        bias=bool(added), activation=activation, target=machine(threads),
    )  # fmt: skip
    result = destination("gemm", out, (rows, columns), dtype, (a, b, *added))
    kernel.function(a_lies, b_lies, *added, result)
    if not added and all(np.may_share_memory(x, y) for x, y in ((a, a_lies), (b, b_lies))) and len(_CALLS) < 4096:
        key = (a.shape, a.strides, a.dtype, b.shape, b.strides, b.dtype, transpose_a, transpose_b, activation, threads)
        _CALLS[key] = _Call(kernel.function, flip_a, flip_b, (rows, columns), dtype)
    return result


_OUT: Final = (type(None), np.ndarray)
_THREADS: Final = (type(None), int)


def _as_it_lies(name: str, value: Any) -> tuple[Array, bool]:
    """A matrix as it lies in memory, and whether that is its transpose; a copy if neither is contiguous."""
    turned = isinstance(value, np.ndarray) and value.ndim == 2 and value.flags.f_contiguous
    if turned and not value.flags.c_contiguous:
        return operand("gemm", name, value.T, rank=2, dtypes=tuple(RESULTS)), True
    return operand("gemm", name, value, rank=2, dtypes=tuple(RESULTS)), False
