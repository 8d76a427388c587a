"""Loops whose range depends on another one, exchanged with it: the box around the range, and a guard."""

from __future__ import annotations

import numpy as np
import pytest

from verified_tir import NotApplicable, Refuted, Schedule
from verified_tir.semantics.interpreter import refines, run

PROGRAM = """
@T.prim_func
def f(A: T.Buffer((12, 24), "float32"), n: T.int32):
    T.assume(0 <= n and n <= 12)
    for i in range({rows}):
        for j in range({columns}):
            A[i, j] = A[i, j] * 2.0 + T.Cast("float32", i - j)
"""

RANGES = [
    ("12", "i + 1"),
    ("12", "i, 12"),
    ("n", "i + 1"),
    ("n", "i - 5"),  # empty for small i
    ("3, 9", "i, 2 * i"),
    ("12", "T.min(4, 12 - i)"),
    ("12", "i // 2, 3 * i // 2"),
    ("12", "T.max(0, i - 3), T.min(12, i + 4)"),
]


def same(program: str, s: Schedule, n: int) -> None:
    a = np.arange(12 * 24, dtype=np.float32).reshape(12, 24)
    assert not refines(run(Schedule(program).func, {"A": a, "n": n}), run(s.func, {"A": a, "n": n}))


@pytest.mark.parametrize(("rows", "columns"), RANGES)
def test_the_inner_loop_goes_outside(rows: str, columns: str) -> None:
    program = PROGRAM.format(rows=rows, columns=columns)
    s = Schedule(program)
    s.reorder("j", "i")
    assert [v.name for v in s.loops()] == ["j", "i"]
    for n in (0, 7):
        same(program, s, n)


@pytest.mark.sample(5)
@pytest.mark.parametrize(("rows", "columns"), RANGES)
def test_tiles_of_a_triangle(rows: str, columns: str) -> None:
    program = PROGRAM.format(rows=rows, columns=columns)
    s = Schedule(program)
    s.tile("i", "j", factors=[4, 3])
    same(program, s, 7)


def test_the_triangle_as_text() -> None:
    s = Schedule(PROGRAM.format(rows="n", columns="i + 1"))
    s.reorder("j", "i")
    assert "for j, i in T.grid(n, n):\n        if j < i + 1:" in s.script()


def test_a_dependence_still_counts() -> None:
    s = Schedule("""
@T.prim_func
def f(A: T.Buffer((9, 9), "int32")):
    for i in range(8):
        for j in range(i + 1):
            A[i + 1, j] = A[i, j + 1] + 1
""")
    with pytest.raises(Refuted) as refused:
        s.reorder("j", "i")
    assert refused.value.confirmed


@pytest.mark.parametrize("columns", ["B[i]", "i * i"])
def test_a_range_without_bounds_is_refused(columns: str) -> None:
    s = Schedule(f"""
@T.prim_func
def f(A: T.Buffer((5, 16), "int32"), B: T.Buffer((5,), "int32")):
    for i in range(5):
        T.assume(0 <= B[i] and B[i] <= 16)
    for y in range(5):
        for x in range({columns.replace("i", "y")}):
            A[y, x] = 1
""")
    with pytest.raises(NotApplicable, match="must stay outside it: no bounds of it were found"):
        s.reorder("x", "y")
