"""Reductions by operators that are commutative and associative, taken apart (``rfactor``) with all initial values."""

from __future__ import annotations

import operator
from collections.abc import Callable

import pytest

from verified_tir import parse_func
from verified_tir.ir.dtype import DType
from verified_tir.validate import Different, Equal, EqualOverReals, Verdict, validate

WHOLE = """
@T.prim_func
def f(A: T.Buffer((16,), "{dtype}"), C: T.Buffer((1,), "{dtype}")):
    C[0] = T.{dtype}({start})
    for i in range(16):
        C[0] = {whole}
"""
PARTS = """
@T.prim_func
def f(A: T.Buffer((16,), "{dtype}"), C: T.Buffer((1,), "{dtype}")):
    R = T.alloc_buffer((4,), "{dtype}")
    for j in range(4):
        R[j] = T.{dtype}({inner})
        for i in range(4):
            R[j] = {part}
    C[0] = T.{dtype}({start})
    for j in range(4):
        C[0] = {last}
"""
FOLD: dict[str, Callable[[int, int], int]] = {
    "T.max({}, {})": max, "T.min({}, {})": min, "{} & {}": operator.and_, "{} | {}": operator.or_,
    "{} ^ {}": operator.xor, "{} + {}": operator.add, "{} * {}": operator.mul,
}  # fmt: skip


def factored(dtype: str, op: str, start: object, inner: object) -> Verdict:
    texts = {
        "dtype": dtype, "start": start, "inner": inner, "whole": op.format("C[0]", "A[i]"),
        "part": op.format("R[j]", "A[i * 4 + j]"), "last": op.format("C[0]", "R[j]"),
    }  # fmt: skip
    return validate(parse_func(WHOLE.format(**texts)), parse_func(PARTS.format(**texts))).verdict


@pytest.mark.nightly
@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint64"])
@pytest.mark.parametrize("op", FOLD)
def test_every_right_initial_value_of_the_parts_is_equal_and_every_wrong_one_different(dtype: str, op: str) -> None:
    t = DType.parse(dtype)
    for start in (0, 5, t.min_value, t.max_value):
        for inner in (0, 1, 4, 5, t.min_value, t.max_value, -1 if t.code == "int" else t.max_value):
            total = start
            for _ in range(4):  # each part begins with its own value
                total = FOLD[op](total, inner)
            values = (0, 1, 2, 4, 7, t.min_value, t.max_value)
            neutral = all((FOLD[op](total, x) - FOLD[op](start, x)) % 2**t.bits == 0 for x in values)
            found = factored(dtype, op, start, inner)
            assert isinstance(found, Equal if neutral else Different), (start, inner, total, found)


@pytest.mark.nightly
@pytest.mark.parametrize("op", ["T.max({}, {})", "T.min({}, {})"])
def test_floats_are_equal_over_the_reals(op: str) -> None:
    assert isinstance(factored("float32", op, 0, 0), EqualOverReals)
    assert isinstance(factored("float32", op, 0, 1 if "max" in op else -1), Different)


EACH = """
@T.prim_func
def f(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")):
    for i in range(4):
        C[i] = {}
"""


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("T.max(T.max(A[i], 3), T.max(B[i], 7))", "T.max(B[i], T.max(A[i], 7))", True),
        ("T.max(T.max(A[i], 3), T.max(B[i], 7))", "T.max(B[i], T.max(A[i], 3))", False),
        ("T.max(A[i], T.max(B[i], A[i]))", "T.max(A[i], B[i])", True),
        ("T.max(A[i] + 1 - 1, B[i])", "T.max(B[i], A[i])", True),
        ("T.min(A[i], T.max(A[i], B[i]))", "T.min(A[i], T.max(B[i], A[i]))", True),
        ("A[i] ^ B[i] ^ A[i]", "B[i]", True),
        ("A[i] ^ B[i] ^ A[i] ^ A[i]", "B[i]", False),
        ("(A[i] ^ B[i]) ^ (B[i] ^ A[i])", "0", True),
        ("(A[i] & 12) & (B[i] & 6)", "(A[i] & B[i]) & 4", True),
        ("(A[i] & 12) & (B[i] & 6)", "(A[i] & B[i]) & 12", False),
        ("(A[i] & 15) & 7", "A[i] % 8", True),
        ("(A[i] & 15) & 5", "A[i] % 8", False),
        ("(A[i] & B[i]) & 7", "(B[i] & A[i]) % 8", True),
        ("(A[i] & 8) & 7", "0", True),
        ("A[i] | 1 | B[i] | 2", "3 | B[i] | A[i]", True),
        ("A[i] | -1", "-1", True),
        ("A[i] & -1", "A[i]", True),
        ("(A[i] | B[i]) & A[i]", "(B[i] | A[i]) & B[i]", False),
    ],
)
def test_constants_and_repetitions(before: str, after: str, same: bool) -> None:
    found = validate(parse_func(EACH.format(before)), parse_func(EACH.format(after))).verdict
    assert isinstance(found, Equal if same else Different), found


@pytest.mark.parametrize(("op", "value"), [("U[0] ^ U[0]", "0"), ("U[0] & 0", "0"), ("U[0] | -1", "-1")])
def test_what_is_undefined_gives_way_to_nothing(op: str, value: str) -> None:
    """In *after* it is undefined, and *before* is not."""
    local = EACH.replace(
        "    for i", '    U = T.alloc_buffer((1,), "int32")\n    if A[0] > 0:\n        U[0] = 1\n    for i'
    )
    one, other = parse_func(local.format(op)), parse_func(local.format(value))
    assert isinstance(validate(one, one).verdict, Equal)
    assert not isinstance(validate(one, other).verdict, Different)
    assert isinstance(validate(other, one).verdict, Different)
