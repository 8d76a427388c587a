"""A strategy with free parameters, for tests."""

from __future__ import annotations

from verified_tir import Schedule, schedule
from verified_tir.script import tir as T


@T.prim_func
def fill(A: T.Buffer((16,), "float32"), B: T.Buffer((1,), "float32")):
    for i in range(16):
        with T.block("ones"):
            A[i] = T.float32(1)
    for j in range(16):
        with T.block("sum"):
            B[0] = B[0] + A[j]


@schedule(fill)
def tiled(s: Schedule) -> None:
    i, _ = s.split("i", s.sample_perfect_tile("i", 2, decision=[8, 2]))
    if s.sample_categorical([0, 1], [0.5, 0.5]):
        s.parallel("j")  # a sum: refused
    s.unroll(i)


@schedule(fill)
def nested(s: Schedule) -> None:
    i, _ = s.split("i", s.sample_perfect_tile("i", 2))
    s.split(i, s.sample_perfect_tile(i, 2, decision=[4, 2]))  # its extent depends on the other decision
