"""The conditions on a call: which there are, and that both checks know each of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.codegen.entry_support import Recorder, SlowCalls, slow_calls
from verified_tir.codegen.entry_conditions import (
    AreApart,
    Condition,
    HasShape,
    HasValue,
    IsArray,
    IsCountable,
    IsLaidOut,
    IsNumber,
    UsualControl,
    conditions,
)
from verified_tir.codegen.entry_plan import ArrayParameter, Binding, ScalarParameter
from verified_tir.kernel.begin import LARGEST

__all__ = ["slow_calls"]

PROGRAM = """
@T.prim_func
def f(a: T.handle, k: T.int32, b: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 4), "float32")
    B = T.match_buffer(b, (n,), "float32")
    C = T.match_buffer(c, (n,), "float32")
    for i in range(n):
        C[i] = A[i, 0] + B[i]
"""


def test_of_a_program() -> None:
    plan = Recorder(PROGRAM).plan
    a, k, b, c = plan.parameters
    assert isinstance(a, ArrayParameter) and isinstance(k, ScalarParameter)
    assert isinstance(b, ArrayParameter) and isinstance(c, ArrayParameter)
    n, most = a.buffer.shape[0], LARGEST[32]
    expected: list[Condition] = [
        UsualControl(), IsArray(0, a), IsNumber(1, k), IsArray(2, b), IsArray(3, c),
        HasValue(Binding(n, (0, most), 0)), HasShape(0, a), HasShape(2, b), HasShape(3, c),
        IsCountable(a.buffer, (most, None), most), IsCountable(b.buffer, (most,), most),
        IsCountable(c.buffer, (most,), most), IsLaidOut(0, a), IsLaidOut(2, b), IsLaidOut(3, c),
        AreApart((0, 3), (a, c)), AreApart((2, 3), (b, c)),
    ]  # fmt: skip
    assert list(conditions(plan)) == expected
    assert k.bounds == (-(2**31), 2**31 - 1) and c.written and not a.written


def test_of_numbers_only() -> None:
    plan = Recorder("@T.prim_func\ndef f(A: T.Buffer((4,), 'int32')):\n    A[0] = 1\n").plan
    assert [type(c) for c in conditions(plan)] == [IsArray, HasShape, IsLaidOut]


MEMORY = np.zeros(64, "float32")


def right() -> list[Any]:
    return [np.zeros((3, 4), "float32"), 7, np.zeros(3, "float32"), np.zeros(3, "float32")]


@pytest.mark.parametrize(
    ("position", "argument", "error"),
    [
        (0, np.zeros((3, 4), "float64"), TypeError), (1, 2.5, TypeError), (1, 2**31, OverflowError),
        (2, np.zeros(4, "float32"), ValueError), (0, np.zeros((3, 5), "float32"), ValueError),
        (2, np.zeros(6, "float32")[::2], ValueError), (2, np.frombuffer(bytes(13), "float32", 3, 1), ValueError),
    ],
)  # fmt: skip
def test_each_is_checked(position: int, argument: object, error: type[Exception], slow_calls: SlowCalls) -> None:
    f = Recorder(PROGRAM)
    arguments = right()
    f(*arguments)
    assert (f.calls, slow_calls.count) == (1, 0)
    arguments[position] = argument
    with pytest.raises(error):
        f(*arguments)
    assert (f.calls, slow_calls.count) == (1, 1)


def test_overlap_is_checked(slow_calls: SlowCalls) -> None:
    f = Recorder(PROGRAM)
    a, k, _, _ = right()
    f(a, k, MEMORY[:3], MEMORY[3:6])
    assert (f.calls, slow_calls.count) == (1, 0)
    with pytest.raises(ValueError, match=r"^B and C share memory, and f writes C; pass a copy of one$"):
        f(a, k, MEMORY[:3], MEMORY[2:5])
    assert (f.calls, slow_calls.count) == (1, 1)


def test_arrays_before_a_wrong_number_are_let_go() -> None:
    f = Recorder(PROGRAM)
    memory = bytearray(16)
    _, k, b, c = right()
    with pytest.raises(OverflowError):
        f(memoryview(memory).cast("f", (1, 4)), 2**31, b[:1], c[:1])
    memory += b"x"  # which is refused while somebody holds the buffer
    assert (f.calls, k) == (0, 7)
