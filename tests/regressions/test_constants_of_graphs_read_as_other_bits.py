"""The array that is given for a constant of a graph's text was taken bit by bit, if it had another type than the text
says: integers became small floats, without a word.  And graphs were printed that could not be read back: with names
such as ``lambda``, numbers of numpy in attributes, constants that are empty.
"""

from __future__ import annotations

import numpy as np
import pytest

from verified_tir.graph import Graph, GraphBuilder, GraphError, TensorType, Value
from verified_tir.graph.text import graph_text, parse_graph

TEXT = """\
@R.function
def main(x: R.Tensor((2,), "float32")):
    w = R.constant(R.Tensor((2,), "float32"))
    y = R.add(x, w)
    return y"""


def test_an_array_of_another_type_is_refused() -> None:
    with pytest.raises(GraphError, match=r"the array of w is int32\[2\], not R.Tensor"):
        parse_graph(TEXT, {"w": np.array([1, 2], np.int32)})
    made = parse_graph(TEXT, {"w": np.array([1, 2], np.float32)})
    assert [a.tolist() for a in made.constants.values()] == [[1.0, 2.0]]


def test_a_name_that_cannot_be_written() -> None:
    t = TensorType((2,), "float32")
    x = Value("lambda", t)
    text = graph_text(Graph("torch-jit", (x,), {}, (), (x,)))
    assert graph_text(parse_graph(text)) == text


def test_numbers_of_numpy_and_empty_constants() -> None:
    g = GraphBuilder()
    x = g.input("x", (2, 3))
    g.constant(np.zeros((0, 3), np.float32), "none")
    y = g.op("pad", x, pad_width=((np.int64(0), 1), (0, 0)), pad_value=np.float32(0.5))
    text = graph_text(g.finish(y))
    again = parse_graph(text)
    assert graph_text(again) == text
    assert [a.shape for a in again.constants.values()] == [(0, 3)]
