"""Inputs on which a counterexample is replayed: sizes, contents, and repairs where the program assumes something.

Sizes come from the solver's model first, then small ones.  Contents go from readable to nasty: small distinct numbers,
values that float shortcuts get wrong (-0.0, NaN, infinities), constants, values far apart, seeded random draws.  Where
a run violates an assumption about one element of an argument, another value is looked for with which it holds.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from verified_tir.index.evaluate import evaluate
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Expr, FloatImm, IntImm, Load, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.ir.paths import at
from verified_tir.ir.stmt import Assume, For, LetStmt
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import free_vars, nodes_of, substitute, walk
from verified_tir.semantics.interpreter import ArgumentError, Stopped, UndefinedBehaviour, run
from verified_tir.semantics.interpreter.arguments import elements
from verified_tir.semantics.memory import Extents

Array: TypeAlias = npt.NDArray[Any]
Sizes: TypeAlias = Mapping[str, Any]
"""Scalar parameters and shape symbols by name."""

ELEMENTS = 1 << 20
"""How many elements an argument of a replay may have."""
SIZES = 60
"""How many choices of sizes are tried."""
SQUARE = 1 << 16
"""The least extent whose square overflows an int32."""
DRAWS = 6
"""How many random contents are tried at each size."""


# -- sizes -------------------------------------------------------------------------------------------------------------


def symbols(func: PrimFunc) -> list[Var]:
    """Scalar parameters and shape symbols."""
    found = [p for p in func.params if func.buffer_of(p) is None]
    for b in func.buffers:
        for e in (*b.shape, *b.strides, b.elem_offset):
            found.extend(v for v in free_vars(e) if v not in found)
    return found


def choices(func: PrimFunc, model: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    """Sizes to try: the model's, the same with large ones cut down, and small ones, the likeliest first."""
    wanted = symbols(func)
    if not wanted:
        yield {}
        return
    in_shapes = {v for b in func.buffers for e in b.shape for v in free_vars(e)}
    ladders = [_ladder(v.dtype, v in in_shapes) for v in wanted]
    given = {v.name: model.get(v.name, ladder[3 % len(ladder)]) if v.dtype.is_int else ladder[0]
             for v, ladder in zip(wanted, ladders, strict=True)}  # fmt: skip
    tried: list[dict[str, Any]] = []
    cut_down = {name: min(x, SQUARE) for name, x in given.items()}
    ranks = sorted(itertools.product(*(range(len(x)) for x in ladders)), key=lambda t: (sum(t), t))[:SIZES]
    small = [{v.name: x[k] for v, x, k in zip(wanted, ladders, t, strict=True)} for t in ranks]
    for sizes in (given, cut_down, *small):
        if sizes not in tried:
            tried.append(sizes)
            yield sizes


def _ladder(dtype: DType, in_shape: bool) -> tuple[Any, ...]:
    if dtype.is_float:
        return (1.5, -0.0, 3.0, float("nan"), 0.0, float("inf"), -2.0)
    if dtype.is_bool:
        return (True, False)
    return (3, 1, 0, 5, 2, 8, 16) if in_shape else (3, 1, 0, 5, -1, 2, 8, -3, 100)


def shapes(func: PrimFunc, sizes: Sizes) -> dict[str, tuple[int, ...]] | None:
    """The shapes of the arguments; ``None`` if there are no such arrays, or too large ones."""
    extents = extents_of(func, sizes)
    if extents is None:
        return None
    for b in func.buffers:
        dims = extents[b.name]
        if prod(dims) > ELEMENTS or b.dtype.nbytes * prod(max(d, 1) for d in dims) >= 1 << 62:
            return None
        if b.strides:
            try:
                *strides, offset = _numbers(func, (*b.strides, b.elem_offset), sizes)
                elements(b.name, Extents(dims, tuple(strides), offset))
            except (IRError, ArgumentError):  # no caller can pass an array whose elements are one
                return None
    return {b.name: with_lanes(b, extents[b.name]) for b in func.buffers}


def extents_of(func: PrimFunc, sizes: Sizes) -> dict[str, tuple[int, ...]] | None:
    """The extents of the arguments; ``None`` if there are no such arrays."""
    try:
        found = {b.name: _numbers(func, b.shape, sizes) for b in func.buffers}
    except IRError:
        return None
    return None if any(d < 0 for dims in found.values() for d in dims) else found


def with_lanes(buffer: Buffer, extents: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of an array that holds a buffer's elements: the lanes of a vector are one more axis."""
    return extents if buffer.dtype.lanes == 1 else (*extents, buffer.dtype.lanes)


def _numbers(func: PrimFunc, exprs: Iterable[Expr], sizes: Sizes) -> tuple[int, ...]:
    values = {v: sizes[v.name] for v in symbols(func) if v.dtype.is_int and v.name in sizes}
    return tuple(e.value if isinstance(e, IntImm) else int(evaluate([e], values)[0]) for e in exprs)


# -- contents ----------------------------------------------------------------------------------------------------------


def different(dtype: DType, number: int, at: Any) -> Any:
    """Small different numbers, from which indices can be told, for elements (an integer, or an array of integers)."""
    return (at + number) % 2 if dtype.is_bool else at % 89 + number + 1


def contents(func: PrimFunc, of: Mapping[str, tuple[int, ...]]) -> Iterator[dict[str, Array]]:
    """Arrays for the parameters, from readable to nasty."""
    buffers = func.buffers

    def each(fill: Any) -> dict[str, Array]:
        return {b.name: fill(k, b, int(np.prod(of[b.name], dtype=np.int64))) for k, b in enumerate(buffers)}

    def shaped(flat: Any, b: Buffer) -> Array:
        with np.errstate(all="ignore"):
            made: Array = np.asarray(flat).astype(numpy_dtype(b.dtype.scalar)).reshape(of[b.name])
        return made

    def simple(k: int, b: Buffer, n: int) -> Array:
        return shaped(different(b.dtype, k, np.arange(n)), b)

    yield each(simple)
    specials = np.array([-0.0, 1.0, np.nan, -0.0, np.inf, 3.0, 0.0, -np.inf, -2.5, 1e38])
    yield each(lambda k, b, n: shaped(specials[(np.arange(n) + k) % 10] if b.dtype.is_float else np.arange(n) % 3, b))
    yield each(lambda k, b, n: shaped(np.full(n, -0.0 if b.dtype.is_float else 1), b))
    yield each(lambda k, b, n: shaped(np.full(n, np.inf if b.dtype.is_float else -1), b))
    yield each(lambda k, b, n: shaped(np.full(n, np.nan if b.dtype.is_float else 0), b))
    yield each(lambda k, b, n: shaped(np.zeros(n), b))
    for odd in (0, 1):  # a small value beside one that is too large or too small for most indices
        for far in (97, -97):
            yield each(lambda k, b, n, odd=odd, far=far: shaped((np.arange(n) + odd) % 2 * far, b))
    for end in ("min_value", "max_value"):
        yield each(lambda k, b, n, end=end: shaped(np.full(n, getattr(b.dtype.scalar, end)), b)
                   if b.dtype.is_int else simple(k, b, n))  # fmt: skip
    rng = np.random.default_rng(0)
    for draw in range(DRAWS):
        yield each(lambda k, b, n, draw=draw: shaped(_random(rng, b.dtype, n, special=draw % 2 == 1), b))


def draw(func: PrimFunc, of: Mapping[str, tuple[int, ...]], rng: np.random.Generator) -> dict[str, Array]:
    """Arrays drawn at random: each buffer small or large, plain or special, or near the program's own constants."""
    named = sorted({float(n.value) for n in walk(func.body) if isinstance(n, (IntImm, FloatImm))} & _NEAR)
    made = {}
    for b in func.buffers:
        dtype, n = b.dtype.scalar, int(np.prod(of[b.name], dtype=np.int64))
        match int(rng.integers(0, 6)):
            case 0 if named:
                flat = rng.choice(named, n) + rng.integers(-1, 2, n)
            case 1:
                flat = rng.integers(0, 2, n)
            case 2 if not dtype.is_bool:
                flat = rng.integers(-100, 100, n)
            case kind:
                flat = _random(rng, dtype, n, special=kind == 3)
        with np.errstate(all="ignore"):
            made[b.name] = np.asarray(flat).astype(np.int64 if dtype.is_int else np.float64)
            made[b.name] = made[b.name].astype(numpy_dtype(dtype)).reshape(of[b.name])
    return made


_NEAR = frozenset(float(k) for k in range(-128, 129)) | {0.5, -0.5}
"""Constants worth being near to: larger ones are extents and bounds."""


def _random(rng: np.random.Generator, dtype: DType, n: int, special: bool) -> Array:
    if dtype.is_bool:
        return rng.integers(0, 2, n)
    if dtype.is_float and special:
        return rng.choice([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0], n)
    if dtype.is_float:
        return rng.standard_normal(n) * 10.0 ** rng.integers(-3, 4, n)
    return rng.integers(0 if dtype.code == "uint" else -3, 12, n)


# -- assumptions -------------------------------------------------------------------------------------------------------


def repair(
    func: PrimFunc,
    arrays: dict[str, Array],
    scalars: Sizes,
    violation: UndefinedBehaviour,
    rng: np.random.Generator,
) -> bool:
    """Change an element of an argument so that a violated assumption about it holds; tells whether that was possible.

    Which value is taken among several that would do is drawn, so that indices read from memory differ.
    """
    place = violation.place or ()
    stmt = at(func.body, place)
    if not isinstance(stmt, Assume):
        return False
    values: dict[Var, Any] = {p: scalars[p.name] for p in symbols(func) if p.name in scalars and p.dtype.is_int}
    for step in range(len(place)):
        match at(func.body, place[:step]):
            case For(var=v) if v.name in violation.iteration:
                values[v] = violation.iteration[v.name]
            case LetStmt():
                return False
    condition = substitute(stmt.condition, {v: const(int(x), v.dtype) for v, x in values.items()})
    loads = [n for n in nodes_of(condition, Load) if n.buffer in func.buffers]
    for load in loads:
        try:
            where = tuple(int(i) for i in evaluate(list(load.indices), values))
            old = arrays[load.buffer.name][where]
        except (IRError, IndexError):
            continue
        for value in _candidates(condition, load.buffer.dtype, rng):
            arrays[load.buffer.name][where] = value
            if _holds(func, condition, arrays, scalars):
                return True
        arrays[load.buffer.name][where] = old
    return False


def _candidates(condition: Expr, dtype: DType, rng: np.random.Generator) -> list[Any]:
    """Values for one element: the constants of the condition and their neighbours last, small numbers first."""
    named = [n.value for n in walk(condition) if isinstance(n, (IntImm, FloatImm))]
    if dtype.is_float:
        return [*named, *(-x for x in named), 0.0, 1.0, -1.0, 0.5, *(x + 1 for x in named), *(x - 1 for x in named)]
    low, high = max(dtype.min_value, -64), min(dtype.max_value, 64)
    small = [int(x) for x in rng.permutation(np.arange(0, 12))]
    near = [int(x) + d for x in named for d in (0, -1, 1)]
    return [x for x in (*small, *near, *range(low, high)) if dtype.min_value <= x <= dtype.max_value]


def _holds(func: PrimFunc, condition: Expr, arrays: Mapping[str, Array], scalars: Sizes) -> bool:
    """Whether a condition about the arguments holds at entry."""
    try:
        run(func.with_body(Assume(condition)), {**arrays, **scalars})
    except (Stopped, ValueError, OverflowError):
        return False
    return True
