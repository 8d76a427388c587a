"""Texts of Relax were read as if each operator was the one of the same name here.  The remainder of integers had the
divisor's sign, attributes that are not said had ONNX's values, and NaN and -0.0 stayed where TVM's comparisons drop
them; and what was written for TVM computed otherwise there.
"""

from __future__ import annotations

import numpy as np
import pytest

from verified_tir.graph import GraphBuilder, GraphError
from verified_tir.graph.execute import build
from verified_tir.graph.text import graph_text, parse_graph
from verified_tir.graph.write_relax import relax_text

ALONE = """\
@R.function
def main(x: R.Tensor((4,), "{dtype}"), y: R.Tensor((4,), "{dtype}")):
    v = {call}
    return v"""
IMPORTS = "# from tvm.script import relax as R\n\n"
NAN = np.array([np.nan, -0.0, 3.0, -2.0], np.float32)
ONE = np.ones(4, np.float32)


def computed(text: str, *arrays: np.ndarray) -> list[float]:  # type: ignore[type-arg]
    graph = parse_graph(text)
    assert graph_text(parse_graph(graph_text(graph))) == graph_text(graph)
    return list(build(graph)(*arrays).tolist())


@pytest.mark.parametrize("module", [True, False])
def test_the_remainder_of_integers_has_the_dividends_sign_in_relax(module: bool) -> None:
    text = (IMPORTS if module else "") + ALONE.format(dtype="int32", call="R.mod(x, y)")
    x, y = np.array([7, -7, 3, -3], np.int32), np.array([2, 2, -2, -2], np.int32)
    assert computed(text, x, y) == ([1, -1, 1, -1] if module else [1, 1, -1, -1])


@pytest.mark.parametrize(
    ("call", "relax", "own"),
    [
        ("R.nn.relu(x)", [0.0, 0.0, 3.0, 0.0], [np.nan, -0.0, 3.0, 0.0]),
        ("R.maximum(x, y)", [1.0, 1.0, 3.0, 1.0], [np.nan, 1.0, 3.0, 1.0]),
        ("R.maximum(y, x)", [np.nan, 1.0, 3.0, 1.0], [np.nan, 1.0, 3.0, 1.0]),
        ("R.minimum(x, y)", [1.0, -0.0, 1.0, -2.0], [np.nan, -0.0, 1.0, -2.0]),
        ("R.sign(x)", [0.0, 0.0, 1.0, -1.0], [np.nan, 0.0, 1.0, -1.0]),
        ("R.clip(x, min=-1.0, max=1.0)", [1.0, -0.0, 1.0, -1.0], [np.nan, -0.0, 1.0, -1.0]),
        ("R.max(x, axis=(0,), keepdims=True)", [3.0], [np.nan]),
        ("R.min(x, axis=(0,), keepdims=True)", [-2.0], [np.nan]),
    ],
)
def test_nan_and_minus_zero(call: str, relax: list[float], own: list[float]) -> None:
    text = ALONE.format(dtype="float32", call=call)
    for t, expected in ((IMPORTS + text, relax), (text, own)):
        np.testing.assert_array_equal(computed(t, NAN, ONE), expected)
        np.testing.assert_array_equal(np.signbit(computed(t, NAN, ONE))[1:2], np.signbit(expected)[1:2])
    op = call.partition("(")[0]
    assert f" = {op}(" in relax_text(parse_graph(IMPORTS + text))
    assert f" = {op}(" not in relax_text(parse_graph(text))
    assert graph_text(parse_graph(text)) == text


def test_attributes_that_are_not_said() -> None:
    integers = IMPORTS + ALONE.format(dtype="int32", call="R.argmax(x, axis=0)")
    assert parse_graph(integers).outputs[0].shape == ()
    assert parse_graph(integers.removeprefix(IMPORTS)).outputs[0].shape == (1,)
    flat = '@R.function\ndef main(x: R.Tensor((2, 3), "float32")):\n    v = R.flatten(x)\n    return v'
    assert parse_graph(IMPORTS + flat).outputs[0].shape == (6,)
    assert parse_graph(flat).outputs[0].shape == (2, 3)
    for call in ("R.topk(x, k=2)", "R.nn.dropout(x)"):
        text = ALONE.format(dtype="float32", call=call)
        assert parse_graph(text).nodes[0].op == call[2:].partition("(")[0]
        with pytest.raises(GraphError, match="of Relax: "):
            parse_graph(IMPORTS + text)


def test_a_nan_is_asked_for_by_its_name() -> None:
    g = GraphBuilder()
    x = g.input("x", (4,))
    text = relax_text(g.finish(g.op("argmax", x)))
    assert "T.isnan(x[" in text and "T.isnan(best[" in text
