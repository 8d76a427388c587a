"""Graphs as text: what is printed is read back as the same graph, and mistakes are told with line and column."""

from __future__ import annotations

import math
import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verified_tir import IndexMap
from verified_tir.graph import Graph, GraphBuilder, GraphError, TensorType, Value
from verified_tir.graph.operators import legalize
from verified_tir.graph.text import graph_text, load_graph, names_of, parse_graph, save_graph
from verified_tir.index.map import IndexMap as Map
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.node import IRError

NAMES = st.sampled_from(["x", "x", "x_1", "lambda", "R", "T", "data/0", "1st", "é", "naïve²", "", "in", "a b", "main"])
DTYPES = st.sampled_from(["float32", "float16", "bfloat16", "int64", "uint8", "bool", "float64"])


def same_value(a: Any, b: Any) -> bool:
    """Whether two attributes are equal; tuples stand for lists, NaN is NaN, and -0.0 is not 0.0."""
    a = a.item() if isinstance(a, np.generic) else a
    if isinstance(a, Map) or isinstance(b, Map):
        return str(a) == str(b)
    if isinstance(a, (list, tuple)):
        return isinstance(b, (list, tuple)) and len(a) == len(b) and all(map(same_value, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    return type(a) is type(b) and bool(a == b)


def same(a: Graph, b: Graph) -> bool:
    """Whether two graphs are equal up to names."""
    pairs = dict(zip(a.values(), b.values(), strict=True))
    if [v.type for v in pairs] != [v.type for v in pairs.values()] or len(a.nodes) != len(b.nodes):
        return False
    for v, array in a.constants.items():
        if array.tobytes() != b.constants[pairs[v]].tobytes():
            return False
    for m, n in zip(a.nodes, b.nodes, strict=True):
        known = [pairs[v] for v in (*m.inputs, *m.outputs)] == [*n.inputs, *n.outputs]
        attrs = m.attrs.keys() == n.attrs.keys() and all(same_value(m.attrs[k], n.attrs[k]) for k in m.attrs)
        funcs = m.func is n.func or (m.func is not None and n.func is not None and structural_equal(m.func, n.func))
        if m.op != n.op or not (known and attrs and funcs):
            return False
    return [pairs[v] for v in a.outputs] == list(b.outputs)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Random operators on random values; names as models have them."""
    g = GraphBuilder(draw(NAMES))
    values: list[Value] = [g.input(draw(NAMES), (2, 6, 3)) for _ in range(draw(st.integers(1, 2)))]
    for _ in range(draw(st.integers(0, 3))):
        dtype = draw(DTYPES)
        shape = tuple(draw(st.lists(st.integers(0, 3), max_size=3)))
        like = np.dtype(ml_dtypes.bfloat16) if dtype == "bfloat16" else np.dtype(dtype)
        numbers = draw(st.lists(st.sampled_from([0.0, -0.0, 1.0, 0.1, 2.5, 3e8]), min_size=60, max_size=60))
        with np.errstate(all="ignore"):
            array = np.resize(np.array(numbers), shape).astype(like)
        g.constant(array, draw(NAMES))
    for _ in range(draw(st.integers(1, 5))):
        v = draw(st.sampled_from(values))
        match draw(st.integers(0, 5)):
            case 0:
                made = g.op("nn.relu", v, name=draw(NAMES))
            case 1:
                made = g.op("add", v, v, name=draw(NAMES))
            case 2:
                value = draw(st.sampled_from([None, 0.0, -0.0, math.nan, math.inf, -math.inf, 0.1, 3]))
                by = IndexMap.from_func(lambda *i: [*i[:-1], i[-1] // 2, i[-1] % 2], len(v.shape))
                made = g.op("layout_transform", v, index_map=by, pad_value=value, name=draw(NAMES))
            case 3:
                made = g.op("pad", v, pad_width=[(np.int64(0), 1)] * len(v.shape), pad_value=np.float32(0.1))
            case 4:
                func = legalize("nn.relu", [TensorType(v.shape, v.dtype)], {})
                made = g.call_tir(func, [v], [v.type], draw(NAMES))
            case _:
                made = g.op("split", v, sections=2, axis=1) if v.shape[1] % 2 == 0 else g.op("nn.relu", v)
        values += made if isinstance(made, tuple) else [made]
    return g.finish(*draw(st.lists(st.sampled_from(values), min_size=1, max_size=3)))


def arrays_of(graph: Graph) -> dict[str, Any]:
    names = names_of(graph)
    return {names[v]: a for v, a in graph.constants.items()}


@settings(max_examples=15, derandomize=True, database=None, deadline=None)
@given(graphs())
def test_what_is_printed_is_read_back_as_the_same_graph(graph: Graph) -> None:
    text = graph_text(graph)
    again = parse_graph(text, arrays_of(graph))
    assert same(graph, again)
    assert graph_text(again) == text


def test_names_that_values_have_without_a_builder() -> None:
    t = TensorType((2,), "float32")
    x, y, z = Value("lambda", t), Value("v 1", t), Value("v 1", t)
    graph = Graph("torch-jit-export", (x, y, z), {}, (), (z, x))
    assert graph_text(graph).split("\n")[1:] == [
        'def torch_jit_export(lambda_: R.Tensor((2,), "float32"), v_1: R.Tensor((2,), "float32"), '
        'v_1_1: R.Tensor((2,), "float32")):',
        "    return (v_1_1, lambda_)",
    ]


def test_constants_beside_the_text_keep_their_bits(tmp_path: Any) -> None:
    g = GraphBuilder()
    x = g.input("x", (20,), "bfloat16")
    w = g.constant(np.linspace(-1, 1, 20).astype(ml_dtypes.bfloat16), "lambda")
    graph = g.finish(g.op("add", x, w))
    save_graph(graph, tmp_path / "g.py")
    assert same(graph, load_graph(tmp_path / "g.py"))


HEAD = '@R.function\ndef main(x: R.Tensor((2, 3), "float32")):\n'
MISTAKES = {
    "    y = R.nn.relu(x\n": "<string>:3:18: '(' was never closed",
    "    y = R.nn.relu(z)\n    return y": "<string>:3:19: z is not a value that was bound before",
    "    y.z = R.nn.relu(x)\n    return x": "<string>:3:5: y.z is neither a name nor a tuple of names",
    "    y, y = R.split(x, sections=2, axis=0)\n    return x": "<string>:3:5: y is bound twice",
    "    y = R.const([1, [2]], 'float32')\n    return y": "<string>:3:9: ",
    "    y = R.const(1, 'float33')\n    return y": "<string>:3:9: there is no float of 33 bits",
    "    y = R.const(1)\n    return y": "<string>:3:9: it is written R.const(",
    "    y = R.const([1, 2], R.Tensor((3,), 'float32'))\n    return y": "<string>:3:9: cannot reshape",
    "    y = R.constant(R.Tensor((2,), 'float32'))\n    return y": "<string>:3:9: the array of the constant y is",
    "    y = R.constant(R.Tensor(('a',), 'float32'))\n    return y": "<string>:3:30: a is neither a constant nor",
    "    y = R.nn.relu(*x)\n    return y": "<string>:3:9: operands and attributes are written out, without a star",
    "    y = R.nn.relu(x, **x)\n    return y": "<string>:3:9: operands and attributes are written out, without a star",
    "    y = f(x)\n    return y": "<string>:3:9: f is not an operator",
    "    y = R.nn.relu(x, size=2)\n    return y": "<string>:3:9: nn.relu: nn.relu has no attribute size",
    "    return x\n    y = R.nn.relu(x)": "<string>:4:5: nothing stands behind the return",
    "    y = R.nn.relu(x)": "<string>:2:1: main returns nothing",
    "    x += 1\n    return x": "<string>:3:5: a graph is bindings",
}


@pytest.mark.parametrize("body", MISTAKES)
def test_mistakes_are_told_with_line_and_column(body: str) -> None:
    with pytest.raises(GraphError, match=MISTAKES[body].replace("(", "\\(")):
        parse_graph(HEAD + body)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@R.function\ndef f(x, /):\n    return x", "<string>:2:1: f takes parameters of the form"),
        (
            "@R.function\ndef f(x: R.Tensor((2,)), x: R.Tensor((2,))):\n    return x",
            "<string>:2:26: x is a parameter already",
        ),
        ("x = " + "(" * 400, "<string>:1:"),
        ("@T.prim_func\ndef f():\n    pass\n" * 2 + HEAD + "    return x", "two functions called f"),
    ],
)  # fmt: skip
def test_other_texts_are_refused(text: str, message: str) -> None:
    with pytest.raises(GraphError, match=re.escape(message)):
        parse_graph(text)


def test_arrays_of_another_type_are_refused() -> None:
    text = HEAD + '    w = R.constant(R.Tensor((2,), "float32"))\n    return w'
    with pytest.raises(GraphError, match=r"3:9: the array of w is int32\[2\], not R.Tensor"):
        parse_graph(text, {"w": np.zeros(2, np.int32)})


@pytest.mark.nightly
@settings(max_examples=25, derandomize=True, database=None, deadline=None)
@given(graphs(), st.data())
def test_no_text_brings_the_reader_down(graph: Graph, data: st.DataObject) -> None:
    """A text with a part left out, doubled or exchanged is a graph, or an error that says so."""
    text = graph_text(graph)
    a, b = sorted(data.draw(st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))))
    b = min(b, a + 12)
    put = data.draw(
        st.sampled_from(["", text[a:b] * 2, "x", "(", "0", "-1", "None", "lambda: 0", "R.Tensor((), 'bool')"])
    )
    try:
        parse_graph(text[:a] + put + text[b:], arrays_of(graph))
    except (GraphError, IRError) as problem:
        assert str(problem)
