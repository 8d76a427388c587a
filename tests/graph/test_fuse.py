"""Rewrites put into the programs beside them, each with its proof; what cannot be fused stays, with the reason."""

from __future__ import annotations

import numpy as np
import pytest

from verified_tir import IndexMap
from verified_tir.graph import Graph, GraphBuilder
from verified_tir.graph.annotate import Annotations
from verified_tir.graph.execute import evaluate
from verified_tir.graph.fuse import Fused, fuse_rewrites
from verified_tir.graph.plan import plan

X = (1, 6, 2, 2)
TILES = IndexMap.from_func(lambda n, c, h, w: [n, c // 4, h, w, c % 4], 4)
NHWC = IndexMap.from_func(lambda n, c, h, w: [n, h, w, c], 4)


def same_bits(after: Graph, before: Graph) -> None:
    arrays = [np.random.default_rng(1).standard_normal(v.shape).astype(np.float32) for v in before.inputs]
    for got, want in zip(evaluate(after, arrays), evaluate(before, arrays), strict=True):
        np.testing.assert_array_equal(got, want)


def ops(made: Fused) -> list[str]:
    return [n.op for n in made.graph.nodes]


def test_the_producer_stores_where_the_rewrite_would_have_moved_it() -> None:
    g = GraphBuilder()
    y = g.op("nn.relu", g.input("x", X))
    graph = g.finish(g.op("layout_transform", y, index_map=NHWC))
    made = fuse_rewrites(graph)
    assert ops(made) == ["call_tir"] and not made.notes
    assert made.fusions[0].proof.theorem.after is made.graph.nodes[0].func
    same_bits(made.graph, graph)


def test_the_consumers_read_from_where_it_was() -> None:
    g = GraphBuilder()
    y = g.op("layout_transform", g.input("x", X), index_map=TILES, pad_value=0.0)
    graph = g.finish(g.op("sum", y, axis=(1, 4)), g.op("nn.relu", y))
    made = fuse_rewrites(graph)
    assert ops(made) == ["call_tir", "call_tir"] and len(made.fusions) == 2
    same_bits(made.graph, graph)


def test_a_sum_does_not_store_elsewhere_and_a_result_stays() -> None:
    g = GraphBuilder()
    y = g.op("sum", g.input("x", X), axis=(3,))
    graph = g.finish(g.op("permute_dims", y, axes=(0, 2, 1)))
    made = fuse_rewrites(graph)
    assert ops(made) == ["sum", "permute_dims"]
    assert "cannot store in another place" in made.notes[0] and "is a result of the graph" in made.notes[0]


@pytest.mark.nightly
def test_a_plan_without_rewrites() -> None:
    g = GraphBuilder()
    x = g.input("x", X)
    w = g.constant(np.ones((8, 6, 1, 1), np.float32), "w")
    y = g.op("nn.relu", g.op("nn.conv2d", g.op("nn.relu", x, name="a"), w, padding=(1, 1, 1, 1), name="conv"), name="b")
    graph = g.finish(g.op("add", y, x if y.shape == X else y))
    frozen = Annotations({"conv2d": "NHWC"}).frozen(graph)
    left = plan(graph, frozen)
    made = plan(graph, frozen, fuse=True)
    assert left.rewrites and not made.rewrites and left.cost > 0 == made.cost
    assert len(made.fused) == len(left.rewrites) and all(f.into in made.graph.nodes for f in made.fused)
    same_bits(made.graph, graph)
