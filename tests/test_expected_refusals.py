"""``docs/trust.md`` lists what is refused though it is right.  When one of these is accepted, the page must change."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from verified_tir import Schedule, ScheduleError

Step = Callable[[Schedule], object]

TOTAL = """
@T.prim_func
def total(A: T.Buffer((4, 4), "int32"), B: T.Buffer((1,), "int32")):
    for i, j in T.grid(4, 4):
        B[0] = B[0] + A[i, j]
"""
FLAG = """
@T.prim_func
def flag(B: T.Buffer((1,), "int32")):
    for i in range(16):
        B[0] = 1
"""
SHIFT = """
@T.prim_func
def shift(A: T.Buffer((16,), "int32")):
    for i in range(15):
        A[i] = A[i + 1]
"""
ROW_SUM = """
@T.prim_func
def row_sum(a: T.handle, b: T.handle, n: T.int32):
    A = T.match_buffer(a, (4, n), "float32")
    B = T.match_buffer(b, (4,), "float32")
    for i, k in T.grid(4, n):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 0.0
            B[vi] = B[vi] + A[vi, vk]
"""
FILL = """
@T.prim_func
def fill(a: T.handle, m: T.int32, n: T.int32, k: T.int32):
    A = T.match_buffer(a, (m, n, k), "float32")
    T.assume(m >= 1 and n >= 1 and k >= 1)
    for i, j, l in T.grid(m, n, k):
        A[i, j, l] = 0.0
"""
VIEW = """
@T.prim_func
def view(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "int32")):
    V = T.decl_buffer((16,), "int32", data=A.data)
    for i in range(16):
        B[i] = V[i]
"""
VECTORS = """
@T.prim_func
def vectors(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(4):
        B[4 * i : 4 * i + 4] = A[4 * i : 4 * i + 4]
"""
OPAQUE = """
@T.prim_func
def opaque(A: T.Buffer((16,), "float32")):
    for i in range(16):
        T.evaluate(T.call_extern("int32", "g", A.data, i))
"""


def layout(s: Schedule) -> None:
    s.transform_layout("A", lambda i: [i // 4, i % 4])


REFUSED: dict[str, tuple[str, Step]] = {
    "an integer sum in parallel": (TOTAL, lambda s: s.parallel("i")),
    "the same bits twice": (FLAG, lambda s: s.parallel("i")),
    "lanes that read before they write": (SHIFT, lambda s: s.vectorize("i")),
    "a reduction that may be empty": (ROW_SUM, lambda s: s.decompose_reduction("sum", "k")),
    "symbolic loops of which the last may be empty": (
        FILL.replace(" and k >= 1", ""),
        lambda s: s.fuse("i", "j", "l"),
    ),
    "a split by a symbolic factor": (FILL, lambda s: s.split("i", [None, s.symbol("n")])),  # type: ignore[list-item]
    "a layout under another view": (VIEW, layout),
    "a layout under vector accesses": (VECTORS, layout),
    "an opaque call in parallel": (OPAQUE, lambda s: s.parallel("i")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    program, step = REFUSED[name]
    s = Schedule(program)
    with pytest.raises(ScheduleError):
        step(s)


def test_integer_sums_run_in_any_order() -> None:
    s = Schedule(TOTAL)
    s.reorder("j", "i")
    assert [v.name for v in s.loops()] == ["j", "i"]


def test_what_the_page_recommends_instead() -> None:
    s = Schedule(FILL)
    s.fuse("i", "j", "l")
    s = Schedule(ROW_SUM.replace("    for i", "    T.assume(n >= 1)\n    for i"))
    s.decompose_reduction("sum", "k")
