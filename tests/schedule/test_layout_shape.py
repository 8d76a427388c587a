"""transform_layout into a shape that is larger than the elements need: halos, and room to align rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from verified_tir import Refuted, Schedule, ScheduleError, build

WINDOWS = """
@T.prim_func
def windows(A: T.Buffer((14,), "{dtype}"), B: T.Buffer((14,), "{dtype}")):
    for i in range(14):
        B[i] = 0
        for k in range(3):
            if 0 <= i + k - 1 and i + k - 1 < 14:
                B[i] = B[i] + A[i + k - 1]
"""


def halo(pad_value: Any = 0, shape: Any = (16,), dtype: str = "int32") -> Schedule:
    s = Schedule(WINDOWS.format(dtype=dtype))
    s.transform_layout("A", lambda i: [i + 1], pad_value=pad_value, shape=shape)
    return s


def test_a_halo_at_both_ends_lets_the_branch_go() -> None:
    s = halo()
    assert s.buffer("A").shape[0] is Schedule(WINDOWS.format(dtype="int32")).func.buffers[0].shape[0] + 2
    s.remove_branching_through_overcompute()
    s.simplify()
    assert s.script().splitlines()[4:] == [
        "    for i in range(14):",
        "        B[i] = 0",
        "        for k in range(3):",
        "            B[i] = B[i] + A[i + k]",
    ]
    s.validate(every_step=True)
    f = build(s)
    x = np.arange(14, dtype=np.int32)
    out = np.zeros(14, np.int32)
    f(np.pad(x, 1), out)
    assert (out == np.convolve(x, [1, 1, 1], "same")).all()


def test_without_the_room_the_last_element_is_out_of_bounds() -> None:
    s = halo(shape=None)
    assert s.remove_branching_through_overcompute() == 1  # in front there is room
    assert "if i + k - 1 < 14:" in s.script()
    with pytest.raises(Refuted, match="lies within the bounds") as refused:
        s.remove_branching_through_overcompute()
    assert refused.value.confirmed


def test_the_room_is_padding_like_any_other() -> None:
    with pytest.raises(Refuted, match="accessible"):
        halo(pad_value=None).remove_branching_through_overcompute()
    with pytest.raises(Refuted, match="bits that are there") as refused:
        halo(pad_value=1).remove_branching_through_overcompute()
    assert refused.value.confirmed


def test_an_output_has_its_room_filled() -> None:
    s = Schedule(WINDOWS.format(dtype="float32").replace("B[i] = 0", "B[i] = T.float32(0)"))
    s.transform_layout("B", lambda i: [i // 4, i % 4], pad_value=-1.0, shape=(5, 4))
    b = np.full((5, 4), np.nan, np.float32)
    b.reshape(-1)[14:] = -1.0
    build(s)(np.ones(14, np.float32), b)
    assert (b.reshape(-1)[14:] == -1.0).all()
    assert "if io == 3 and ii >= 2 or io >= 4:" in s.script()


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((14,), "extent 0 of the new shape is at least 15; 14 is too small"),
        ((4, 4), "the new shape has 1 dimensions, not 2"),
        ((16.0,), "extent 0 of the new shape is an index of type int32, not 16.0"),
        ((True,), "extent 0 of the new shape is an index of type int32, not True"),
    ],
)
def test_shapes_that_do_not_fit(shape: Any, message: str) -> None:
    with pytest.raises(ScheduleError, match=message):
        halo(shape=shape)


SYMBOLIC = """
@T.prim_func
def double(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "int32")
    B = T.match_buffer(b, (n,), "int32")
    for i in range(n):
        B[i] = A[i] * 2
"""


def test_symbolic_extents_are_compared_by_the_kernel() -> None:
    s = Schedule(SYMBOLIC)
    n = s.symbol("n")
    s.transform_layout("A", lambda i: [i // 8, i % 8], pad_value=0, shape=((n + 7) // 8 + 1, 8))
    a = np.zeros((3, 8), np.int32)
    a.reshape(-1)[:13] = np.arange(13)
    out = np.zeros(13, np.int32)
    build(s)(a, out)
    assert (out == 2 * np.arange(13)).all()
    with pytest.raises(Refuted, match="every element of B lies within the new shape"):
        s.transform_layout("B", lambda i: [i // 8, i % 8], shape=(n // 8, 8))


def test_the_shape_is_recorded() -> None:
    s = halo()
    call = s.steps[-1].call
    assert call is not None
    assert call.problem == ""
    assert call.named == {"shape": [16]}
    assert "shape=[16]" in str(s.steps[-1])
