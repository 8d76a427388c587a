"""What TVM's machine code computes for the calls that proofs interpret is what the semantics says, bit for bit."""

from __future__ import annotations

import pytest

pytest.importorskip("tvm")

import numpy as np
import tvm

from verified_tir.fuzz.targets.tvm_checks import HEAD
from verified_tir.ir.calls import PURE_CALLS
from verified_tir.ir.dtype import DType
from verified_tir.ir.floats import numpy_dtype
from verified_tir.ir.script import parse_func
from verified_tir.semantics.interpreter import run
from verified_tir.semantics.interpreter.outcome import same_bits
from verified_tir.testing.dtypes import special_patterns

EXACT = [op for op in PURE_CALLS if op in ("sqrt", "abs", "floor", "ceil", "trunc", "nearbyint", "round")]
TESTS = ("isnan", "isinf", "isfinite")
FLOATS, INTEGERS = ("float32", "float64"), ("int32", "int64", "uint8", "uint32")


def values(dtype: str) -> np.ndarray:
    """The awkward ones, and halves."""
    kind = DType.parse(dtype)
    found = np.array(special_patterns(kind), f"uint{kind.bits}").view(numpy_dtype(kind))
    return np.concatenate([found, (np.arange(-21, 22) / 2).astype(dtype)]) if kind.is_float else found


def machine_and_interpreter(value: str, dtype: str, result: str) -> None:
    given = values(dtype)
    n = len(given)
    text = f"""
@T.prim_func(s_tir=True)
def f(A: T.Buffer(({n},), "{dtype}"), B: T.Buffer(({n},), "{result}")):
    for i in range({n}):
        B[i] = {value}
"""
    ours = run(parse_func(text), {"A": given, "B": np.zeros(n, result)}).arrays["B"]
    code = tvm.compile(
        tvm.IRModule({"f": tvm.script.from_source(HEAD + text.strip()).with_attr("global_symbol", "f")}), target="llvm"
    )
    theirs = tvm.runtime.tensor(np.zeros(n, result))
    code["f"](tvm.runtime.tensor(given.copy()), theirs)
    found = theirs.numpy()
    same = same_bits(ours, found)
    assert same.all(), [(given[k], ours[k], found[k]) for k in np.flatnonzero(~same)[:4]]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", EXACT)
def test_functions_that_are_exact(op: str, dtype: str) -> None:
    machine_and_interpreter(f"T.{op}(A[i])", dtype, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", TESTS)
def test_questions(op: str, dtype: str) -> None:
    machine_and_interpreter(f"T.Select(T.{op}(A[i]), 1, 2)", dtype, "int32")


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("value", ["T.bitwise_not(A[i])", "T.popcount(A[i])", "T.max(A[i], A[0])", "T.min(A[i], A[2])"])
def test_integers(value: str, dtype: str) -> None:
    machine_and_interpreter(value, dtype, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("value", ["T.max(A[i], A[0])", "T.min(A[i], A[1])", "T.max(A[0], A[i])", "T.min(A[1], A[i])"])
def test_the_greater_and_the_lesser(value: str, dtype: str) -> None:
    machine_and_interpreter(value, dtype, dtype)


@pytest.mark.parametrize("half", [0.5, 1.5, 2.5, -0.5, -2.5])
def test_what_tvm_folds_is_what_it_computes(half: float) -> None:
    text = f"""
@T.prim_func(s_tir=True)
def f(B: T.Buffer((1,), "float32")):
    B[0] = T.round(T.float32({half}))
"""
    ours = run(parse_func(text), {"B": np.zeros(1, "float32")}).arrays["B"]
    folded = tvm.script.from_source(HEAD + text.strip()).body.value.value
    assert folded == ours[0] == np.round(half)
