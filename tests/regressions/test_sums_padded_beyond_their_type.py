"""``pad_einsum`` crashed where a loop, or an axis, cannot count to the multiple that is asked for.

Finding: kernel | crash | IRError in ir/expr_core.py:__post_init__
"""

from __future__ import annotations

import pytest

from verified_tir import Schedule
from verified_tir.schedule.errors import NotApplicable

ROWS = """
@T.prim_func
def f(A: T.Buffer((100, 3), "int32"), B: T.Buffer((100,), "int32"){0}):
    for i, k in T.grid({1}, 3):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 0
            B[vi] = B[vi] + A[vi, vk]
"""


@pytest.mark.parametrize(
    ("symbol", "extent", "factor", "reason"),
    [
        ("", "100", 2**40, "i cannot run to a multiple"),
        ("", "T.int8(100)", 64, "i cannot run to a multiple"),
        (", n: T.int32", "T.min(n, 100)", 2**40, "i cannot run to a multiple"),
        ("", "T.int64(100)", 2**40, "A cannot be padded"),
    ],
)
def test_what_is_too_large_is_refused(symbol: str, extent: str, factor: int, reason: str) -> None:
    s = Schedule(ROWS.format(symbol, extent))
    with pytest.raises(NotApplicable, match=reason):
        s.pad_einsum("B", [factor, 1])


def test_what_is_not_is_padded() -> None:
    s = Schedule(ROWS.format("", "T.int8(100)"))
    s.pad_einsum("B", [8, 1])
    assert "T.int8(104)" in s.script()
