"""Every pure call at every type it takes."""

from __future__ import annotations

import math
from decimal import Decimal, getcontext
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from tests.semantics.oracles import FLOATS, INTEGERS, interesting_floats, interesting_integers, key, nearest
from tests.semantics.scalars import apply_call
from verified_tir.ir.calls import PURE_CALLS
from verified_tir.ir.dtype import BFLOAT16, BOOL, FLOAT16, FLOAT32, FLOAT64, INT8, INT32, INT64, DType
from verified_tir.ir.node import IRError
from verified_tir.semantics.calls import call_operation
from verified_tir.semantics.values import UNDEF

UINT8, UINT16, UINT32 = DType("uint", 8), DType("uint", 16), DType("uint", 32)


def value(op: str, dtype: DType, *args: object, result: DType | None = None) -> object:
    return apply_call(op, dtype, args, result)[0]


# --------------------------------------------------------------------------------------------- exact operations


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_sqrt_is_correctly_rounded(dtype: DType) -> None:
    for a in interesting_floats(dtype):
        got = value("sqrt", dtype, a)
        if math.isnan(a) or a < 0:
            assert key(got) == key(math.nan)
        elif a == 0 or math.isinf(a):
            assert key(got) == key(a)
        else:  # the floor of a scaled integer square root, with a sticky bit: enough bits to round to any of the types
            exact = Fraction(a)
            scale = 2600
            root = math.isqrt(int(exact * (1 << (2 * scale))))
            sticky = 0 if root * root == exact * (1 << (2 * scale)) else 1
            assert key(got) == key(nearest(dtype, Fraction(2 * root + sticky, 1 << (scale + 1))))


ROUNDINGS = {
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": lambda q: math.floor(q) if q > 0 else math.ceil(q),
    "nearbyint": lambda q: min((math.floor(q), math.ceil(q)), key=lambda n: (abs(q - n), n % 2)),
    "round": lambda q: min((math.floor(q), math.ceil(q)), key=lambda n: (abs(q - n), n % 2)),
}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("op", ROUNDINGS)
def test_rounding_to_whole_numbers(op: str, dtype: DType) -> None:
    halves = [0.5, 1.5, 2.5, 0.25, 0.75, 3.0, nearest(dtype, Fraction(1, 2) - Fraction(1, 1 << 12))]
    if dtype.bits == 64:
        halves.append(0.49999999999999994)  # where adding one half and taking the floor fails
    for a in [*interesting_floats(dtype), *halves, *[-h for h in halves]]:
        if math.isnan(a) or math.isinf(a):
            assert key(value(op, dtype, a)) == key(a)
        else:
            whole = ROUNDINGS[op](Fraction(a))
            assert key(value(op, dtype, a)) == key(math.copysign(float(whole), a)), a  # zeros keep the sign


def test_whole_numbers_by_hand() -> None:
    for op in ("round", "nearbyint"):
        assert [value(op, FLOAT32, x) for x in (0.5, 1.5, 2.5, -0.5, -2.5)] == [0.0, 2.0, 2.0, -0.0, -2.0]
    assert key(value("ceil", FLOAT32, -0.5)) == key(-0.0)
    assert key(value("floor", FLOAT32, -0.0)) == key(-0.0)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_abs_and_tests_of_floats(dtype: DType) -> None:
    for a in interesting_floats(dtype):
        assert key(value("abs", dtype, a)) == key(math.nan if math.isnan(a) else max(a, -a) if a else 0.0)
        assert value("isnan", dtype, a, result=BOOL) is math.isnan(a)
        assert value("isinf", dtype, a, result=BOOL) is math.isinf(a)
        assert value("isfinite", dtype, a, result=BOOL) is math.isfinite(a)


def test_fma_goes_to_the_type() -> None:
    a, b, c = 2.0**-24 * (1 + 2.0**-16), 1 - 2.0**-16, 1 + 2.0**-23
    assert value("fma", FLOAT32, a, b, c) == 1 + 2.0**-23
    assert value("fma", FLOAT16, 256.0, 256.0, -65504.0) == 32.0
    assert value("fma", BFLOAT16, 3.0, 3.0, 1.0) == 10.0


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integer_calls(dtype: DType) -> None:
    ones = (1 << dtype.bits) - 1
    for a in interesting_integers(dtype):
        digits = f"{a & ones:0{dtype.bits}b}"
        least = dtype.code == "int" and a == dtype.min_value
        assert value("abs", dtype, a) == (a if least else max(a, -a))
        assert value("bitwise_not", dtype, a) == (-1 - a if dtype.code == "int" else ones - a)
        assert value("popcount", dtype, a) == digits.count("1")
        assert value("clz", dtype, a, result=INT32) == len(digits.split("1", maxsplit=1)[0])


def test_likely_is_its_argument() -> None:
    assert value("likely", BOOL, True) is True
    assert value("likely", BOOL, UNDEF) is UNDEF


# ------------------------------------------------------------------------------------------------- transcendental

MACHINE = {
    "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p,
    "tanh": np.tanh, "sinh": np.sinh, "cosh": np.cosh, "sin": np.sin, "cos": np.cos, "tan": np.tan, "atan": np.arctan,
}  # fmt: skip


@pytest.mark.parametrize("op", MACHINE)
def test_transcendental_functions_are_near_numpys_and_share_their_special_values(op: str) -> None:
    special = [0.0, -0.0, math.inf, -math.inf, math.nan, -1.0, 1.0, 700.0, -700.0, 800.0, -800.0, 1e-300, -2.0]
    for a in [*special, 0.3, -0.3, 1.7, 12.0]:
        with np.errstate(all="ignore"):
            machine = float(MACHINE[op](a))
        got = value(op, FLOAT64, a)
        if machine == 0 or not math.isfinite(machine):
            assert key(got) == key(machine), a
        else:
            assert got == pytest.approx(machine, rel=1e-14), a
        narrow = value(op, FLOAT32, float(np.float32(a)))
        assert isinstance(narrow, float) and key(float(np.float32(narrow))) == key(narrow)  # a float32


def test_exp_against_decimal_arithmetic() -> None:
    getcontext().prec = 40
    for a in (0.5, -3.25, 10.0):
        exact = Fraction(Decimal(a).exp())
        assert value("exp", FLOAT32, a) == nearest(FLOAT32, exact)
        assert value("exp", FLOAT16, a) == nearest(FLOAT16, exact)


def test_rsqrt_and_sigmoid() -> None:
    assert [value("rsqrt", FLOAT32, a) for a in (4.0, 0.0, -0.0, math.inf)] == [0.5, math.inf, -math.inf, 0.0]
    assert key(value("rsqrt", FLOAT32, -1.0)) == key(math.nan)
    assert [value("sigmoid", FLOAT32, a) for a in (0.0, math.inf, -math.inf, -1000.0)] == [0.5, 1.0, 0.0, 0.0]
    assert value("erf", FLOAT32, math.inf) == 1.0


def test_pow_and_atan2_share_numpys_special_values() -> None:
    numbers = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.75, 3.0, -3.0, 1e300, -1e300, math.inf, -math.inf, math.nan]
    for a, b in product(numbers, numbers):
        for op, function in (("pow", np.power), ("atan2", np.arctan2)):
            with np.errstate(all="ignore"):
                machine = float(function(a, b))
            got = value(op, FLOAT64, a, b)
            if machine == 0 or not math.isfinite(machine):
                assert key(got) == key(machine), (op, a, b)
            else:
                assert got == pytest.approx(machine, rel=1e-15), (op, a, b)


# ---------------------------------------------------------------------------------------------------- reinterpret


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_reinterpret_of_floats_is_their_bits(dtype: DType) -> None:
    bits = DType("uint", dtype.bits)
    exponent = {"float16": 5, "bfloat16": 8, "float32": 8, "float64": 11}[str(dtype)]
    one = ((1 << (exponent - 1)) - 1) << (dtype.bits - 1 - exponent)
    assert value("reinterpret", dtype, 1.0, result=bits) == one
    assert value("reinterpret", dtype, -0.0, result=bits) == 1 << (dtype.bits - 1)
    assert value("reinterpret", bits, one, result=dtype) == 1.0
    for a in interesting_floats(dtype):
        there = value("reinterpret", dtype, a, result=bits)
        assert there is UNDEF if math.isnan(a) else key(value("reinterpret", bits, there, result=dtype)) == key(a)
    all_ones = (1 << dtype.bits) - 1
    assert key(value("reinterpret", bits, all_ones, result=dtype)) == key(math.nan)
    assert key(value("reinterpret", dtype, math.nan, result=dtype)) == key(math.nan)


def test_reinterpret_keeps_the_bytes_of_lanes() -> None:
    assert value("reinterpret", INT8.with_lanes(4), (1, 2, 3, -1), result=INT32) == -16580095  # 0xFF030201
    assert value("reinterpret", INT32, 0x04030201, result=INT8.with_lanes(4)) == (1, 2, 3, 4)
    assert value("reinterpret", INT8, -1, result=UINT8) == 255
    assert value("reinterpret", INT8.with_lanes(4), (1, UNDEF, 3, 4), result=UINT16.with_lanes(2)) == (UNDEF, 0x0403)
    two = FLOAT32.with_lanes(2)
    assert value("reinterpret", two, (math.nan, 1.0), result=UINT32.with_lanes(2)) == (UNDEF, 0x3F800000)
    assert value("reinterpret", two, (math.nan, 1.0), result=INT64) is UNDEF


# ------------------------------------------------------------------------------------------------------ strictness


@pytest.mark.parametrize("op", [op for op in PURE_CALLS if op != "reinterpret"])
def test_calls_are_strict(op: str) -> None:
    info = PURE_CALLS[op]
    dtype = INT32 if info.operands == "int" else FLOAT32
    defined: object = 1 if dtype.is_int else 1.0
    result = BOOL if info.result == "bool" else dtype
    for k in range(info.arity):
        args = [UNDEF if n == k else defined for n in range(info.arity)]
        assert apply_call(op, dtype, args, result) == (UNDEF, False)
    assert apply_call(op, dtype, [defined] * info.arity, result)[1]


@pytest.mark.parametrize(
    ("op", "dtype"),
    [("exp", INT32), ("popcount", FLOAT32), ("abs", BOOL), ("read_clock", INT32), ("sqrt", FLOAT32.with_lanes(2))],
)
def test_calls_of_the_wrong_type_are_refused(op: str, dtype: DType) -> None:
    with pytest.raises(IRError):
        call_operation(op, dtype, dtype)
