"""Lanes from constant places of memory on the stack: one shuffle, where they lie in one vector or in two."""

from __future__ import annotations

import numpy as np
import pytest

from verified_tir import Schedule, build, parse_func
from verified_tir.codegen.emit import emit
from verified_tir.codegen.target import Target
from verified_tir.semantics.interpreter import run

HOST = Target.host(1)


def program(index: str, size: int, lanes: int = 8, dtype: str = "int32") -> str:
    """A copy of an array on the stack, of which one vector is read."""
    return f"""
@T.prim_func
def f(A: T.Buffer(({size},), "{dtype}"), B: T.Buffer(({lanes},), "{dtype}")):
    copy = T.alloc_buffer(({size},), "{dtype}", scope="local")
    for i in range({size}):
        copy[i] = A[i]
    B[T.Ramp(0, 1, {lanes})] = copy[{index}]
"""


def shuffles(text: str, size: int) -> int:
    """How many shuffles the code has; what it computes is checked first."""
    func = parse_func(text)
    dtype = str(func.buffers[0].dtype)
    a, b = (np.arange(size) * 3).astype(dtype), np.zeros(8, dtype)
    s = Schedule(func)
    build(s, HOST)(a, b)
    wanted = run(func, {"A": a, "B": np.zeros(8, dtype)}).arrays["B"]
    assert (b == wanted).all(), (b, wanted)
    return emit(s.func, HOST).text.count("shufflevector")


EVEN = "T.Ramp(0, 2, 8)"
TURNED = "T.Ramp(0, 1, 8) // 2 * 2 + (1 - T.Ramp(0, 1, 8) % 2)"
"""Neighbours exchanged."""


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "int8", "float16"])
@pytest.mark.parametrize(
    "index", [EVEN, TURNED, "T.Ramp(15, -2, 8)", "T.Ramp(4, 1, 8) % 8 + 8", "T.Broadcast(3, 8) * 4 - T.Ramp(0, 1, 8)"]
)
def test_lanes_of_two_vectors_are_one_shuffle(index: str, dtype: str) -> None:
    assert shuffles(program(index, 16, dtype=dtype), 16) == 1


def test_lanes_side_by_side_are_one_load() -> None:
    assert shuffles(program("T.Ramp(3, 1, 8)", 16), 16) == 0


def test_lanes_of_three_vectors_are_taken_one_by_one() -> None:
    assert shuffles(program("T.Ramp(0, 3, 8)", 24), 24) == 0


def test_a_vector_that_is_not_all_there_is_not_loaded() -> None:
    assert shuffles(program(EVEN, 16), 16) == 1
    assert shuffles(program(EVEN, 15), 15) == 0


def test_memory_of_the_caller_is_read_where_the_program_reads_it() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((16,), "int32"), B: T.Buffer((8,), "int32")):
    B[T.Ramp(0, 1, 8)] = A[T.Ramp(0, 2, 8)]
"""
    assert shuffles(text, 16) == 0


def test_a_vector_that_reaches_into_another_view_is_not_said_to_stay_out_of_it() -> None:
    """Two views of one block: lanes that nobody uses may lie in the other one."""
    func = parse_func(f"""
@T.prim_func
def f(A: T.Buffer((16,), "int32"), B: T.Buffer((8,), "int32")):
    whole = T.alloc_buffer((16,), "int32", scope="local")
    left = T.decl_buffer((4,), "int32", data=whole.data, scope="local")
    right = T.decl_buffer((12,), "int32", data=whole.data, elem_offset=4, scope="local")
    for i in range(12):
        right[i] = A[i]
    for i in range(4):
        left[i] = A[i + 12]
    B[T.Ramp(0, 1, 8)] = right[{TURNED}]
""")
    a, b = np.arange(16, dtype=np.int32), np.zeros(8, np.int32)
    s = Schedule(func)
    build(s, HOST)(a, b)
    assert b.tolist() == [1, 0, 3, 2, 5, 4, 7, 6]
    vectors = [line for line in emit(s.func, HOST).text.splitlines() if "load <8 x i32>" in line]
    assert ["noalias" in line for line in vectors] == [False, True]
