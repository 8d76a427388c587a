"""How much a program computes."""

from __future__ import annotations

import pytest

from verified_tir import parse_func
from verified_tir.bench.operations import least_bytes, operations
from verified_tir.schedule.replay_inputs import extents_of, symbols

PRODUCT = """
@T.prim_func
def product(a: T.handle, b: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 8), "float32")
    B = T.match_buffer(b, (8, 4), "float32")
    C = T.match_buffer(c, (n, 4), "float32")
    for i, j in T.grid(n, 4):
        C[i, j] = 0.0
        for k in range(8):
            {store}
"""


@pytest.mark.parametrize(
    ("store", "each"),
    [
        ("C[i, j] = C[i, j] + A[i, k] * B[k, j]", 2),
        ("C[i, j] = T.fma(A[i, k], B[k, j], C[i, j])", 2),
        ("C[i, j] = T.max(C[i, j], A[i, k])", 1),
        ("C[i, j] = A[i, T.min(k + 1, 7)]", 0),
        ("if k > 3:\n                C[i, j] = A[i, k] + A[i, 0]", 1),
    ],
)
def test_operations_are_counted(store: str, each: int) -> None:
    func = parse_func(PRODUCT.format(store=store))
    (n,) = symbols(func)
    assert operations(func, {n: 5}) == 5 * 4 * 8 * each
    assert operations(func, {n: 0}) == 0
    extents = extents_of(func, {"n": 5})
    assert extents is not None and least_bytes(func, extents) == 4 * (5 * 8 + 8 * 4 + 5 * 4)


def test_lanes_count() -> None:
    func = parse_func("""
@T.prim_func
def f(A: T.Buffer((16,), "float32")):
    for i in range(4):
        A[i * 4:i * 4 + 4] = A[i * 4:i * 4 + 4] * T.Broadcast(T.float32(2), 4)
""")
    assert operations(func, {}) == 16


def test_loops_that_depend_on_others_are_not_counted() -> None:
    func = parse_func("""
@T.prim_func
def f(A: T.Buffer((16,), "float32")):
    for i in range(16):
        for j in range(i):
            A[j] = A[j] + A[i]
""")
    assert operations(func, {}) is None
