"""Loops of nodes that run on several threads: which are marked, that marks are proved, and that the bits stay."""

from __future__ import annotations

import numpy as np
import pytest

from verified_tir import Schedule, build
from verified_tir.graph import GraphBuilder
from verified_tir.graph.execute import build as build_graph
from verified_tir.graph.parallel import run_in_parallel
from verified_tir.graph.schedules import scheduled
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import parse_func
from verified_tir.ir.stmt import For
from verified_tir.ir.visit import walk
from verified_tir.lower.vectorize_loop import VECTORS


def marked(func: PrimFunc) -> list[str]:
    return [n.var.name for n in walk(func.body) if isinstance(n, For) and n.kind == "parallel"]


def copies(*extents: int) -> Schedule:
    """A copy of an array, its loops called i0, i1 and so on."""
    names = ", ".join(f"i{k}" for k in range(len(extents)))
    return Schedule(f"""
@T.prim_func
def f(A: T.Buffer({extents}, "float32"), B: T.Buffer({extents}, "float32")):
    for {names} in T.grid{extents}:
        B[{names}] = A[{names}] * T.float32(2)
""")


@pytest.mark.parametrize(
    "extents, threads, wanted",
    [
        ((512, 512), 2, ["i0"]),
        ((1, 64, 64, 64), 2, ["i1"]),
        ((2, 256, 512), 2, ["i1"]),  # four iterations for each of two threads
        ((3, 300, 300), 4, ["i1"]),
        ((3, 7, 20000), 4, ["i2"]),
        ((3, 3, 30000), 3, ["i2"]),
        ((5, 3, 3, 9999), 4, ["i3"]),
        ((512, 512), 1, []),
        ((511, 512), 2, []),  # not worth it
    ],
)
def test_the_outermost_loop_with_iterations_for_all_threads(
    extents: tuple[int, ...], threads: int, wanted: list[str]
) -> None:
    s = copies(*extents)
    assert run_in_parallel(s, threads) == ()
    assert marked(s.func) == wanted


def test_loops_that_sum_are_left_out_and_each_nest_has_one() -> None:
    s = Schedule("""
@T.prim_func
def f(A: T.Buffer((600, 600), "float32"), B: T.Buffer((600,), "float32"), C: T.Buffer((600,), "float32")):
    for k in range(600):
        for i in range(600):
            B[i] = B[i] + A[k, i]
    for i in range(600):
        C[i] = T.float32(0)
        for k in range(600):
            C[i] = C[i] + A[i, k]
""")
    assert run_in_parallel(s, 2) == ()
    kinds = [(n.var.name, n.kind) for n in walk(s.func.body) if isinstance(n, For)]
    assert sorted(kinds) == [("i", "parallel"), ("i", "parallel"), ("k", "serial"), ("k", "serial")]


def test_a_mark_that_is_not_proved_is_refused_and_reported() -> None:
    """Neighbours store one element; a loop further inside is tried then."""
    s = Schedule("""
@T.prim_func
def f(A: T.Buffer((600, 600), "float32"), B: T.Buffer((300, 600), "float32")):
    for i, j in T.grid(600, 600):
        B[i // 2, j] = A[i, j]
""")
    (refused,) = run_in_parallel(s, 2)
    assert refused.startswith("i: ")
    assert "the same element of B" in refused
    assert marked(s.func) == ["j"]


def test_register_tiles_run_in_parallel_with_the_same_bits() -> None:
    func = parse_func("""
@T.prim_func
def f(A: T.Buffer((96, 80), "float32"), B: T.Buffer((80, 128), "float32"), C: T.Buffer((96, 128), "float32")):
    for i, j, k in T.grid(96, 128, 80):
        with T.sblock("C"):
            if k == 0:
                C[i, j] = T.float32(0)
            C[i, j] = C[i, j] + A[i, k] * B[k, j]
""")
    made = scheduled(func)
    assert made.refused == ()
    one = build(made.schedule, threads=1, pipeline=VECTORS)
    assert run_in_parallel(made.schedule, 2) == ()
    assert len(marked(made.schedule.func)) == 1
    two = build(made.schedule, threads=2, pipeline=VECTORS)
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((96, 80)).astype("float32"), rng.standard_normal((80, 128)).astype("float32")
    c, d = np.zeros((96, 128), np.float32), np.ones((96, 128), np.float32)
    one(a, b, c)
    two(a, b, d)
    assert (c.view(np.int32) == d.view(np.int32)).all()


def test_a_graph_on_one_thread_and_on_several() -> None:
    g = GraphBuilder()
    x = g.input("x", (1, 8, 40, 40))
    w = g.constant(np.random.default_rng(1).standard_normal((16, 8, 3, 3)).astype(np.float32), "w")
    graph = g.finish(g.op("nn.relu", g.op("nn.conv2d", x, w, padding=(1, 1, 1, 1))))
    data = np.random.default_rng(2).standard_normal((1, 8, 40, 40)).astype(np.float32)
    built = [build_graph(graph, threads=threads) for threads in (1, 2, 3)]
    results = [f(data) for f in built]
    assert all((r.view(np.int32) == results[0].view(np.int32)).all() for r in results)
    parallel = [marked(t.after) for t in built[-1].theorems]
    assert [len(m) for m in parallel] == [1]  # the activation is computed as the tiles are stored
