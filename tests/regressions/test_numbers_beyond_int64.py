"""Numbers of uint64 from 2**63 on are no negative ones in machine code.

Indices are computed modulo 2**64, constants with a sign.  The variable of a loop that is written out was such a
constant and became a negative number where the program computed with it; a constant extent that was folded gave no
iterations, as did one of a parallel loop.  A local buffer of so many elements got 64 bytes, as did one whose constant
extents have a product beyond 64 bits.
"""

from __future__ import annotations

import numpy as np
import pytest

from verified_tir import Schedule, build
from verified_tir.codegen.target import Target
from verified_tir.semantics.interpreter import run

LOOPS = {
    "quotient": """
    for i in T.unroll(T.uint64(18446744073709551608), T.uint64(18446744073709551611)):
        A[i - T.uint64(18446744073709551608)] = i // T.uint64(3)
""",
    "comparison": """
    for i in T.unroll(T.uint64(9223372036854775807), T.uint64(9223372036854775810)):
        A[i - T.uint64(9223372036854775807)] = T.Select(i > T.uint64(7), T.uint64(1), T.uint64(0))
""",
    "index": """
    for i in T.unroll(T.uint64(9223372036854775808), T.uint64(9223372036854775811)):
        A[(i // T.uint64(3)) - T.uint64(3074457345618258602)] = T.uint64(5)
""",
    "single iteration": """
    for k in T.unroll(T.uint64(3)):
        for i in T.serial(k + T.uint64(18446744073709551600), k + T.uint64(18446744073709551601)):
            A[k] = i // T.uint64(3)
""",
    "several": """
    for k in T.unroll(T.uint64(3)):
        for i in T.serial(k + T.uint64(18446744073709551600), k + T.uint64(18446744073709551603)):
            A[k] = i // T.uint64(3)
""",
    "lanes": """
    copy = T.alloc_buffer((8,), "uint64", scope="local")
    for i in T.unroll(T.uint64(8)):
        copy[i] = i * T.uint64(7)
    for i in T.unroll(T.uint64(9223372036854775808), T.uint64(9223372036854775809)):
        A[T.Ramp(0, 1, 2)] = copy[T.Ramp(i - T.uint64(9223372036854775808), T.uint64(2), 2)]
        A[T.Ramp(T.uint64(1), T.uint64(1), 2)] = copy[T.Ramp(i, T.uint64(2), 2) // T.uint64(4611686018427387904)]
""",
    "small": """
    for i in T.unroll(T.uint64(3)):
        A[i] = (i + T.uint64(9223372036854775806)) // T.uint64(3)
""",
}


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("dynamic", [False, True])
def test_variables_of_loops_that_are_written_out(name: str, dynamic: bool) -> None:
    text = LOOPS[name].replace("T.unroll", "T.serial") if dynamic else LOOPS[name]
    s = Schedule(f'\n@T.prim_func\ndef f(A: T.Buffer((3,), "uint64")):{text}')
    a = np.full(3, 7, np.uint64)
    want = run(s.theorem.before, {"A": a.copy()}).arrays["A"]
    build(s, cache=False)(a)
    assert a.tolist() == want.tolist()


def test_an_extent_that_is_folded_is_not_negative() -> None:
    s = Schedule("""
@T.prim_func
def f(A: T.Buffer((1,), "int32")):
    for k in T.unroll(T.uint64(9223372036854775808), T.uint64(9223372036854775810)):
        for i in T.unroll(k):
            assert i < T.uint64(5), "at most five"
    A[0] = 1
""")
    with pytest.raises(AssertionError, match="at most five"):
        build(s, cache=False)(np.zeros(1, np.int32))


def test_a_signed_extent_that_is_folded_may_be_negative() -> None:
    s = Schedule("""
@T.prim_func
def f(A: T.Buffer((1,), "int32")):
    for k in T.unroll(2):
        for i in T.serial(k - 3):
            assert i < 0, "never"
    A[0] = 1
""")
    a = np.zeros(1, np.int32)
    build(s, cache=False)(a)
    assert a.tolist() == [1]


PARALLEL = """
@T.prim_func
def f(A: T.Buffer((1,), "uint8"), n: {dtype}):
    for i in T.parallel(n):
        W = T.alloc_buffer((n,), "uint8")
        W[i] = T.uint8(1)
    A[0] = T.uint8(1)
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_parallel_loops_of_so_many_iterations_run(threads: int) -> None:
    """That no iteration gets the memory which it asks for shows that one began."""
    f = build(Schedule(PARALLEL.format(dtype="T.uint64")), Target.host(threads=threads), cache=False)
    a = np.zeros(1, np.uint8)
    f(a, 3)
    assert a.tolist() == [1]
    for n in (2**63, 2**64 - 1):
        with pytest.raises(MemoryError):
            f(a, n)


@pytest.mark.parametrize("threads", [1, 2])
def test_parallel_loops_of_negative_extent_do_not(threads: int) -> None:
    f = build(Schedule(PARALLEL.format(dtype="T.int64")), Target.host(threads=threads), cache=False)
    a = np.zeros(1, np.uint8)
    f(a, -5)
    assert a.tolist() == [1]


BUFFERS = {
    "extent": 'W = T.alloc_buffer((n,), "uint8")',
    "extents": 'W = T.alloc_buffer((n, T.uint64(1)), "uint8")',
    "strides": 'W = T.alloc_buffer((n,), "uint8", strides=(T.uint64(1),))',
    "offset": 'W = T.alloc_buffer((T.uint64(4),), "uint8", strides=(T.uint64(1),), elem_offset=n)',
    "step": 'W = T.alloc_buffer((T.uint64(4),), "uint8", strides=(n,))',
    "constants": 'W = T.alloc_buffer((T.int64(1099511627776), T.int64(1099511627776)), "uint8")',
}


@pytest.mark.parametrize("name", BUFFERS)
def test_memory_that_nobody_has(name: str) -> None:
    element = {"extents": "T.uint64(0), T.uint64(0)", "constants": "T.int64(0), T.int64(0)"}.get(name, "T.uint64(0)")
    text = f"""
@T.prim_func
def f(A: T.Buffer((1,), "uint8"), n: T.uint64):
    if n > T.uint64(8):
        {BUFFERS[name]}
        W[{element}] = A[0] + T.uint8(1)
        A[0] = W[{element}]
"""
    f = build(Schedule(text), cache=False)
    a = np.zeros(1, np.uint8)
    for n in (2**63, 2**63 + 5, 2**64 - 1):
        with pytest.raises(MemoryError):
            f(a, n)
    if name != "constants":
        f(a, 100)
        assert a.tolist() == [1]


def test_a_stride_that_no_element_needs_takes_no_memory() -> None:
    f = build(
        Schedule("""
@T.prim_func
def f(A: T.Buffer((1,), "uint8"), n: T.uint64):
    W = T.alloc_buffer((T.uint64(1),), "uint8", strides=(n,))
    W[T.uint64(0)] = A[0] + T.uint8(1)
    A[0] = W[T.uint64(0)]
"""),
        cache=False,
    )
    a = np.zeros(1, np.uint8)
    f(a, 2**64 - 1)
    assert a.tolist() == [1]
