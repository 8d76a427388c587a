"""Arrays: of any bits, with the awkward values in good proportion, and cheap to draw.

An array is a *pattern* (1, 2, 3, …; small integers; any bits at all; …) in which a few elements are then replaced by
drawn ones.  So an array of a thousand elements takes a dozen draws, and it shrinks to 1, 2, 3, … with the one
element that matters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from verified_tir.ir.dtype import DType
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.testing.drawing import Picker
from verified_tir.testing.dtypes import special_patterns

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

PATTERNS = ("count", "small", "specials", "bits", "fractions", "same")
"""1, 2, 3, …; integers from −4 to 9; special values; any bits; floats between −1 and 1; one value throughout."""


def arrays(
    dtype: DType | str, shape: int | Sequence[int], *, low: int | None = None, high: int | None = None
) -> SearchStrategy[Array]:
    """Arrays of a type (lanes become one more axis, the last) and a shape.

    :param low: for integers: the least value.
    :param high: for integers: the greatest value; with both bounds, all values are in between.
    :raises ValueError: if only one bound is given, or the type is none of integers.
    """
    dtype = DType.parse(dtype)
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    if (low is None) != (high is None) or (low is not None and not dtype.is_int):
        raise ValueError("low and high go together, and are for integers")
    bounds = None if low is None or high is None else (low, high)
    return _arrays(dtype, extents if dtype.lanes == 1 else (*extents, dtype.lanes), bounds)


def masks(shape: int | Sequence[int]) -> SearchStrategy[Mask]:
    """Which elements of an array are defined (or accessible): mostly all of them, or all but a few."""
    return _masks((shape,) if isinstance(shape, int) else tuple(shape))


@st.composite
def _arrays(draw: DrawFn, dtype: DType, shape: tuple[int, ...], bounds: tuple[int, int] | None) -> Array:
    return array(Picker(draw), dtype, shape, bounds)


def array(pick: Picker, dtype: DType, shape: tuple[int, ...], bounds: tuple[int, int] | None = None) -> Array:
    """An array of a type (its lanes are in the shape already)."""
    scalar, size = dtype.scalar, math.prod(shape)
    if size == 0:
        return np.zeros(shape, numpy_dtype(scalar))
    if bounds is not None:
        return _within(pick, scalar, shape, *bounds)
    made = _pattern(pick, scalar, size)
    bits = made.view(f"uint{max(8, scalar.bits)}")
    patterns = special_patterns(scalar)
    while pick.rarely(3):
        bits[pick.integer(0, size - 1)] = patterns[pick.integer(0, len(patterns) - 1)]
    return made.reshape(shape)


def _within(pick: Picker, scalar: DType, shape: tuple[int, ...], low: int, high: int) -> Array:
    """Integers between two bounds: one after the other, any, or all the same."""
    size = math.prod(shape)
    match pick.one("count", "any", "same"):
        case "count":
            values = low + np.arange(size, dtype=np.int64) % (high - low + 1)
        case "any":
            values = np.random.default_rng(pick.integer(0, 1 << 16)).integers(low, high + 1, size)
        case _:
            values = np.full(size, pick.integer(low, high))
    return values.astype(numpy_dtype(scalar)).reshape(shape)


def _pattern(pick: Picker, scalar: DType, size: int) -> Array:
    """A flat array after one of the patterns."""
    target = numpy_dtype(scalar)
    kind = pick.one(*PATTERNS)
    if kind == "count":
        return _cast(np.arange(1, size + 1), target) if not scalar.is_bool else (np.arange(size) % 2 == 0)
    patterns = special_patterns(scalar)
    if kind == "same":
        bits = np.full(size, patterns[pick.integer(0, len(patterns) - 1)], dtype=f"uint{max(8, scalar.bits)}")
        return bits.view(target)
    source = np.random.default_rng(pick.integer(0, 1 << 16))
    if scalar.is_bool:
        return source.integers(0, 2, size).astype(np.bool_)
    match kind:
        case "small":
            return _cast(source.integers(-4 if scalar.code != "uint" else 0, 10, size), target)
        case "fractions" if scalar.is_float:
            return _cast(source.uniform(-1, 1, size), target)
        case "specials":
            chosen = np.array(patterns, dtype=np.uint64)[source.integers(0, len(patterns), size)]
            return chosen.astype(f"uint{scalar.bits}").view(target)
    return np.frombuffer(source.bytes(size * scalar.nbytes), dtype=target).copy()


def _cast(values: npt.NDArray[Any], target: np.dtype[Any]) -> Array:
    with np.errstate(all="ignore"):
        return values.astype(target)


@st.composite
def _masks(draw: DrawFn, shape: tuple[int, ...]) -> Mask:
    pick = Picker(draw)
    made = np.ones(shape, dtype=np.bool_)
    flat = made.reshape(-1)
    match pick.one("all", "all", "few", "any"):
        case "few":
            while flat.size and pick.flip():
                flat[pick.integer(0, flat.size - 1)] = False
        case "any":
            flat[:] = np.random.default_rng(pick.integer(0, 1 << 16)).integers(0, 2, flat.size).astype(np.bool_)
    return made


def array_of(dtype: str, values: Any, strides: Sequence[int] | None = None) -> Array:
    """An array of a type.

    :param values: nested lists of numbers; or the bytes of the elements in hexadecimal, behind the shape:
        ``((2, 2), "0000803f…")``.
    :param strides: in bytes, none of them negative; those of a compact array unless given.
    """
    kind = numpy_dtype(DType.parse(dtype))
    if isinstance(values, tuple):
        shape, text = values
        made: Array = np.frombuffer(bytearray.fromhex(text), kind).reshape(shape)
    else:
        made = np.array(values, kind)
    return made if strides is None else strided_copy(made, strides)


def strided_copy(array: Array, strides: Sequence[int] | None = None) -> Array:
    """A copy of an array with its own strides, or those given, none of them negative."""
    wanted = tuple(array.strides if strides is None else strides)
    if not array.size:
        return array.copy()
    span = sum((n - 1) * s for n, s in zip(array.shape, wanted, strict=True)) + array.itemsize
    first = np.zeros(span, np.uint8)[: array.itemsize].view(array.dtype)
    placed: Array = np.lib.stride_tricks.as_strided(first, array.shape, wanted)
    placed[...] = array
    return placed
