"""Concrete inputs of several kinds, to find a difference with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Var
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.validate.interface import Parameter

Array = npt.NDArray[Any]
KINDS: Final = ("small", "special", "bits", "halves", "zeros")
_SPECIAL: Final = (np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -1.5, 1e-45, 3e38, 6e4, 0.1, 2.5)


def inputs(params: Sequence[Parameter], values: Mapping[Var, int], most: int) -> Iterator[dict[str, Any]]:
    """Arguments for the interpreter by name: arrays, and numbers; the same ones each time."""
    for seed in range(most):
        rng = np.random.default_rng(seed)
        kind = KINDS[seed % len(KINDS)]
        found: dict[str, Any] = {v.name: n for v, n in values.items()}
        for p in params:
            if p.buffer is not None:
                lanes = p.buffer.dtype.lanes
                shape = p.shape if lanes == 1 else (*p.shape, lanes)
                found[p.buffer.name] = np.asarray(contents(p.buffer.dtype.scalar, shape, kind, rng))
            elif p.var not in values:
                found[p.var.name] = contents(p.var.dtype, (1,), kind, rng)[0].item()
        yield found


def contents(dtype: DType, shape: tuple[int, ...], kind: str, rng: np.random.Generator) -> Array:
    """An array of a kind: small numbers, awkward ones, any bits.  Without dimensions, it may be a number of numpy's."""
    target = numpy_dtype(dtype)
    if dtype.is_bool:
        return (rng.random(shape) < 0.5).astype(target)
    if kind == "zeros":
        return np.zeros(shape, dtype=target)
    if dtype.is_int and kind == "special":
        ends = (dtype.min_value, dtype.max_value, 0, 1 if dtype.code == "uint" else -1)
        return rng.choice(np.array(ends, dtype=target), shape)
    if kind == "bits":
        raw = rng.integers(0, 2**dtype.bits - 1, shape, dtype=np.uint64, endpoint=True).astype(f"uint{dtype.bits}")
        return raw.view(target)
    with np.errstate(all="ignore"):
        if dtype.is_float and kind == "special":
            return rng.choice(np.array(_SPECIAL), shape).astype(target)
        if dtype.is_float and kind == "halves":
            return (rng.standard_normal(shape) * 4).astype(target)
        least = 0 if dtype.code == "uint" else -4
        return rng.integers(least, 5, shape).astype(target)
