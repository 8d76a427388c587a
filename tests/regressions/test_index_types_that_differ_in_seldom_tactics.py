"""Found by reading: indices of int64 beside padding, loops or views of int32 crashed four tactics and a pass.

Finding: kernel | crash | IRError in ir/expr_core.py:__post_init__
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.parts.lowered import assert_lowers_alike
from verified_tir import Schedule, parse_func
from verified_tir.ir.sugar import const
from verified_tir.testing import refusals_are_right

STAGES = """
@T.prim_func
def main(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    t = T.alloc_buffer((6,), "int32")
    for i in range({0}):
        with T.sblock("t"):
            t[i] = A[i] * 2
    for j in range({1}):
        with T.sblock("B"):
            B[j] = t[{2}] + 1
"""


@pytest.mark.sample(6)
@pytest.mark.parametrize(
    ("first", "second", "read"),
    [
        ("6", "T.int64(6)", "j"), ("T.int64(6)", "6", "j"),
        ("6", "T.int64(6)", "T.int64(5) - j"), ("T.int64(6)", "6", "5 - j"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("split", [False, True])
def test_a_consumer_in_loops_of_another_type_is_inlined(first: str, second: str, read: str, split: bool) -> None:
    s = Schedule(STAGES.format(first, second, read))
    if split:
        s.split("i", [None, 4])
    s.reverse_compute_inline("B")
    assert "alloc_buffer" not in s.script()


WIDE = """
@T.prim_func
def main(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    for i in range(T.int64(6)):
        with T.sblock("B"):
            B[i] = A[i] * 2
"""


def test_a_copy_goes_that_has_loops_of_its_own_type() -> None:
    s = Schedule(WIDE)
    s.cache_read("B", "A", "local")
    s.reverse_compute_inline("B")
    assert "alloc_buffer" not in s.script()


def test_what_runs_on_padding_of_another_type_is_left_out() -> None:
    s = Schedule("""
@T.prim_func
def main(A: T.Buffer((14,), "int32"), B: T.Buffer((16,), "int32")):
    for j in range(T.int64(16)):
        B[j] = A[j % T.int64(14)] * 2
    for k in range(16):
        if k >= 14:
            B[k] = 0
""")
    assert s.remove_overcompute_through_branching() == 1
    assert 'if T.Cast("int32", j) < 14:' in s.script()


def test_a_constraint_is_looked_at_from_loops_of_another_type() -> None:
    s = Schedule(STAGES.format("T.int64(6)", "6", "j"))
    s.add_buffer_constraint("A", lambda i: i >= 4, 0, axiom=True)
    with refusals_are_right(s):
        s.remove_overcompute_through_branching()
    s = Schedule(STAGES.format("T.int64(6)", "6", "j").replace(" * 2", ""))
    s.add_buffer_constraint("A", lambda i: i >= 4, 0, axiom=True)
    (known,) = s.constraints("t")
    assert known.value is const(0)


@pytest.mark.parametrize("extents", ["4, 6", "4, T.int64(6)"])
def test_views_with_indices_of_another_type(extents: str) -> None:
    func = parse_func(f"""
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    t = T.alloc_buffer((3, 8), "int32")
    V = T.decl_buffer(({extents}), "int32", data=t.data)
    for i in range(T.int64(4)):
        V[i, i + T.int64(1)] = A[i]
    for i in range(T.int64(4)):
        B[i] = V[i, i + T.int64(1)]
""")
    given = {"A": np.arange(8, dtype=np.int32), "B": np.zeros(8, np.int32)}
    seen: list[tuple[str, str]] = []
    assert assert_lowers_alike(func, [given], "CompactBuffer()", seen=lambda kind, name: seen.append((kind, name)))
    assert ("changed", "CompactBuffer") in seen
