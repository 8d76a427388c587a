"""Parallel loops: what they capture, how they divide their range, and what becomes of failures."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading

import numpy as np
import pytest

from tests.codegen.emit_support import Compiled, check
from verified_tir.codegen.target import Target
from verified_tir.ir.script import parse_func


def floats(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.random.default_rng(2).standard_normal(shape).astype(np.float32)


@pytest.mark.sample(7)
@pytest.mark.parametrize("threads", [2, 3, 16])
@pytest.mark.parametrize("low, extent", [(0, 1), (0, 2), (-3, 5), (7, 16), (0, 33), (5, 0), (0, -4)])
def test_every_iteration_runs_once(low: int, extent: int, threads: int) -> None:
    check(
        """
@T.prim_func
def f(A: T.Buffer((64,), "int32"), low: T.int32, extent: T.int32):
    for i in T.parallel(low, low + extent):
        A[i + 8] = A[i + 8] + i + 1000
""",
        Target.host(threads), A=np.arange(64, dtype=np.int32), low=low, extent=extent,
    )  # fmt: skip


def test_what_a_body_captures() -> None:
    """Scalars of several types, loop variables, lets, blocks of every kind, strides and offsets."""
    check(
        """
@T.prim_func
def f(a: T.handle, B: T.Buffer((6, 4), "float32"), x: T.float32, h: T.float16, w: T.bfloat16, p: T.bool, k: T.int64):
    n = T.int32()
    m = T.int32()
    A = T.match_buffer(a, (n, m), "float32")
    small = T.alloc_buffer((4,), "float32")
    large = T.alloc_buffer((n, 20000), "float32")
    for i in range(4):
        small[i] = A[i, i] + x
    for o in range(2):
        q: T.let[T.int32] = o * 3
        z: T.let[T.float32] = small[o]
        V = T.decl_buffer((n, m), "float32", data=A.data, strides=(m, 1))
        W = T.decl_buffer((3, 4), "float32", data=B.data, elem_offset=q * 4)
        for i in T.parallel(3):
            for j in T.serial(4):
                large[i, j] = V[q + i, j] * z + T.Cast("float32", h) - T.Cast("float32", w)
                W[i, j] = T.if_then_else(p, large[i, j], x) + T.Cast("float32", k) + small[j]
""",
        A=floats(6, 4), B=floats(6, 4), x=1.5, h=0.25, w=-3.0, p=True, k=1 << 40,
    )  # fmt: skip


def test_nested_and_repeated_parallel_loops() -> None:
    check(
        """
@T.prim_func
def f(A: T.Buffer((5, 7), "int32"), B: T.Buffer((7,), "int32")):
    for t in range(3):
        for i in T.parallel(5):
            for j in T.parallel(7):
                A[i, j] = A[i, j] * 2 + B[j]
        for j in T.parallel(7):
            acc = T.alloc_buffer((1,), "int32")
            acc[0] = 0
            for i in range(5):
                acc[0] = acc[0] + A[i, j]
            B[j] = acc[0] + t
""",
        A=np.arange(35, dtype=np.int32).reshape(5, 7), B=np.arange(7, dtype=np.int32),
    )  # fmt: skip


def test_a_failure_in_any_part_is_reported_and_nothing_leaks() -> None:
    machine = Compiled(
        parse_func("""
@T.prim_func
def f(A: T.Buffer((8,), "int32"), n: T.int32):
    outer = T.alloc_buffer((n, 1000000), "float32")
    for i in T.parallel(8):
        t = T.alloc_buffer((n, 1000000), "float32")
        t[0, i] = 1.0
        assert A[i] != 7, "no sevens"
        outer[0, i] = t[0, i]
""")
    )
    for place in range(8):
        a = np.zeros(8, np.int32)
        assert machine({"A": a, "n": 1}) == 0
        a[place] = 7
        assert machine({"A": a, "n": 1}) == 1
    a[:] = 7
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(300):
        assert machine({"A": a, "n": 1}) == 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # KB; a leak would take 3 GB


def test_calls_from_several_threads_at_once() -> None:
    machine = Compiled(
        parse_func("""
@T.prim_func
def f(A: T.Buffer((1000,), "float32"), B: T.Buffer((1000,), "float32")):
    for i in T.parallel(1000):
        B[i] = T.exp(A[i])
""")
    )
    a, wanted = floats(1000), np.zeros(1000, np.float32)
    machine({"A": a, "B": wanted})
    wrong = []

    def work() -> None:
        for _ in range(50):
            b = np.zeros(1000, np.float32)
            if machine({"A": a, "B": b}) != 0 or not (b == wanted).all():
                wrong.append(b)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert not wrong


WITHOUT_THREADS = """
import resource, threading
import numpy as np
from tests.codegen.emit_support import Compiled
from verified_tir.ir.script import parse_func
machine = Compiled(parse_func('''
@T.prim_func
def f(A: T.Buffer((100,), "int32")):
    for i in T.parallel(100):
        A[i] = A[i] + i
'''))
a = np.zeros(100, np.int32)
resource.setrlimit(resource.RLIMIT_AS, (1 << 20, -1))
try:
    threading.Thread(target=print).start()
except RuntimeError:
    print("no threads")
assert machine({"A": a}) == 0
assert (a == np.arange(100)).all()
print("right")
"""


def test_a_thread_that_cannot_be_had_and_a_fork() -> None:
    """Without address space for a stack, ``pthread_create`` fails; its part is done by the caller."""
    done = subprocess.run([sys.executable, "-c", WITHOUT_THREADS], capture_output=True, text=True, check=False)
    assert done.stdout == "no threads\nright\n", done.stderr
    machine = Compiled(
        parse_func("""
@T.prim_func
def f(A: T.Buffer((100,), "int32")):
    for i in T.parallel(100):
        A[i] = A[i] + i
""")
    )
    a = np.zeros(100, np.int32)
    assert machine({"A": a}) == 0
    child = os.fork()
    if child == 0:
        status = machine({"A": a})
        os._exit(0 if status == 0 and (a == 2 * np.arange(100)).all() else 1)
    assert os.waitpid(child, 0)[1] == 0
