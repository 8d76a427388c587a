"""Padding that is packed, and padding that is checked, is what a program would compute there.

Values of padding were computed by numpy, whose minimum of NaN and a number is NaN, and with constants of Python, whose
floats are float64 and whose integers do not wrap.  So ``pack`` filled in what no proof speaks of, and
``check_assumptions`` let it pass and refused what is right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from verified_tir import Schedule, build
from verified_tir.graph.layouts import Padded, pack
from verified_tir.index.map import IndexMap
from verified_tir.script import tir as T

COPY = """
@T.prim_func
def f(A: T.Buffer((3,), "{0}"), B: T.Buffer((3,), "{0}")):
    for i in range(3):
        B[i] = A[i]
"""
SUMS = """
@T.prim_func
def f(A: T.Buffer((2, 14), "float32"), B: T.Buffer((2,), "float32")):
    for i in T.serial(2):
        B[i] = 0.0
        for j in T.serial(14):
            B[i] = B[i] + A[i, j]
"""

VALUES: dict[str, tuple[str, Callable[..., Any], Any]] = {
    "float32": ("float32", lambda i, j: (T.float32(1e8) + T.float32(1.0)) - T.float32(1e8), 0.0),
    "float16": ("float16", lambda i, j: T.float16(2048.0) + T.float16(1.0), 2048.0),
    "a quotient": ("float32", lambda i, j: T.Cast("float32", j) / T.float32(3.0), np.float32(1) / np.float32(3)),
    "minimum of NaN": ("float32", lambda i, j: T.min(T.float32("nan"), T.float32(2.0)), 2.0),
    "minimum with NaN": ("float32", lambda i, j: T.min(T.float32(2.0), T.float32("nan")), np.nan),
    "maximum of zeros": ("float32", lambda i, j: T.max(T.float32(0.0), T.float32(-0.0)), -0.0),
    "a call": ("float32", lambda i, j: T.floor(T.Cast("float32", j) + T.float32(0.75)), 1.0),
    "int8": ("int8", lambda i, j: T.Cast("int8", j + 126) + T.int8(100), 127 + 100 - 256),
    "uint8": ("uint8", lambda i, j: T.Cast("uint8", i) - T.uint8(3), 254),
    "int32": ("int32", lambda i, j: T.Cast("int32", T.Cast("int64", j) * T.int64(2**32 + 5)), 5),
    "the least integer": ("int8", lambda i, j: T.truncdiv(T.Cast("int8", j + 127), T.int8(3)), -42),
}


def same(found: Any, wanted: Any) -> bool:
    """Equal bits, if they are no NaN."""
    made = np.array(wanted).astype(found.dtype)
    return bool(found.tobytes() == made.tobytes() or (found != found and made != made))


@pytest.mark.parametrize("name", VALUES)
def test_values(name: str) -> None:
    dtype, value, wanted = VALUES[name]
    s = Schedule(COPY.format(dtype))
    s.transform_layout("A", lambda i: [i // 2, i % 2], pad_value=value)
    f = build(s, check_assumptions=True)
    a, b = np.arange(1, 4).astype(dtype), np.zeros(3, dtype)
    packed = f.pack("A", a)
    assert same(packed[1, 1], wanted)
    f(packed, b)
    assert (a == b).all()
    for other in (packed[1, 0], packed[1, 1] ^ 1 if packed.dtype.kind in "iu" else -packed[1, 1]):
        wrong = packed.copy()
        wrong[1, 1] = other
        if not same(wrong[1, 1], wanted):
            with pytest.raises(ValueError, match="this padding is assumed"):
                f(wrong, b)


@pytest.mark.parametrize(("element", "wanted"), [(np.nan, 0.0), (-0.0, 0.0), (0.0, 0.0), (1.5, 1.5)])
def test_a_maximum_with_an_element(element: float, wanted: float) -> None:
    s = Schedule(COPY.format("float32"))
    a_buffer = s.buffer("A")
    s.transform_layout("A", lambda i: [i // 2, i % 2], pad_value=lambda i, j: T.max(a_buffer[0], T.float32(0.0)))
    f = build(s, check_assumptions=True)
    packed = f.pack("A", np.full(3, element, np.float32))
    assert same(packed[1, 1], wanted)
    f(packed, np.zeros(3, np.float32))


def test_nothing_is_said_of_a_value_that_is_undefined() -> None:
    """The integer of a float that no int8 holds."""
    s = Schedule(COPY.format("int8").replace("3", "5"))
    whole = lambda i, j: T.Cast("int8", T.Cast("float32", j * 100))  # noqa: E731
    s.transform_layout("A", lambda i: [i // 4, i % 4], pad_value=whole)
    f = build(s, check_assumptions=True)
    a, b = np.arange(1, 6, dtype=np.int8), np.zeros(5, np.int8)
    packed = f.pack("A", a)
    assert packed[1, 1] == 100
    packed[1, 2:] = 7
    f(packed, b)
    assert (a == b).all()
    packed[1, 1] = 7
    with pytest.raises(ValueError, match=r"A\[1, 1\] is 7, but this padding is assumed"):
        f(packed, b)


@pytest.mark.parametrize(
    "value",
    [
        lambda i, jo, ji: (T.float32(1e8) + T.float32(1.0)) - T.float32(1e8),
        lambda i, jo, ji: T.min(T.float32("nan"), T.float32(0.0)),
    ],
)
def test_zeros_of_padding_are_summed(value: Callable[..., Any]) -> None:
    s = Schedule(SUMS)
    s.transform_layout("A", lambda i, j: [i, j // 4, j % 4], pad_value=value)
    s.sequential_buffer_access("A")
    s.remove_branching_through_overcompute()
    f = build(s, check_assumptions=True)
    b = np.zeros(2, np.float32)
    f(f.pack("A", np.ones((2, 14), np.float32)), b)
    assert b.tolist() == [14.0, 14.0]


@pytest.mark.parametrize("value", [0.0, -0.0, 2.0])
def test_layouts_of_graphs_have_the_sign_of_zero(value: float) -> None:
    """Where a layout has more room than its map needs, -0.0 was 0.0."""
    layout = Padded(IndexMap.from_func(lambda i: [i // 4, i % 4], 1), value, (3, 4))
    packed = pack(layout, np.ones(5, np.float32), "float32")
    assert packed.reshape(-1)[5:].tobytes() == np.full(7, value, np.float32).tobytes()
