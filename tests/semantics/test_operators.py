"""Every operator and cast at every type, against fractions and Python's integers."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import ml_dtypes
import numpy as np
import pytest

from tests.nightly import few
from tests.semantics.oracles import FLOATS, INTEGERS, interesting_floats, interesting_integers, key, nearest
from tests.semantics.scalars import apply_binary, apply_cast
from verified_tir.ir.dtype import BFLOAT16, BOOL, FLOAT16, FLOAT32, FLOAT64, HANDLE, INT8, INT32, INT64, DType
from verified_tir.ir.expr import COMPARE_OPS
from verified_tir.ir.node import IRError
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.ir.sugar import ARITHMETIC_OPS
from verified_tir.semantics.errors import UndefinedBehaviour
from verified_tir.semantics.operators import binary_operation, negation
from verified_tir.semantics.values import UNDEF

INTEGER_OPS = [op for op in ARITHMETIC_OPS if op != "div"]


def expected_integer(op: str, dtype: DType, a: int, b: int) -> int | str:
    """The exact result of an integer operation, or the kind of undefined behaviour."""
    if op in ("floordiv", "floormod", "truncdiv", "truncmod"):
        if b == 0:
            return "division-by-zero"
        if dtype.code == "int" and a == dtype.min_value and b == -1:
            return "division-overflow"
        quotient = Fraction(a, b)
        whole = math.floor(quotient) if op.startswith("floor") else math.trunc(quotient)
        return whole if op.endswith("div") else a - b * whole
    if op in ("shl", "shr"):
        if not 0 <= b < dtype.bits:
            return "shift"
        return a * 2**b if op == "shl" else math.floor(Fraction(a, 2**b))
    if op in ("bitand", "bitor", "bitxor"):
        table = {"bitand": "0001", "bitor": "0111", "bitxor": "0110"}[op]
        ones = (1 << dtype.bits) - 1
        digits = zip(f"{a & ones:0{dtype.bits}b}", f"{b & ones:0{dtype.bits}b}", strict=True)
        return wrapped(dtype, int("".join(table[int(x) * 2 + int(y)] for x, y in digits), 2))
    return {"add": a + b, "sub": a - b, "mul": a * b, "min": min(a, b), "max": max(a, b)}[op]


def wrapped(dtype: DType, value: int) -> int:
    value %= 2**dtype.bits
    return value - 2**dtype.bits if value > dtype.max_value else value


def outcome(op: str, dtype: DType, a: object, b: object, *, index: bool = False) -> object:
    """What the operator gives: a key of its value, or the kind of undefined behaviour."""
    try:
        value, defined = apply_binary(op, dtype, a, b, index=index)  # type: ignore[arg-type]
    except UndefinedBehaviour as end:
        return end.kind
    assert defined == (value is not UNDEF)
    return key(value)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("op", INTEGER_OPS)
def test_integer_arithmetic(op: str, dtype: DType) -> None:
    values = interesting_integers(dtype)
    for a, b in product(values, values):
        exact = expected_integer(op, dtype, a, b)
        if isinstance(exact, str):
            assert outcome(op, dtype, a, b) == outcome(op, dtype, a, b, index=True) == exact
            continue
        assert outcome(op, dtype, a, b) == key(wrapped(dtype, exact)), (a, b)
        fits = dtype.min_value <= exact <= dtype.max_value
        assert outcome(op, dtype, a, b, index=True) == (key(exact) if fits else "index-overflow"), (a, b)


@pytest.mark.parametrize("op", COMPARE_OPS)
def test_comparisons_agree_with_the_order_of_numbers(op: str) -> None:
    holds = {"eq": (0,), "ne": (-1, 1), "lt": (-1,), "le": (-1, 0), "gt": (1,), "ge": (0, 1)}[op]
    for dtype in (*INTEGERS, *FLOATS, BOOL):
        if dtype.is_bool:
            values: list[object] = [False, True]
        else:
            values = list(interesting_integers(dtype) if dtype.is_int else interesting_floats(dtype))
        for a, b in product(values, values):
            if (isinstance(a, float) and math.isnan(a)) or (isinstance(b, float) and math.isnan(b)):
                want = op == "ne"
            else:
                sign = (float(a) > float(b)) - (float(a) < float(b)) if dtype.is_float else (a > b) - (a < b)  # type: ignore
                want = sign in holds
            assert outcome(op, dtype, a, b) == key(want), (dtype, a, b)


def test_zeros_of_different_sign_are_equal() -> None:
    assert apply_binary("eq", FLOAT32, 0.0, -0.0) == (True, True)
    assert apply_binary("lt", FLOAT32, -0.0, 0.0) == (False, True)


def sign_of(value: float) -> float:
    return math.copysign(1.0, value)


def expected_float(op: str, dtype: DType, a: float, b: float) -> float:
    """IEEE-754, case by case."""
    if math.isnan(a) or math.isnan(b):
        return math.nan
    if op == "sub":
        return expected_float("add", dtype, a, -b)
    if op == "add":
        if math.isinf(a) or math.isinf(b):
            return math.nan if math.isinf(a) and math.isinf(b) and a != b else a if math.isinf(a) else b
        if Fraction(a) + Fraction(b) == 0:
            return -0.0 if sign_of(a) == sign_of(b) == -1.0 else 0.0
        return nearest(dtype, Fraction(a) + Fraction(b))
    sign = sign_of(a) * sign_of(b)
    if op == "mul":
        if math.isinf(a) or math.isinf(b):
            return math.nan if a == 0 or b == 0 else sign * math.inf
        return sign * nearest(dtype, abs(Fraction(a) * Fraction(b)))
    assert op == "div"
    if math.isinf(a):
        return math.nan if math.isinf(b) else sign * math.inf
    if math.isinf(b):
        return sign * 0.0
    if b == 0:
        return math.nan if a == 0 else sign * math.inf
    return sign * nearest(dtype, abs(Fraction(a) / Fraction(b)))


@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("op", ["add", "sub", "mul", "div"])
def test_float_arithmetic_is_correctly_rounded(op: str, dtype: DType) -> None:
    values = interesting_floats(dtype)
    for a, b in product(values, values):
        assert outcome(op, dtype, a, b) == key(expected_float(op, dtype, a, b)), (a, b)


@pytest.mark.parametrize("dtype", [FLOAT16, BFLOAT16], ids=str)
@pytest.mark.parametrize("op", ["add", "sub", "mul", "div"])
def test_narrow_float_arithmetic_on_random_numbers(op: str, dtype: DType) -> None:
    random = np.random.default_rng(1)
    patterns = random.integers(0, 1 << 16, size=(2, few(200, 600)), dtype=np.uint16)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        a, b = (p.view(numpy_dtype(dtype)).astype(np.float64).tolist() for p in patterns)
    for x, y in zip(a, b, strict=True):
        assert outcome(op, dtype, x, y) == key(expected_float(op, dtype, x, y)), (x, y)


@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64], ids=str)
@pytest.mark.parametrize("op", ["add", "sub", "mul", "div"])
def test_float_arithmetic_agrees_with_the_machine(op: str, dtype: DType) -> None:
    random = np.random.default_rng(2)
    numbers = random.integers(0, 1 << dtype.bits, size=(2, few(700, 2000)), dtype=f"u{dtype.bits // 8}").view(
        numpy_dtype(dtype)
    )
    with np.errstate(all="ignore"):
        machine = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}[op](*numbers)
    for a, b, c in zip(*numbers.tolist(), machine.tolist(), strict=True):
        assert outcome(op, dtype, a, b) == key(c), (a, b)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_min_and_max_are_selects(dtype: DType) -> None:
    for a, b in product(interesting_floats(dtype), repeat=2):
        less, greater = (a < b, a > b) if not (math.isnan(a) or math.isnan(b)) else (False, False)
        assert outcome("min", dtype, a, b) == key(a if less else b)
        assert outcome("max", dtype, a, b) == key(a if greater else b)
    assert outcome("min", dtype, 0.0, -0.0) == key(-0.0)
    assert outcome("max", dtype, math.nan, 1.0) == key(1.0)
    assert outcome("max", dtype, 1.0, math.nan) == key(math.nan)


def test_bool_operations() -> None:
    for a, b in product([False, True], repeat=2):
        assert outcome("bitand", BOOL, a, b) == key(a and b)
        assert outcome("bitor", BOOL, a, b) == key(a or b)
        assert outcome("bitxor", BOOL, a, b) == key(a != b)
        assert outcome("and", BOOL, a, b) == key(a and b)
        assert outcome("or", BOOL, a, b) == key(a or b)
    assert negation(False) is True and negation(True) is False and negation(UNDEF) is UNDEF


# ------------------------------------------------------------------------------------------------- undefined operands


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS, BOOL], ids=str)
def test_operators_are_strict(dtype: DType) -> None:
    two: object = True if dtype.is_bool else 2.0 if dtype.is_float else 2
    strict = ["add", "sub", "mul", "min", "max", *COMPARE_OPS]
    strict += ["div"] if dtype.is_float else ["bitand", "bitor", "bitxor"]
    if dtype.is_bool:
        strict = [*COMPARE_OPS, "bitand", "bitor", "bitxor"]
    for op in strict:
        for a, b in ((UNDEF, two), (two, UNDEF), (UNDEF, UNDEF)):
            assert outcome(op, dtype, a, b) == key(UNDEF)


@pytest.mark.parametrize("op", ["floordiv", "floormod", "truncdiv", "truncmod"])
def test_division_by_undef_is_undefined_behaviour(op: str) -> None:
    assert outcome(op, INT32, 7, UNDEF) == "undef-divisor"
    assert outcome(op, INT32, UNDEF, UNDEF) == "undef-divisor"
    assert outcome(op, INT32, UNDEF, 2) == key(UNDEF)
    assert outcome(op, INT32, UNDEF, 0) == "division-by-zero"
    assert outcome(op, INT32, UNDEF, -1) == "undef-divisor"  # for the dividend may be the least integer
    assert outcome(op, DType("uint", 32), UNDEF, 1) == key(UNDEF)


@pytest.mark.parametrize("op", ["shl", "shr"])
def test_shift_by_undef_is_undefined_behaviour(op: str) -> None:
    assert outcome(op, INT8, 1, UNDEF) == "undef-shift"
    assert outcome(op, INT8, UNDEF, 3) == key(UNDEF)
    assert outcome(op, INT8, UNDEF, 8) == "shift"


def test_undef_decides_nothing() -> None:
    for op, decides in (("and", False), ("or", True)):
        assert outcome(op, BOOL, UNDEF, True) == "undef-branch"
        assert outcome(op, BOOL, decides, UNDEF) == key(decides)
        assert outcome(op, BOOL, not decides, UNDEF) == key(UNDEF)


def test_there_are_no_operations_on_pointers_and_vectors() -> None:
    with pytest.raises(IRError):
        binary_operation("eq", HANDLE)
    with pytest.raises(IRError):
        binary_operation("add", INT32.with_lanes(4))
    with pytest.raises(IRError):
        apply_cast(HANDLE, INT64, 0)


# ---------------------------------------------------------------------------------------------------------- casts


@pytest.mark.parametrize("source", INTEGERS, ids=str)
def test_casts_from_integers(source: DType) -> None:
    for a in interesting_integers(source):
        for target in INTEGERS:
            assert apply_cast(source, target, a) == (wrapped(target, a), True)
        for target in FLOATS:
            assert key(apply_cast(source, target, a)[0]) == key(nearest(target, Fraction(a)))
        assert apply_cast(source, BOOL, a) == (a != 0, True)


@pytest.mark.parametrize("source", FLOATS, ids=str)
def test_casts_from_floats(source: DType) -> None:
    near_the_ends = [0.5, -0.5, -1.5, 127.5, 128.0, -128.5, -129.0, 255.5, 256.0]
    for a in [*interesting_floats(source), *[nearest(source, Fraction(x)) for x in near_the_ends]]:
        for target in INTEGERS:
            whole = math.trunc(a) if math.isfinite(a) else None
            inside = whole is not None and target.min_value <= whole <= target.max_value
            assert apply_cast(source, target, a) == ((whole, True) if inside else (UNDEF, False)), (a, target)
        for target in FLOATS:
            want = nearest(target, Fraction(a)) if math.isfinite(a) and a != 0 else a
            assert key(apply_cast(source, target, a)[0]) == key(want)
        assert apply_cast(source, BOOL, a) == (a != 0 or math.isnan(a), True)


def test_casts_from_bool() -> None:
    for target in (*INTEGERS, *FLOATS, BOOL):
        for a in (False, True):
            want = a if target.is_bool else float(a) if target.is_float else int(a)
            assert key(apply_cast(BOOL, target, a)[0]) == key(want)


def test_casts_are_strict() -> None:
    for source, target in product((INT8, INT64, FLOAT16, FLOAT64, BOOL), repeat=2):
        assert apply_cast(source, target, UNDEF) == (UNDEF, False)


def test_numpy_scalars_are_welcome() -> None:
    assert apply_binary("add", INT8, np.int8(100), np.int8(100)) == (-56, True)
    assert apply_binary("add", BFLOAT16, ml_dtypes.bfloat16(1), ml_dtypes.bfloat16(2)) == (3.0, True)
    assert apply_binary("bitxor", BOOL, np.bool_(True), np.bool_(True)) == (False, True)
    assert apply_cast(FLOAT16, INT32, np.float16(2.5)) == (2, True)
