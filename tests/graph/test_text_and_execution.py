"""Graphs as text, and running them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from verified_tir import IndexMap
from verified_tir.graph import Graph, GraphBuilder, GraphError
from verified_tir.graph.execute import build, evaluate
from verified_tir.graph.operators import legalize
from verified_tir.graph.text import graph_text, load_graph, parse_graph, save_graph

TEXT = """\
@T.prim_func(s_tir=True)
def nn_relu(x: T.Buffer((1, 4, 3, 3), "float32"), relu: T.Buffer((1, 4, 3, 3), "float32")):
    for i0, i1, i2, i3 in T.grid(1, 4, 3, 3):
        with T.sblock("relu"):
            v_i0, v_i1, v_i2, v_i3 = T.axis.remap("SSSS", [i0, i1, i2, i3])
            relu[v_i0, v_i1, v_i2, v_i3] = T.max(T.float32(0.0), x[0, v_i1, v_i2, v_i3])


@R.function
def main(x: R.Tensor((1, 4, 3, 3), "float32")):
    w = R.constant(R.Tensor((4, 4, 3, 3), "float32"))
    b = R.const([1.0, 2.0, 3.0, 4.0], "float32")
    y = R.nn.conv2d(x, w, b, padding=(1, 1, 1, 1))
    z = R.call_tir(nn_relu, (y,), out_sinfo=R.Tensor((1, 4, 3, 3), "float32"))
    packed = R.layout_transform(z, index_map=lambda n, c, h, w: [n, c // 3, h, w, c % 3], pad_value=-1.0)
    left, right = R.split(packed, sections=2, axis=1)
    return (left, right)"""


def weights() -> np.ndarray:
    return np.random.default_rng(0).integers(-2, 3, (4, 4, 3, 3)).astype(np.float32)


def example() -> Graph:
    g = GraphBuilder()
    x = g.input("x", (1, 4, 3, 3))
    w, b = g.constant(weights(), "w"), g.constant(np.array([1, 2, 3, 4], np.float32), "b")
    y = g.op("nn.conv2d", x, w, b, padding=(1, 1, 1, 1), name="y")
    z = g.call_tir(legalize("nn.relu", [y.type], {}), [y], [y.type], "z")
    by_three = IndexMap.from_func(lambda n, c, h, w: [n, c // 3, h, w, c % 3], 4)
    packed = g.op("layout_transform", z, index_map=by_three, pad_value=-1.0, name="packed")
    return g.finish(
        *g.add("split", [packed], [type_(1, 1, 3, 3, 3)] * 2, {"sections": 2, "axis": 1}, None, ["left", "right"], "")
    )


def type_(*shape: int):  # type: ignore[no-untyped-def]
    from verified_tir.graph import TensorType

    return TensorType(shape, "float32")


def test_text_out_and_in(tmp_path: Path) -> None:
    graph = example()
    assert graph_text(graph) == TEXT
    assert graph_text(parse_graph(TEXT, {"w": weights()})) == TEXT
    save_graph(graph, tmp_path / "g.py")
    again = load_graph(tmp_path / "g.py")
    assert graph_text(again) == TEXT
    np.testing.assert_array_equal(next(iter(again.constants.values())), weights())


@pytest.mark.nightly
def test_interpreter_and_machine_code_agree_bit_for_bit() -> None:
    graph = example()
    x = np.random.default_rng(1).standard_normal((1, 4, 3, 3)).astype(np.float32)
    expected, got = evaluate(graph, [x]), build(graph)(x)
    for a, b in zip(expected, got, strict=True):
        np.testing.assert_array_equal(a, b)
    assert got[1].shape == (1, 1, 3, 3, 3)
    assert (got[1][..., 1:] == -1).all()
    np.testing.assert_array_equal(build(graph)(x=x)[0], expected[0])


def test_nodes_with_one_program_share_its_theorem() -> None:
    g = GraphBuilder()
    v = g.input("x", (4,))
    for _ in range(5):
        v = g.op("nn.relu", v)
    assert len(build(g.finish(v)).theorems) == 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("R.nn.conv2d(x, w", "R.nn.conv2d(x, v", ":13:24: v is not a value that was bound before"),
        ("R.nn.conv2d", "R.nn.konv", ":13:9: nn.konv: there is no operator nn.konv"),
        ("padding=(1, 1, 1, 1)", "padding=x", ":13:38: x is neither a constant nor the extent of an input"),
        ("    z = R", "    y = R", ":14:5: y is bound already"),
        ("call_tir(nn_relu", "call_tir(relu", ":14:9: call_tir takes a PrimFunc of this text"),
        (
            "left, right = R.split",
            "left, right, more = R.split",
            ":16:25: R.split has 2 results, and 3 names are given",
        ),
        ("lambda n, c, h, w: [", "lambda n, c, h: [", ":15:[0-9]+: "),
        ("    return (left, right)", "    pass", ":17:5: a graph is bindings"),
        ("@R.function", "", "a graph is one function with @R.function; there are 0"),
        ('x: R.Tensor((1, 4, 3, 3), "float32")):\n    w', "x):\n    w", ":10:10: the parameter x has no type"),
        ("out_sinfo=R.Tensor((1, 4, 3, 3)", "out_sinfo=R.Tensor((1, 4, 3, 2)", "nn_relu takes relu as float32"),
    ],
)
def test_mistakes_have_a_place(old: str, new: str, message: str) -> None:
    assert old in TEXT
    with pytest.raises(GraphError, match=message.replace("(", "\\(")):
        parse_graph(TEXT.replace(old, new), {"w": weights()})


def test_inputs_are_checked() -> None:
    f = build(example())
    x = np.zeros((1, 4, 3, 3), np.float32)
    for call, message in [
        (f, "has 1 inputs and is given 0"),
        (lambda: f(y=x), "x is missing, there is no y"),
        (lambda: f(x[0]), "the input x is float32"),
        (lambda: f(x.astype(np.float64)), "the input x is float64"),
    ]:
        with pytest.raises(GraphError, match=message):
            call()


def test_inputs_may_lie_anywhere_and_have_any_name() -> None:
    g = GraphBuilder()
    graph = g.finish(g.op("negative", g.input("self", (4,))))
    a = np.frombuffer(bytearray(range(17)), np.uint8)[1:].view(np.float32)
    assert not a.flags.aligned
    for got in (build(graph)(a), build(graph)(self=a), evaluate(graph, {"self": a})[0]):
        np.testing.assert_array_equal(got, -a)
    with pytest.raises(GraphError, match="the input self is a masked array, and masks have no meaning here"):
        build(graph)(np.ma.masked_array(a, a > 0))
    with pytest.raises(GraphError, match="the constant c is a masked array"):
        g.constant(np.ma.masked_array(a, a > 0), "c")


def test_layouts_there_and_back() -> None:
    g = GraphBuilder()
    x = g.input("x", (5, 6))
    wide = g.op("pad", x, pad_width=((0, 3), (1, 1)))
    packed = g.op("layout_transform", wide, index_map=IndexMap.from_func(lambda i, j: [i // 4, j, i % 4], 2))
    back = g.op("layout_transform", packed, index_map=IndexMap.from_func(lambda a, j, b: [a * 4 + b, j], 3))
    y = g.op("crop", back, start_indices=(0, 1), slice_sizes=(5, 6))
    graph = g.finish(y)
    a = np.arange(30, dtype=np.float32).reshape(5, 6)
    np.testing.assert_array_equal(build(graph)(a), a)
    np.testing.assert_array_equal(evaluate(graph, [a])[0], a)


def test_results_have_their_names_and_who_had_them_gets_another() -> None:
    g = GraphBuilder()
    x = g.input("x", (2,))
    first = g.op("nn.relu", x, name="y")
    y, z = g.op("exp", first, name="y"), g.op("exp", first, name="z")
    graph = g.finish(z, y, x, names=("y", "a.b", "p"))
    assert [v.name for v in graph.outputs] == ["y", "a_b", "x"]
    assert [n.outputs[0].name for n in graph.nodes] == ["z", "a_b", "y"]
    assert all(n.inputs == (graph.nodes[0].outputs[0],) for n in graph.nodes[1:])
    assert [v.name for v in g.finish(y, z).outputs] == ["y_1", "z"]


def test_the_name_of_an_input_or_a_constant_stays() -> None:
    g = GraphBuilder()
    x, c = g.input("x", (2,)), g.constant(np.ones(2, "float32"), "c")
    graph = g.finish(g.op("add", x, c, name="y"), g.op("exp", x, name="z"), names=("x", "c"))
    assert [v.name for v in (*graph.inputs, *graph.constants)] == ["x", "c"]
    assert [v.name for v in graph.outputs] == ["y", "z"]


def test_a_program_leaves_its_operands_as_they_are() -> None:
    """Other nodes read them."""
    text = """
@T.prim_func
def own(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    for i in range(8):
        {store}[i] = T.float32(5)
        y[i] = x[i]

@R.function
def model(x: R.Tensor((8,), "float32")):
    a = R.call_tir(own, (x,), out_sinfo=R.Tensor((8,), "float32"))
    return R.add(a, R.nn.relu(x))
"""
    with pytest.raises(GraphError, match="own writes its operand x; a node writes its results only"):
        parse_graph(text.format(store="x"))
    x = np.arange(8, dtype=np.float32)
    assert build(parse_graph(text.format(store="y")))(x).tolist() == (x + x).tolist()
