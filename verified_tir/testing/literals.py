"""Arguments as Python source, for tests that are written by a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from verified_tir.ir.dtype import DType
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.ir.script import parse_func, script
from verified_tir.testing.trees import tree_text

Array = npt.NDArray[Any]
_MANY = 24


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


def argument_text(value: object) -> str:
    """The source of an array, with ``array_of``, or of a number, with ``inf`` and ``nan`` for floats."""
    if not isinstance(value, np.ndarray):
        return repr(value)
    dtype = "bool" if value.dtype == np.bool_ else str(value.dtype)
    compact = np.ascontiguousarray(value).reshape(value.shape)
    plain = 0 < value.size <= _MANY and not (value.dtype.kind not in "iub" and np.isnan(value.astype(np.float64)).any())
    shown = repr(compact.tolist()) if plain else f'({value.shape!r}, "{compact.tobytes().hex()}")'
    strides = "" if value.strides == compact.strides or not value.size else f", strides={value.strides!r}"
    return f'array_of("{dtype}", {shown}{strides})'


def arguments_text(arguments: Mapping[str, Any], indent: str = "    ") -> str:
    """The source of arguments by name, a dict over several lines."""
    lines = [f"{indent}    {name!r}: {argument_text(value)}," for name, value in arguments.items()]
    return "\n".join(["{", *lines, indent + "}"])


def program_text(func: PrimFunc) -> str:
    """The source of a function: its text to be parsed, or, if that does not mean the same, its tree."""
    try:
        text = script(func)
        same = structural_equal(parse_func(text), func)
    except Exception:
        same = False
    quotes = "'" * 3
    if same and quotes not in text and "\\" not in text:
        return f"parse_func({quotes}\n{text}\n{quotes})"
    return f"from_tree({tree_text(func)})"


def needs_names(source: str) -> str:
    """The imports of ``inf`` and ``nan`` that a source needs."""
    names = [n for n in ("inf", "nan") if any(part in source for part in (f" {n}", f"[{n}", f"-{n}"))]
    return f"from math import {', '.join(names)}\n" if names else ""
