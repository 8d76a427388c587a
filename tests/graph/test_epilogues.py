"""Elementwise nodes in the nodes before them: which are, what they compute, and that tiles store the last result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from verified_tir.graph import Graph, GraphBuilder
from verified_tir.graph.epilogues import with_epilogues
from verified_tir.graph.execute import build, evaluate
from verified_tir.graph.schedules import scheduled
from verified_tir.ir.script import script

SHAPE = (1, 4, 3, 16)


class Made:
    """A graph over two inputs, and its results."""

    def __init__(self, shape: tuple[int, ...] = SHAPE) -> None:
        self.channels = shape[1]
        self.g = GraphBuilder()
        self.x = self.g.input("x", shape)
        self.y = self.g.input("y", shape)
        self.rng = np.random.default_rng(0)

    def conv(self, v: Any, **attrs: Any) -> Any:
        w = self.g.constant(self.rng.standard_normal((self.channels, self.channels, 3, 3)).astype(np.float32), "w")
        return self.g.op("nn.conv2d", v, w, padding=(1, 1, 1, 1), **attrs)


def groups(graph: Graph) -> list[list[str]]:
    """The nodes that are merged into each, by their operators."""
    return [[part.split()[0] for part in (n.source if " + " in n.source else str(n)).split(" + ")]
            for n in with_epilogues(graph).nodes]  # fmt: skip


def same(graph: Graph) -> None:
    """Built, the graph computes the bits that the interpreter gives for the graph as it was."""
    rng = np.random.default_rng(1)
    given = [rng.standard_normal(v.shape).astype(np.float32) for v in graph.inputs]
    for ours, wanted in zip(build(graph).run(given), evaluate(graph, given), strict=True):
        assert np.array_equal(ours, wanted)


def test_a_residual_block() -> None:
    m = Made()
    c = m.conv(m.g.op("nn.relu", m.conv(m.x)))
    graph = m.g.finish(m.g.op("nn.relu", m.g.op("add", c, m.x)))
    assert groups(graph) == [["nn.conv2d", "nn.relu"], ["nn.conv2d", "add", "nn.relu"]]
    same(graph)


def test_of_two_sums_the_later_one_goes_on() -> None:
    m = Made()
    graph = m.g.finish(m.g.op("add", m.conv(m.x), m.conv(m.y)))
    assert groups(graph) == [["nn.conv2d"], ["nn.conv2d", "add"]]
    same(graph)


def test_what_is_wanted_elsewhere_stays() -> None:
    m = Made()
    c = m.conv(m.x)
    r = m.g.op("nn.relu", c)
    assert groups(m.g.finish(r, c)) == [["nn.conv2d"], ["nn.relu"]]
    m = Made()
    c = m.conv(m.x)
    both = m.g.finish(m.g.op("nn.relu", c), m.g.op("negative", c))
    assert groups(both) == [["nn.conv2d"], ["nn.relu"], ["negative"]]
    same(both)
    m = Made()
    c = m.conv(m.x)
    squared = m.g.finish(m.g.op("multiply", c, c))
    assert groups(squared) == [["nn.conv2d"], ["multiply"]]
    same(squared)


def test_what_is_not_of_each_element_alone_stays() -> None:
    m = Made()
    moved = m.g.op("permute_dims", m.g.op("nn.softmax", m.conv(m.x), axis=3), axes=(0, 1, 3, 2))
    graph = m.g.finish(m.g.op("nn.relu", moved))
    assert groups(graph) == [["nn.conv2d"], ["nn.softmax"], ["permute_dims", "nn.relu"]]
    same(graph)
    m = Made()
    row = m.g.op("sum", m.conv(m.x), axis=[2], keepdims=True)
    spread = m.g.finish(m.g.op("add", m.y, row))  # the sum's elements are each in many results
    assert groups(spread) == [["nn.conv2d"], ["sum"], ["add"]]
    same(spread)


def test_long_chains_are_cut() -> None:
    m = Made()
    v = m.x
    for _ in range(10):
        v = m.g.op("negative", v)
    graph = m.g.finish(v)
    assert [len(g) for g in groups(graph)] == [8, 2]
    same(graph)


def test_equal_groups_share_a_program() -> None:
    m = Made()
    v = m.g.op("nn.relu", m.conv(m.g.op("nn.relu", m.conv(m.x))))
    merged = with_epilogues(m.g.finish(v))
    one, two = merged.nodes
    assert one.func is two.func
    assert len(build(m.g.finish(v)).theorems) == 1


def test_open_sizes_stay_as_they_are() -> None:
    g = GraphBuilder()
    x = g.input("x", ("n", 4))
    graph = g.finish(g.op("nn.relu", g.op("negative", x)))
    assert with_epilogues(graph) is graph


@pytest.mark.parametrize("op", ["nn.relu", "sigmoid"])
def test_the_tile_stores_the_last_result(op: str) -> None:
    """No buffer holds the sums but the tile."""
    m = Made((1, 8, 8, 16))
    (node,) = with_epilogues(m.g.finish(m.g.op(op, m.conv(m.x)))).nodes
    assert node.func is not None
    made = scheduled(node.func, ["w"])
    assert not made.refused
    allocated = [line for line in script(made.schedule.func).splitlines() if "alloc_buffer" in line]
    assert len(allocated) == 2 and "local" in allocated[1], allocated  # the padded input, and the tile


def test_a_chain_moves_as_one_nest() -> None:
    m = Made((1, 8, 8, 16))
    v = m.g.op("nn.relu", m.g.op("add", m.conv(m.x), m.y))
    (node,) = with_epilogues(m.g.finish(v)).nodes
    assert node.func is not None
    made = scheduled(node.func, ["w"])
    assert not made.refused
    called = [step.name for step in made.schedule.steps]
    assert called.count("compute_inline") == called.count("reverse_compute_inline") == 1


def test_what_is_read_twice_moves_by_itself() -> None:
    """Inlined it would be computed twice."""
    m = Made((1, 8, 8, 16))
    r = m.g.op("exp", m.conv(m.x))
    (node,) = with_epilogues(m.g.finish(m.g.op("multiply", r, m.g.op("add", r, m.y)))).nodes[:1]
    assert node.func is not None
    made = scheduled(node.func, ["w"])
    assert not made.refused
    assert script(made.schedule.func).count("T.exp") == 1
