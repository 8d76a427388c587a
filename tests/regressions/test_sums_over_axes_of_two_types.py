"""``pad_einsum`` crashed where an operand's axes are of two types, and refused loops of another type than axes.

Finding: kernel | crash | IndexMapError in schedule/index_map.py:__post_init__
"""

from __future__ import annotations

import pytest

from verified_tir import Schedule
from verified_tir.schedule.errors import NotApplicable
from verified_tir.testing import refusals_are_right

MATMUL = """
@T.prim_func
def f(A: T.Buffer(({0}, {2}), "int32"), B: T.Buffer(({2}, {1}), "int32"), C: T.Buffer(({0}, {1}), "int32")):
    for i, j, k in T.grid({3}, {4}, {5}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
NARROW, WIDE = ("5", "3", "6"), ("T.int64(5)", "T.int64(3)", "T.int64(6)")


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("axes", "loops"),
    [
        ((WIDE[0], *NARROW[1:]), NARROW),
        ((WIDE[0], *NARROW[1:]), WIDE),
        (NARROW, (WIDE[0], *NARROW[1:])),
        (WIDE, NARROW),
    ],
)
def test_operands_are_padded_whatever_types_axes_and_loops_have(
    axes: tuple[str, str, str], loops: tuple[str, str, str]
) -> None:
    s = Schedule(MATMUL.format(*axes, *loops))
    with refusals_are_right(s):
        s.pad_einsum("C", [4, 4, 4])
    assert {"A_pad", "B_pad", "C_pad"} <= {b.name for b in s.buffers}


@pytest.mark.nightly
def test_an_operand_that_is_padded_twice_needs_one_extent() -> None:
    square = MATMUL.replace("A[vi, vk]", "A[vi, vk] * A[vk, vj]").replace("{1}", "{2}").replace("{4}", "{5}")
    s = Schedule(square.format("6", "", "6", "6", "", "T.int64(6)"))
    with pytest.raises(NotApplicable, match="padded to different extents"):
        s.pad_einsum("C", [4, 1, 8 - 1])
    s.pad_einsum("C", [4, 1, 4])
