"""Planning: what is chosen is cheapest, what is changed is proved, and the planned graph gives the same bits."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from verified_tir.graph import Graph, GraphBuilder, GraphError, Node, Value
from verified_tir.graph.annotate import Annotations, layout_named
from verified_tir.graph.choose import choose, cost_of
from verified_tir.graph.execute import evaluate
from verified_tir.graph.layouts import PLAIN
from verified_tir.graph.options import Option
from verified_tir.graph.plan import plan


def residual() -> Graph:
    """Two convolutions, a sum, pooling, a dense layer."""
    g = GraphBuilder()
    rng = np.random.default_rng(0)

    def weights(*shape: int) -> Value:
        return g.constant(rng.integers(-2, 3, shape).astype(np.float32), "w")

    x = g.input("x", (1, 3, 4, 2))
    y = g.op("nn.conv2d", x, weights(4, 3, 1, 1), name="first")
    y = g.op("nn.relu", y)
    z = g.op("nn.conv2d", y, weights(4, 4, 3, 1), weights(4), padding=(1, 0, 1, 0), name="second")
    z = g.op("nn.max_pool2d", g.op("add", z, y), pool_size=(2, 2), strides=(2, 2))
    z = g.op("reshape", g.op("nn.global_avg_pool2d", z), shape=(1, 4))
    return g.finish(g.op("nn.dense", z, weights(5, 4)))


@pytest.mark.nightly
def test_layouts_flow_through_and_weights_are_packed() -> None:
    graph = residual()
    made = plan(graph, Annotations({"conv2d": "NCHW2c"}, pad="never").frozen(graph))
    assert made.cost == 0 and not made.rewrites and made.naive > 0
    assert [n.op for n in made.graph.nodes] == ["call_tir"] * 7 + ["nn.dense"]  # the reshape reads tiles
    shapes = {v.name: v.shape for v in made.graph.values()}
    assert shapes["second_moved"] == (1, 2, 4, 2, 2)
    assert shapes["w_1_packed"] == (2, 2, 3, 1, 2, 2)
    x = np.random.default_rng(1).standard_normal((1, 3, 4, 2)).astype(np.float32)
    np.testing.assert_array_equal(evaluate(made.graph, [x]), evaluate(graph, [x]))


@pytest.mark.nightly
@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("op", "attrs", "rows", "weights"),
    [
        ("matmul", {}, (2, 3, 4), (4, 8)),
        ("matmul", {"transpose_b": True}, (2, 3, 4), (8, 4)),
        ("matmul", {"transpose_a": True}, (2, 4, 3), (4, 8)),
        ("nn.dense", {}, (3, 4), (8, 4)),
    ],
)
def test_products_with_weights_in_a_layout(
    op: str, attrs: dict[str, bool], rows: tuple[int, ...], weights: tuple[int, ...]
) -> None:
    """What the rows have, the results have, with N in the place of K; dimensions before these stay in front."""
    g = GraphBuilder()
    rng = np.random.default_rng(0)
    x, w = g.input("x", rows), g.constant(rng.integers(-2, 3, weights).astype(np.float32), "w")
    y = g.op("nn.relu", g.op(op, x, w, **attrs, name="y"), name="z")
    graph = g.finish(y)
    made = plan(graph, Annotations({op: "KM2k"}).frozen(graph), flow="forward")
    shapes = {v.name: v.shape for v in made.graph.values()}
    assert shapes["x_layout"] == (*rows[:-2], 2, 3, 2) and shapes["y_moved"] == (*rows[:-2], 4, 3, 2)
    assert shapes["w_packed"] == (4, 2, 2, 2)
    assert [why for _, why in made.rewrites] == [f"x for {op} y", "y for nn.relu z"]
    a = rng.integers(-2, 3, rows).astype(np.float32)
    np.testing.assert_array_equal(evaluate(made.graph, [a]), evaluate(graph, [a]))


def test_products_of_two_values_take_what_reaches_them() -> None:
    g = GraphBuilder()
    graph = g.finish(g.op("matmul", g.input("x", (4, 4)), g.input("y", (4, 4))))
    assert Annotations({"matmul": "KM2k"}).frozen(graph) == {}


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("rows", "columns", "text", "moved"),
    [
        ((4, 6), (6, 8), "KM2k:NK2k2n", [(3, 4, 2), (4, 3, 2, 2), (4, 4, 2)]),
        ((4, 6), (6, 8), "MK:NK2k2n", [None, (4, 3, 2, 2), None]),  # rows and results as they were
        ((2, 4, 6), (2, 6, 8), "KM2k:NK2k2n", [(2, 3, 4, 2), (2, 4, 3, 2, 2), (2, 4, 4, 2)]),
        ((2, 4, 6), (6, 8), "KM2k:NK2k2n", [(2, 3, 4, 2), (4, 3, 2, 2), (2, 4, 4, 2)]),
        (("b", 4, 6), (6, 8), "KM2k:NK2k2n", [(2, 3, 4, 2), (4, 3, 2, 2), (2, 4, 4, 2)]),
    ],
)
def test_products_of_two_values_whose_layouts_are_said(
    rows: tuple[int | str, ...], columns: tuple[int, ...], text: str, moved: list[tuple[int, ...] | None]
) -> None:
    """Of the second, which no constant is, the layout is changed when the graph runs."""
    g = GraphBuilder()
    graph = g.finish(g.op("matmul", g.input("x", rows), g.input("w", columns), name="y"))
    made = plan(graph, Annotations({"matmul": text}).frozen(graph))
    rng = np.random.default_rng(0)
    arrays = [rng.integers(-2, 3, [2 if e == "b" else e for e in s]).astype(np.float32) for s in (rows, columns)]
    shapes = {v.name: v.type.at(dict.fromkeys(graph.symbols, 2)).shape for v in made.graph.values()}
    assert [shapes.get(name) for name in ("x_layout", "w_layout", "y_moved")] == moved
    np.testing.assert_array_equal(evaluate(made.graph, arrays), evaluate(graph, arrays))


def test_a_layout_that_the_second_factor_cannot_have() -> None:
    g = GraphBuilder()
    graph = g.finish(g.op("matmul", g.input("x", (4, 6)), g.input("w", (6, 8))))
    with pytest.raises(GraphError, match="MK is not an arrangement of KN with tiles"):
        Annotations({"matmul": "KM2k:MK"}).frozen(graph)


@pytest.mark.nightly
def test_a_rewrite_that_cannot_go_stands_where_it_costs_least() -> None:
    g = GraphBuilder()
    x = g.input("x", (1, 8, 2, 2))
    w = g.constant(np.ones((8, 8, 1, 1), np.float32), "w")
    y = g.op("nn.relu", g.op("nn.conv2d", x, w, name="y"))
    z = g.op("nn.max_pool2d", y, pool_size=(2, 2), strides=(2, 2), name="pooled")
    graph = g.finish(z)
    made = plan(graph, Annotations({"conv2d": "NCHW4c"}).frozen(graph))
    assert [why for _, why in made.rewrites] == ["x for nn.conv2d y", "pooled for the result"]
    assert made.cost == 2 * 4 * (32 + 8)
    a = np.arange(32, dtype=np.float32).reshape(1, 8, 2, 2)
    np.testing.assert_array_equal(evaluate(made.graph, [a]), evaluate(graph, [a]))


def test_channels_that_make_no_whole_tiles_stay_as_they_are() -> None:
    g = GraphBuilder()
    x = g.input("x", (1, 6, 4, 4))
    y = g.op("nn.conv2d", x, g.constant(np.ones((8, 6, 1, 1), np.float32)), name="y")
    graph = g.finish(y)
    made = plan(graph, Annotations({"conv2d": "NCHW4c"}, pad="never").frozen(graph))
    assert [why for _, why in made.rewrites] == ["y for the result"]


@pytest.mark.parametrize("seed", range(25))
def test_the_choice_is_the_best_of_all(seed: int) -> None:
    """Against all combinations, on random graphs with random options."""
    rng = random.Random(seed)
    g = GraphBuilder()
    values = [g.input("x", (rng.randint(1, 5),)), g.constant(np.ones(2, np.float32))]
    for _ in range(rng.randint(2, 6)):
        operands = [rng.choice(values) for _ in range(rng.randint(1, 3))]
        values.append(g.add("concat", operands, [g.input("t", (rng.randint(1, 9),)).type], {}, None, "v", ""))
    made = g.finish(*rng.sample(values[2:], rng.randint(1, len(values) - 2)))
    graph = Graph(made.name, made.inputs[:1], made.constants, made.nodes, made.outputs)

    def option(n: Node) -> Option:
        return Option(tuple(rng.choice([PLAIN, "a", "b"]) for _ in n.inputs), (rng.choice([PLAIN, "a", "b"]),))

    options = {n: list(dict.fromkeys(option(n) for _ in range(rng.randint(1, 3)))) for n in graph.nodes}
    best = min(
        cost_of(graph, dict(zip(graph.nodes, chosen, strict=True)))
        for chosen in itertools.product(*(options[n] for n in graph.nodes))
    )
    found = choose(graph, options)
    assert found.cost == best == cost_of(graph, found.options)


@pytest.mark.parametrize("rows", [0, 1])
def test_tensors_without_elements_stay_as_they_are(rows: int) -> None:
    """A slice to no rows behind a pool in a layout, or a pool of no rows: the rest is planned."""
    g = GraphBuilder()
    x = g.input("x", (rows, 4, 2, 2))
    y = g.op("nn.max_pool2d", x, pool_size=(1, 1), name="pool")
    empty = g.op("strided_slice", y, axes=(0,), begin=(0,), end=(0,))
    graph = g.finish(g.op("abs", empty), g.op("nn.relu", y))
    made = plan(graph, Annotations({"max_pool2d": "NCHW2c"}).frozen(graph))
    assert bool(made.relaid) == (rows == 1)
    a = np.ones((rows, 4, 2, 2), np.float32)
    for found, wanted in zip(evaluate(made.graph, [a]), evaluate(graph, [a]), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_elements_of_less_than_a_byte_are_moved_as_bytes() -> None:
    """The rewrite back is of int4, which programs hold as bytes."""
    g = GraphBuilder()
    y = g.op("nn.max_pool2d", g.input("x", (1, 4, 2, 2)), pool_size=(1, 1))
    graph = g.finish(g.op("convert", y, from_dtype="float32", dtype="int4"))
    made = plan(graph, Annotations({"max_pool2d": "NCHW2c"}).frozen(graph))
    assert [n.op for n in made.graph.nodes].count("layout_transform") == 2
    x = np.arange(-8, 8, dtype=np.float32).reshape(1, 4, 2, 2)
    (found,) = evaluate(made.graph, [x])
    np.testing.assert_array_equal(found.astype(np.float32), x)


def test_names_of_layouts() -> None:
    assert str(layout_named("NCHW16c", "NCHW")) == "lambda i0, i1, i2, i3: [i0, i1 // 16, i2, i3, i1 % 16]"
    assert str(layout_named("NHWC", "NCHW")) == "lambda i0, i1, i2, i3: [i0, i2, i3, i1]"
    assert str(layout_named("OIHW4i2o", "OIHW")).endswith("[i0 // 2, i1 // 4, i2, i3, i1 % 4, i0 % 2]")
    assert str(layout_named("NCHW16c", "NCHW", (1, 3, 8, 8))).endswith("[i0, i1, i2, i3]")


@pytest.mark.parametrize(
    ("annotations", "message"),
    [
        ({"conv2d": "NCHx"}, "is not a layout; write letters and tiles"),
        ({"conv2d": "NCH"}, "is not an arrangement of NCHW"),
        ({"conv2d": "NCHW4x"}, "is not an arrangement of NCHW"),
        ({"softmax": "NCHW"}, "layouts are asked for by conv2d, conv2d_transpose, max_pool2d"),
    ],
)
def test_names_that_are_none(annotations: dict[str, str], message: str) -> None:
    with pytest.raises(GraphError, match=message):
        Annotations(annotations).frozen(residual())
