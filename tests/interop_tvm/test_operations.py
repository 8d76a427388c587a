"""What TVM's machine code computes where proofs interpret an operation is what the semantics says, bit for bit.

Where it does not, docs/tvm-findings.md says so (section *Floats*).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

pytest.importorskip("tvm")

import tvm

from tests.fuzz.targets.tvm_outcome import HEAD
from verified_tir.ir.dtype import DType
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.ir.script import parse_func
from verified_tir.semantics.interpreter import run
from verified_tir.semantics.interpreter.outcome import same_bits
from verified_tir.testing.dtypes import special_patterns

Array = npt.NDArray[Any]
INTEGERS, FLOATS = ("int8", "int32", "int64", "uint8", "uint32"), ("float16", "bfloat16", "float32", "float64")
COMPARISONS = ("<", "<=", "==", ">=", ">")
WHOLE = ("sqrt", "abs", "floor", "ceil", "trunc", "nearbyint", "round")


def values(dtype: str) -> Array:
    """The awkward ones, and halves."""
    kind = DType.parse(dtype)
    found = np.array(special_patterns(kind), f"uint{kind.bits}").view(numpy_dtype(kind))
    halves = (np.arange(-9, 10) / 2).astype(numpy_dtype(kind))
    return np.concatenate([found, halves]) if kind.is_float else found


def pairs(dtype: str) -> tuple[Array, Array]:
    """Every value with every value."""
    a, b = np.meshgrid(values(dtype), values(dtype))
    return a.reshape(-1).copy(), b.reshape(-1).copy()


def wrong(dtype: str, wanted: Mapping[str, str], a: Array, b: Array) -> list[str]:
    """Which of some expressions of ``A[i]`` and ``B[i]``, each with the type of its value, come out otherwise."""
    n = len(a)
    buffers = "".join(f', C{k}: T.Buffer(({n},), "{result}")' for k, result in enumerate(wanted.values()))
    stores = "\n".join(f"        C{k}[i] = {value}" for k, value in enumerate(wanted))
    text = f"""
@T.prim_func(s_tir=True)
def f(A: T.Buffer(({n},), "{dtype}"), B: T.Buffer(({n},), "{dtype}"){buffers}):
    for i in range({n}):
{stores}
"""
    arrays = {"A": a, "B": b}
    arrays |= {f"C{k}": np.zeros(n, numpy_dtype(DType.parse(result))) for k, result in enumerate(wanted.values())}
    ours = run(parse_func(text), arrays)
    func = tvm.script.from_source(HEAD + text.strip()).with_attr("global_symbol", "f")
    theirs = [tvm.runtime.tensor(array.copy()) for array in arrays.values()]
    tvm.compile(tvm.IRModule({"f": func}), target="llvm")["f"](*theirs)
    found = []
    for k, value in enumerate(wanted):
        want, have = ours.arrays[f"C{k}"], theirs[2 + k].numpy().view(arrays[f"C{k}"].dtype)
        bad = np.flatnonzero(ours.defined[f"C{k}"] & ~same_bits(want, have))
        found += [f"{value}: {a[j]}, {b[j]}: {want[j]}, not {have[j]}" for j in bad[:2]]
    return found


@pytest.mark.nightly
@pytest.mark.sample(1)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_operators_of_integers(dtype: str) -> None:
    same = [f"A[i] {op} B[i]" for op in "+-*&|^"] + [f"T.{op}(A[i], B[i])" for op in ("max", "min")]
    same += ["T.bitwise_not(A[i])", "T.popcount(A[i])", "T.abs(A[i])"]
    assert wrong(dtype, dict.fromkeys(same, dtype) | {f"A[i] {op} B[i]": "bool" for op in (*COMPARISONS, "!=")},
                 *pairs(dtype)) == []  # fmt: skip


@pytest.mark.nightly
@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_divisions_and_shifts(dtype: str) -> None:
    a, b = pairs(dtype)
    divides = (b != 0) & (b.astype(object) != -1)
    words = ("A[i] // B[i]", "A[i] % B[i]", "T.truncdiv(A[i], B[i])", "T.truncmod(A[i], B[i])")
    assert wrong(dtype, dict.fromkeys(words, dtype), a[divides], b[divides]) == []
    shifts = (b.astype(object) >= 0) & (b.astype(object) < DType.parse(dtype).bits)
    assert wrong(dtype, dict.fromkeys(("A[i] << B[i]", "A[i] >> B[i]"), dtype), a[shifts], b[shifts]) == []


@pytest.mark.nightly
@pytest.mark.sample(1)
@pytest.mark.parametrize("dtype", FLOATS)
def test_operators_of_floats(dtype: str) -> None:
    same = [f"A[i] {op} B[i]" for op in "+-*/"] + [f"T.{op}(A[i], B[i])" for op in ("max", "min")]
    assert wrong(dtype, dict.fromkeys(same, dtype) | {f"A[i] {op} B[i]": "bool" for op in COMPARISONS},
                 *pairs(dtype)) == []  # fmt: skip
    assert wrong(dtype, {f"T.{op}(A[i])": dtype for op in WHOLE}, values(dtype), values(dtype)) == []


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_questions_about_floats(dtype: str) -> None:
    asked = {f"T.{op}(A[i])": "bool" for op in ("isnan", "isinf", "isfinite")}
    assert wrong(dtype, asked, values(dtype), values(dtype)) == []


@pytest.mark.nightly
@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
def test_casts(dtype: str) -> None:
    targets = [t for t in (*INTEGERS, *FLOATS, "bool") if t != dtype and (t != "bfloat16" or dtype not in FLOATS)]
    assert wrong(dtype, {f'T.Cast("{t}", A[i])': t for t in targets}, values(dtype), values(dtype)) == []


@pytest.mark.nightly
@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", FLOATS)
def test_no_nan_differs_from_anything(dtype: str) -> None:
    """TVM's answer is false; the neighbour, where neither is NaN, is right."""
    a, b = pairs(dtype)
    with np.errstate(invalid="ignore"):  # comparisons of bfloat16 warn of NaNs
        known = (a == a) & (b == b)
    differs = {"A[i] != B[i]": "bool", "not A[i] == B[i]": "bool"}
    assert wrong(dtype, differs, a[known], b[known]) == []
    found = wrong(dtype, differs, a, b)
    assert [text.partition(": ")[0] for text in found] == [e for e in differs for _ in range(2)]
    assert all("nan" in text and text.endswith("True, not False") for text in found)


@pytest.mark.nightly
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_nan_that_becomes_another_number(dtype: str) -> None:
    cast, given = {'T.Cast("bfloat16", A[i])': "bfloat16"}, values(dtype)
    known = given[~np.isnan(given)]
    assert wrong(dtype, cast, known, known) == []
    assert all(": nan, nan: nan, not " in text for text in wrong(dtype, cast, given, given))
    assert wrong(dtype, cast, given, given) != []


@pytest.mark.parametrize("half", [0.5, 1.5, 2.5, -0.5, -2.5])
def test_halves_that_tvm_folds(half: float) -> None:
    text = f"""
@T.prim_func(s_tir=True)
def f(B: T.Buffer((1,), "float32")):
    B[0] = T.round(T.float32({half}))
"""
    ours = run(parse_func(text), {"B": np.zeros(1, "float32")}).arrays["B"]
    folded = tvm.script.from_source(HEAD + text.strip()).body.value.value
    assert folded == ours[0] == np.round(half)
