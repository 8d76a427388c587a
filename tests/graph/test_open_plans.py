"""Layouts of models whose sizes are open: the bits of the model as it is, certificates that hold for all sizes."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.graph.test_open_models import (
    SIZES,
    agree,
    feeds,
    from_onnx,
    language_model,
    model,
    node,
    perceptron,
    weights,
)
from verified_tir.certificate.plans import CheckedPlan, sealed_plan
from verified_tir.certificate.replacements import follow_all
from verified_tir.certificate.write_plan import write_plan
from verified_tir.graph import Graph, GraphBuilder, GraphError
from verified_tir.graph.annotate import Annotations
from verified_tir.graph.execute import build
from verified_tir.graph.ir import with_sizes
from verified_tir.graph.layouts import pads, shape_in
from verified_tir.graph.plan import Plan, plan
from verified_tir.graph.report import report_of
from verified_tir.graph.sizes import symbol
from verified_tir.graph.text import graph_text, parse_graph
from verified_tir.index.map import IndexMap


def network(channels: int = 8) -> object:
    nodes = [
        node("Conv", "x w c", "h", pads=[1, 1, 1, 1]), node("Relu", "h", "r"),
        node("MaxPool", "r", "p", kernel_shape=[2, 2], strides=[2, 2]),
        node("Flatten", "p", "f"), node("Gemm", "f u", "y"),
    ]  # fmt: skip
    constants = {"w": weights(8, channels, 3, 3), "c": weights(8), "u": weights(32, 3)}
    return model(nodes, {"x": ["batch", channels, 4, 4]}, constants)


def planned(graph: Graph, layout: dict[str, str], *, fuse: bool = False) -> Plan:
    frozen = Annotations(layout).frozen(graph)
    made = plan(graph, frozen, fuse=fuse)
    assert report_of(made, frozen).as_json()["frozen"]
    return made


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("what", "layout", "fuse"),
    [
        pytest.param("network", {"conv2d": "NCHW4c"}, False, marks=pytest.mark.nightly),
        ("network", {"conv2d": "NCHW4c"}, True),
        pytest.param("network", {"conv2d": "NHWC"}, False, marks=pytest.mark.nightly),
        pytest.param("perceptron", {"dense": "MK4k", "matmul": "MK4k"}, True, marks=pytest.mark.nightly),
        pytest.param("language_model", {"matmul": "MK4k"}, False, marks=pytest.mark.nightly),
    ],
)
def test_planned_models_have_the_same_bits_at_any_size(what: str, layout: dict[str, str], fuse: bool) -> None:
    made = {"network": network, "perceptron": perceptron, "language_model": language_model}[what]()
    sizes = [s for s in SIZES if s["batch"]]
    graph = from_onnx(made)
    after = planned(graph, layout, fuse=fuse)
    f, g = build(graph), build(after.graph)
    agree(made, sizes, g)
    for at in SIZES:
        arrays = feeds(made, at)
        try:
            want = f.run(arrays)
        except GraphError as refused:  # by the model, and so by what is made of it
            with pytest.raises(GraphError, match=re.escape(str(refused))):
                g.run(arrays)
            assert at["seq"] == 0 and "an extent of 0 means another one" in str(refused)
            continue
        for a, b in zip(want, g.run(arrays), strict=True):
            assert a.shape == b.shape and np.array_equal(a, b, equal_nan=True), at


@pytest.mark.nightly
def test_certificates_are_about_all_sizes() -> None:
    g = GraphBuilder()
    x = g.input("x", ("batch", 8, 4, 4))
    graph = g.finish(g.op("nn.relu", g.op("nn.conv2d", x, g.constant(weights(8, 8, 1, 1), "w"))))
    made = planned(graph, {"conv2d": "NCHW4c"})
    written, document = write_plan(made, "m/plan")
    assert follow_all([CheckedPlan("m/plan", document, ())], written.certificates, graph) == []
    text = "\n".join(document["after"]["text"])
    for old, new in (
        ("out_sinfo=R.Tensor((batch, 2, 4, 4, 4)", "out_sinfo=R.Tensor((2, 2, 4, 4, 4)"),
        ("out_sinfo=R.Tensor((batch, 2, 4, 4, 4)", "out_sinfo=R.Tensor((batch * 2, 2, 4, 4, 4)"),
        ("x: R.Tensor((batch, 8, 4, 4)", "x: R.Tensor((2, 8, 4, 4)"),
        ("range(batch)", "range(batch - 1)") if "range(batch)" in text else ("T.grid(batch, ", "T.grid(batch - 1, "),
    ):
        assert old in text
        forged = {**document, "after": {**document["after"], "text": text.replace(old, new).split("\n")}}
        assert follow_all([CheckedPlan("m/plan", sealed_plan(forged), ())], written.certificates, graph), new
    number = with_sizes(graph, {"batch": 2})  # what was planned is not this graph
    found = follow_all([CheckedPlan("m/plan", document, ())], written.certificates, number)
    assert any(f.place == "before" for f in found)


def test_dimensions_that_are_open_are_not_tiled_or_padded() -> None:
    graph = from_onnx(network())
    with pytest.raises(GraphError, match=r"what the layout NCHW4n tiles is open, .*; give the size: --shape batch=4"):
        Annotations({"conv2d": "NCHW4n"}).frozen(graph)
    odd = from_onnx(network(6))  # 6 channels are not padded to 8
    assert "R.call_tir(nn_conv2d, (x, w" in graph_text(planned(odd, {"conv2d": "NCHW4c"}).graph)
    b = symbol("b")
    tiles = IndexMap.from_func(lambda i, j: [j // 4, i, j % 4], 2)
    assert shape_in(tiles, (b, 8)) == (2, b, 4) and not pads(tiles, (b, 8))
    with pytest.raises(GraphError, match=r"an extent of \(b, 6\) is open, and no layout pads it; give the size"):
        shape_in(tiles, (b, 6))
    for mixed in (lambda i, j: [i // 4, i % 4, j], lambda i, j: [i + j, j]):
        with pytest.raises(GraphError, match="the extent b is open, and no layout divides it"):
            shape_in(IndexMap.from_func(mixed, 2), (b, 8))


@pytest.mark.nightly
def test_layouts_go_no_further_than_a_dimension_that_is_mixed_with_an_open_one() -> None:
    """Rows of (batch, 2, 4, 4, 4) that are flattened together with the batch: a rewrite is left there."""
    g = GraphBuilder()
    x, w = g.input("x", ("b", 8, 4, 4)), g.constant(weights(8, 8, 1, 1), "w")
    y = g.op("nn.conv2d", x, w)
    graph = g.finish(g.op("nn.relu", g.op("reshape", y, shape=(-1,))))
    made = planned(graph, {"conv2d": "NCHW4c"})
    a = weights(3, 8, 4, 4)
    assert np.array_equal(build(made.graph)(a), build(graph)(a))
    text = graph_text(made.graph)
    constants = {v.name: array for v, array in made.graph.constants.items()}
    assert graph_text(parse_graph(text, constants)) == text
