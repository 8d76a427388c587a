"""Symbolic shapes through whole pipelines: the lowered program and its machine code, at sizes around the tile."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.lower.lower_support import agree
from verified_tir import Schedule, script
from verified_tir.codegen.build import build
from verified_tir.lower.loop_partition import LoopPartition
from verified_tir.lower.pipelines import PIPELINES
from verified_tir.semantics.interpreter import run
from verified_tir.semantics.interpreter.outcome import same_bits

COPY = """
@T.prim_func
def f(A: T.Buffer(("n",), "float32"), B: T.Buffer((n,), "float32"), n: T.int32):
    for i in range(n):
        with T.block("b"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi] * 2.0 + 1.0
"""
ROWS = """
@T.prim_func
def f(A: T.Buffer(("n", "m"), "float32"), B: T.Buffer((n,), "float32"), n: T.int32, m: T.int32):
    for i, k in T.grid(n, m):
        with T.block("b"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 0.0
            B[vi] = B[vi] + A[vi, vk]
"""
LOCAL = """
@T.prim_func
def f(A: T.Buffer(("n", "m"), "int32"), B: T.Buffer((n, m), "int32"), n: T.int32, m: T.int32):
    t = T.alloc_buffer((n, m), "int32")
    for i, j in T.grid(n, m):
        t[i, j] = A[i, j] * 3
    for i, j in T.grid(n, m):
        B[i, j] = t[i, m - 1 - j] + 1
"""


def vectors(s: Schedule) -> None:
    _, inner = s.split("i", [None, 4])
    s.vectorize(inner)


def padded(s: Schedule) -> None:
    s.transform_layout("A", lambda i: [i // 4, i % 4], pad_value=0.0)
    vectors(s)


def forbidden(s: Schedule) -> None:
    s.transform_layout("B", lambda i: [i // 4, i % 4])
    vectors(s)


def rows(s: Schedule) -> None:
    outer, inner = s.split("i", [None, 2])
    s.parallel(outer)
    s.unroll(inner)


def columns(s: Schedule) -> None:
    for name in ("A", "B"):
        s.transform_layout(name, lambda i, j: [j, i])


CASES: dict[str, tuple[str, Callable[[Schedule], None]]] = {
    "copy": (COPY, vectors),
    "padded": (COPY, padded),
    "forbidden": (COPY, forbidden),
    "rows": (ROWS, rows),
    "local": (LOCAL, lambda s: None),
    "columns": (LOCAL, columns),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("pipeline", ["default", "full", "partitioned"])
@pytest.mark.parametrize("name", CASES)
def test_at_many_sizes(name: str, pipeline: str) -> None:
    text, steps = CASES[name]
    s = Schedule(text)
    steps(s)
    passes = LoopPartition() >> PIPELINES["default"] if pipeline == "partitioned" else PIPELINES[pipeline]
    theorem = passes.run(s)
    agree(s, theorem, work=300)
    compiled = build(theorem, threads=1, cache=False)
    rng = np.random.default_rng(1)
    func = theorem.after
    for n in (0, 1, 3, 4, 5, 9):
        m = 5
        sizes = {"n": n, "m": m}
        arrays = {}
        for b in func.buffers:
            shape = _shape(b, sizes)
            arrays[b.name] = np.zeros(shape, str(b.dtype))
            logical = {"copy": (n,), "padded": (n,), "forbidden": (n,)}.get(name)
            if logical is not None and len(shape) == 2:  # the padding is zero, whatever stands elsewhere
                arrays[b.name].reshape(-1)[:n] = rng.integers(-9, 9, n)
            else:
                arrays[b.name][...] = rng.integers(-9, 9, shape)
        scalars = {p.name: sizes[p.name] for p in func.params if func.buffer_of(p) is None}
        given = {k: a.copy() for k, a in arrays.items()}
        compiled(*[scalars[p.name] if (b := func.buffer_of(p)) is None else given[b.name] for p in func.params])
        outcome = run(func, {**arrays, **scalars})
        for b in func.buffers:
            different = outcome.defined[b.name] & ~same_bits(outcome.arrays[b.name], given[b.name])
            assert not different.any(), f"n = {n}: {b.name}\n{script(func)}"


def _shape(buffer: object, sizes: dict[str, int]) -> tuple[int, ...]:
    from verified_tir.index.evaluate import evaluate
    from verified_tir.ir.visit import free_vars

    extents = list(buffer.shape)  # type: ignore[attr-defined]
    values = {v: sizes[v.name] for e in extents for v in free_vars(e)}
    return tuple(int(x) for x in evaluate(extents, values))
