"""cache_read for consumers in several nests: the copy is made where their input is written."""

from __future__ import annotations

from tests.schedule.schedule_support import accepted, refused
from verified_tir import Schedule

TILES = """
@T.prim_func
def f(X: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32"), C: T.Buffer((128,), "float32")):
    A = T.alloc_buffer((128,), "float32")
    for i in range(8):
        for j in range(16):
            with T.sblock("A"):
                A[i * 16 + j] = X[i * 16 + j] * 2.0
        for j in range(16):
            with T.sblock("B"):
                B[i * 16 + j] = A[i * 16 + j] + 1.0
{between}
    for i in range(128):
        with T.sblock("C"):
            C[i] = A[i]
"""


def both(s: Schedule) -> object:
    return s.cache_read("B", 0, "global", consumer_blocks=["B", "C"])


def test_two_consumers() -> None:
    s = accepted(TILES.format(between=""), both)
    assert s.script().endswith("""
    A = T.alloc_buffer((128,), "float32")
    A_global = T.alloc_buffer((128,), "float32")
    for i in range(8):
        for j in range(16):
            with T.sblock("A"):
                A[i * 16 + j] = X[i * 16 + j] * T.float32(2.0)
        for ax0 in range(16):
            with T.sblock("A_global"):
                A_global[ax0 + 16 * i] = A[ax0 + 16 * i]
        for j in range(16):
            with T.sblock("B"):
                B[i * 16 + j] = A_global[i * 16 + j] + T.float32(1.0)
    for i in range(128):
        with T.sblock("C"):
            C[i] = A_global[i]""")


def test_what_is_written_in_between_is_not_in_the_copy() -> None:
    between = '    for i in range(128):\n        with T.sblock("again"):\n            A[i] = X[i]'
    refused(TILES.format(between=between), both, "comes after its last read")
