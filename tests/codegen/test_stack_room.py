"""Small local buffers stay on the stack, where they become registers, also beside large ones."""

from __future__ import annotations

import numpy as np

from verified_tir import Schedule, build
from verified_tir.script import tir as T


@T.prim_func
def staged(A: T.Buffer((15000,), "float32"), B: T.Buffer((15000,), "float32")):
    copy = T.alloc_buffer((15000,), "float32")
    for i in range(15000):
        copy[i] = A[i] + T.float32(1)
    for i in range(15000):
        one = T.alloc_buffer((4,), "float32", scope="local")
        one[0] = copy[i]
        B[i] = one[0] * T.float32(2)


def test_a_small_buffer_is_on_the_stack_beside_a_large_one() -> None:
    f = build(Schedule(staged))
    a, b = np.arange(15000, dtype=np.float32), np.zeros(15000, np.float32)
    f(a, b)
    assert np.array_equal(b, (a + 1) * 2)
    assert f.llvm_ir.count("@aligned_alloc(i64 64, i64 60032)") == 1
    assert f.llvm_ir.count("call ptr @aligned_alloc") == 1
