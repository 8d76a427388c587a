"""Moved operators keep their identity where one exists: ``sum(axis=[1])``, ``nn.conv2d(data_layout="NHWC")``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from verified_tir import IndexMap
from verified_tir.certificate.write_plan import write_plan
from verified_tir.graph import Graph, GraphBuilder, GraphError
from verified_tir.graph.annotate import Annotations
from verified_tir.graph.execute import evaluate
from verified_tir.graph.plan import Plan, plan
from verified_tir.graph.text import graph_text, parse_graph

RNG = np.random.default_rng(0)


def same_bits(made: Plan) -> None:
    arrays = [RNG.integers(-2, 3, v.shape).astype(np.float32) for v in made.before.inputs]
    for a, b in zip(evaluate(made.graph, arrays), evaluate(made.before, arrays), strict=True):
        np.testing.assert_array_equal(a, b)


def bindings(graph: Graph) -> list[str]:
    return [line.strip() for line in graph_text(graph).split("@R.function")[-1].split("\n")[2:-1]]


@pytest.mark.nightly
def test_the_example_of_the_layout_planning_document() -> None:
    """Relay moves the axis of a sum behind a convolution by a rule of the operator; here it is proved of programs."""
    graph = parse_graph("""
@R.function
def main(x: R.Tensor((2, 4, 5, 5), "float32"), weight: R.Tensor((4, 4, 3, 3), "float32")):
    y = R.nn.conv2d(x, weight, padding=[1, 1, 1, 1])
    z = R.sum(y, axis=[2])
    return z
""")
    made = plan(graph, Annotations({"conv2d": "NHWC:HWIO"}).frozen(graph), operators=True, flow="forward")
    assert bindings(made.graph)[2:4] == [
        "y_moved = R.nn.conv2d(x_layout, weight_layout, padding=(1, 1, 1, 1), data_layout='NHWC', "
        "kernel_layout='HWIO')",
        "z_moved = R.sum(y_moved, axis=(1,))",
    ]
    assert {made.implements[n].op for n in made.relaid} == {"nn.conv2d", "sum"}
    same_bits(made)
    again = parse_graph(graph_text(made.graph))
    assert graph_text(again) == graph_text(made.graph)
    with pytest.raises(GraphError, match=r"nn.conv2d y: certificates are about moved programs; plan without operators"):
        write_plan(made, "model")


@pytest.mark.nightly
@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("op", "attrs", "moved"),
    [
        ("nn.relu", {}, {}),
        ("nn.leaky_relu", {"alpha": 0.5}, {"alpha": 0.5}),
        ("mean", {"axis": (2, 3)}, {"axis": (1, 2)}),
        ("max", {"axis": (2,)}, {"axis": (1,)}),
        ("sum", {"axis": (-1,)}, {"axis": (2,)}),
        ("nn.max_pool2d", {"pool_size": (2, 2), "strides": (2, 2), "padding": (1, 1, 0, 0)},
         {"pool_size": (2, 2), "strides": (2, 2), "padding": (1, 1, 0, 0), "layout": "NHWC"}),
        ("nn.avg_pool2d", {"pool_size": (2, 2), "strides": (2, 2), "padding": (1, 1, 0, 0)},
         {"pool_size": (2, 2), "strides": (2, 2), "padding": (1, 1, 0, 0), "layout": "NHWC"}),
    ],
)  # fmt: skip
def test_operators_behind_a_convolution(op: str, attrs: dict[str, Any], moved: dict[str, Any]) -> None:
    g = GraphBuilder()
    w = g.constant(RNG.integers(-2, 3, (4, 4, 1, 1)).astype(np.float32), "w")
    graph = g.finish(g.op(op, g.op("nn.conv2d", g.input("x", (1, 4, 6, 6)), w, name="y"), **attrs, name="z"))
    made = plan(graph, Annotations({"conv2d": "NHWC"}).frozen(graph), operators=True, flow="forward")
    (node,) = [n for n in made.graph.nodes if n.op == op]
    assert dict(node.attrs) == moved
    same_bits(made)


def test_a_result_that_did_not_move_as_the_operand_did() -> None:
    """The maxima over c of n, h, w, c stand as n, c, h, w: no attribute of ``max`` says so."""
    g = GraphBuilder()
    w = g.constant(RNG.integers(-2, 3, (4, 4, 1, 1)).astype(np.float32), "w")
    y = g.op("nn.conv2d", g.input("x", (1, 4, 6, 6)), w, name="y")
    graph = g.finish(g.op("max", y, axis=(1,), keepdims=True, name="z"))
    made = plan(graph, Annotations({"conv2d": "NHWC"}).frozen(graph), operators=True, flow="forward")
    assert [n.op for n in made.graph.nodes] == ["layout_transform", "nn.conv2d", "call_tir"]
    same_bits(made)


def test_tiles_have_no_operator() -> None:
    g = GraphBuilder()
    w = g.constant(RNG.integers(-2, 3, (4, 4, 1, 1)).astype(np.float32), "w")
    y = g.op("nn.relu", g.op("nn.conv2d", g.input("x", (1, 4, 6, 6)), w, name="y"), name="z")
    graph = g.finish(g.op("sum", y, axis=(1,)))
    made = plan(graph, Annotations({"conv2d": "NCHW2c"}).frozen(graph), operators=True, flow="forward")
    ops = [n.op for n in made.graph.nodes]
    assert "nn.relu" in ops  # of five dimensions
    assert ops.count("call_tir") == 2  # the convolution, and the sum over two dimensions of which one is a tile
    same_bits(made)


def test_without_the_option_nodes_call_their_programs() -> None:
    g = GraphBuilder()
    w = g.constant(RNG.integers(-2, 3, (4, 4, 1, 1)).astype(np.float32), "w")
    graph = g.finish(g.op("sum", g.op("nn.conv2d", g.input("x", (1, 4, 6, 6)), w), axis=(2,)))
    made = plan(graph, Annotations({"conv2d": "NHWC"}).frozen(graph))
    assert [n.op for n in made.graph.nodes if n in made.relaid] == ["call_tir", "call_tir"]


# -- operators in other orders -----------------------------------------------------------------------------------------


def one(op: str, shapes: list[tuple[int, ...]], **attrs: Any) -> Graph:
    g = GraphBuilder()
    return g.finish(g.op(op, *(g.input(f"x{k}", s) for k, s in enumerate(shapes)), **attrs))


def rearranged(array: Any, plain: str, layout: str) -> Any:
    return array.transpose([plain.index(letter) for letter in layout])


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("data", "kernel", "out"), [("NHWC", "HWIO", ""), ("NHWC", "OIHW", "NCHW"), ("CHWN", "IOWH", "HWNC")]
)
@pytest.mark.parametrize("bias", [False, True])
def test_convolutions(data: str, kernel: str, out: str, bias: bool) -> None:
    x = RNG.integers(-2, 3, (2, 4, 5, 6)).astype(np.float32)
    w = RNG.integers(-2, 3, (6, 2, 3, 2)).astype(np.float32)
    b = [RNG.integers(-2, 3, (6,)).astype(np.float32)] if bias else []
    attrs: dict[str, Any] = {"padding": (1, 0, 1, 2), "strides": (1, 2), "groups": 2}
    (plain,) = evaluate(one("nn.conv2d", [x.shape, w.shape, *(v.shape for v in b)], **attrs), [x, w, *b])
    moved = [rearranged(x, "NCHW", data), rearranged(w, "OIHW", kernel), *b]
    more = {"data_layout": data, "kernel_layout": kernel, **({"out_layout": out} if out else {})}
    (found,) = evaluate(one("nn.conv2d", [v.shape for v in moved], **attrs, **more), moved)
    np.testing.assert_array_equal(found, rearranged(plain, "NCHW", out or data))


@pytest.mark.parametrize("op", ["nn.max_pool2d", "nn.avg_pool2d"])
@pytest.mark.parametrize(("layout", "out"), [("NHWC", ""), ("NCHW", "NHWC"), ("HWCN", "NCHW")])
def test_poolings(op: str, layout: str, out: str) -> None:
    x = RNG.integers(-2, 3, (2, 3, 5, 6)).astype(np.float32)
    attrs: dict[str, Any] = {"pool_size": (2, 3), "strides": (2, 1), "padding": (1, 1, 0, 1)}
    (plain,) = evaluate(one(op, [x.shape], **attrs), [x])
    moved = rearranged(x, "NCHW", layout)
    more = {"layout": layout, **({"out_layout": out} if out else {})}
    (found,) = evaluate(one(op, [moved.shape], **attrs, **more), [moved])
    np.testing.assert_array_equal(found, rearranged(plain, "NCHW", out or layout))


@pytest.mark.parametrize("layout", ["NCHW4c", "NHW", "NNCH", 3])
def test_layouts_that_there_are_not(layout: Any) -> None:
    with pytest.raises(GraphError, match="a layout here is an arrangement of NCHW"):
        one("nn.max_pool2d", [(1, 2, 4, 4)], pool_size=(2, 2), layout=layout)


def test_layouts_that_are_asked_for_are_about_letters_not_places() -> None:
    """A node in NHWC that is to be in NCHW2c: what is c, its data_layout says."""
    g = GraphBuilder()
    w = g.constant(RNG.integers(-2, 3, (4, 4, 1, 1)).astype(np.float32), "w")
    graph = g.finish(g.op("nn.conv2d", g.input("x", (1, 6, 6, 4)), w, data_layout="NHWC"))
    ((layouts, (result,)),) = Annotations({"conv2d": "NCHW2c"}).frozen(graph).values()
    expected = IndexMap.from_func(lambda n, h, w, c: [n, c // 2, h, w, c % 2], 4)
    assert str(layouts[0]).split(": ")[1] == str(result).split(": ")[1]
    assert layouts[0].padded_shape((1, 6, 6, 4)) == expected.padded_shape((1, 6, 6, 4))
    same_bits(plan(graph, Annotations({"conv2d": "NCHW2c"}).frozen(graph)))
