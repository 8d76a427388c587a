"""Our programs as TVM compiles them compute the same."""

from __future__ import annotations

import numpy as np

from verified_tir import parse_func
from verified_tir.codegen.target import Target
from verified_tir.interop.tvm.machine_code import as_tvm_reads_it, compiled
from verified_tir.ir.script import script

TWO_PARTS = parse_func("""
@T.prim_func
def twice(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), x: T.float32):
    with T.alloc_buffer((4,), "float32") as first:
        for i in range(4):
            first[i] = A[i] * x
        for i in range(4):
            B[i] = first[i] + first[3 - i]
    with T.alloc_buffer((4,), "float32") as second:
        for i in range(4):
            second[i] = A[i + 4]
            with T.alloc_buffer((1,), "float32") as third:
                third[0] = second[i]
                B[i + 4] = third[0]
""")


def test_a_program_is_compiled_and_called_on_copies() -> None:
    a, b = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    call = compiled(TWO_PARTS, Target.host(1).cpu, [a, b, 2.0], [1])
    (first,), (again,) = call(), call()
    assert first.tolist() == [6, 6, 6, 6, 4, 5, 6, 7] and again is first
    assert not b.any()


def test_memory_is_declared_as_tvm_does() -> None:
    text = as_tvm_reads_it(script(TWO_PARTS))
    assert "with T.alloc_buffer" not in text
    assert [line for line in text.splitlines() if "alloc_buffer" in line] == [
        '    first = T.alloc_buffer((4,), "float32")',
        '    second = T.alloc_buffer((4,), "float32")',
        '        third = T.alloc_buffer((1,), "float32")',
    ]
