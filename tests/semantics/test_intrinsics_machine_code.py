"""Machine code and the package's own evaluators compute the same bits, on random bit patterns and corner cases."""

from __future__ import annotations

import numpy as np
import pytest

from tests.semantics.oracles import FLOATS
from verified_tir import Schedule, build
from verified_tir.ir.calls import PURE_CALLS
from verified_tir.ir.dtype import DType
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.semantics.intrinsics import EXPANDED, array_operation

OPS = sorted(EXPANDED)
SIZE = 4096


def program(dtype: DType, lanes: int) -> str:
    """One buffer for each function, filled by loops whose inner one is a vector."""
    results = "".join(f', R_{op}: T.Buffer(({SIZE},), "{dtype}")' for op in OPS)
    lines = ["@T.prim_func", f'def f(X: T.Buffer(({SIZE},), "{dtype}"), Y: T.Buffer(({SIZE},), "{dtype}"){results}):']
    for op in OPS:
        at = f"i * {lanes} + j"
        args = f"X[{at}], Y[{at}]" if PURE_CALLS[op].arity == 2 else f"X[{at}]"
        lines += [
            f"    for i in range({SIZE // lanes}):",
            f"        for j in T.vectorized({lanes}):",
            f"            R_{op}[{at}] = T.{op}({args})",
        ]
    return "\n".join(lines)


def arguments(dtype: DType, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    integers = np.dtype(f"uint{dtype.bits}")
    patterns = random.integers(0, np.iinfo(integers).max, SIZE // 2, dtype=integers, endpoint=True)
    moderate = random.normal(size=SIZE // 2) * 2.0 ** random.integers(-8, 8, SIZE // 2)
    corners = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        np.inf,
        -np.inf,
        np.nan,
        0.5,
        2.0,
        -2.0,
        3.0,
        88.7,
        -87.5,
        -103.5,
        0.65,
        1e-40,
        5e-324,
    ]
    moderate[: len(corners)] = corners
    both = np.concatenate([patterns.view(numpy_dtype(dtype)), moderate.astype(numpy_dtype(dtype))])
    return random.permutation(both)


@pytest.mark.sample(1)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_machine_code_computes_the_expansion(dtype: DType) -> None:
    compiled = build(Schedule(program(dtype, 8)))
    with np.errstate(all="ignore"):
        x, y = arguments(dtype, 1), arguments(dtype, 2)
        found = {op: np.zeros_like(x) for op in OPS}
        compiled(x, y, *found.values())
        for op, result in found.items():
            wanted = array_operation(op, dtype)(*((x, y) if PURE_CALLS[op].arity == 2 else (x,)))
            bits = np.dtype(f"int{dtype.bits}")
            same = (result.view(bits) == wanted.view(bits)) | (np.isnan(result) & np.isnan(wanted))
            assert same.all(), (op, x[~same][:3], y[~same][:3], result[~same][:3], wanted[~same][:3])
