"""Layout rewrites as the document on layout planning writes them: ``layout_transform``, ``pad``, ``crop``."""

from __future__ import annotations

import numpy as np
import pytest

from verified_tir.graph import GraphBuilder, GraphError
from verified_tir.graph.execute import build
from verified_tir.graph.text import graph_text, parse_graph


def test_an_index_map_as_a_function() -> None:
    g = GraphBuilder()
    x = g.input("x", (2, 8, 3, 3))
    graph = g.finish(g.op("layout_transform", x, index_map=lambda n, c, h, w: (n, c // 4, h, w, c % 4)))
    assert graph.outputs[0].shape == (2, 2, 3, 3, 4)
    same = parse_graph("""
@R.function
def main(x: R.Tensor((2, 8, 3, 3), "float32")):
    lv = relax.layout_transform(x, lambda n, c, h, w: (n, c // 4, h, w, c % 4))
    return lv
""")
    assert graph_text(same) == graph_text(graph)
    a = np.random.default_rng(0).standard_normal((2, 8, 3, 3)).astype(np.float32)
    expected = a.reshape(2, 2, 4, 3, 3).transpose(0, 1, 3, 4, 2)
    np.testing.assert_array_equal(build(graph)(a), expected)


def test_open_sizes_and_any_number_of_indices() -> None:
    g = GraphBuilder()
    x = g.input("x", ("n", 8))
    graph = g.finish(g.op("layout_transform", x, index_map=lambda *i: [*i[:-1], i[-1] // 4, i[-1] % 4]))
    assert str(graph.outputs[0].type) == 'R.Tensor((n, 2, 4), "float32")'


def test_pad_and_crop() -> None:
    graph = parse_graph("""
@R.function
def main(x: R.Tensor((2, 6), "float32")):
    padded = relax.pad(x, [[0, 0], [0, 2]], 1.0)
    cropped = relax.crop(padded, [0, 1], [2, 5])
    return (padded, cropped)
""")
    a = np.arange(12, dtype=np.float32).reshape(2, 6)
    padded, cropped = build(graph)(a)
    np.testing.assert_array_equal(padded, np.pad(a, ((0, 0), (0, 2)), constant_values=1.0))
    np.testing.assert_array_equal(cropped, padded[:, 1:6])


@pytest.mark.parametrize(
    ("index_map", "words"),
    [
        (lambda i: [i], "layout_transform: "),
        (lambda i, j: [i], "layout_transform: "),
        (lambda i, j: None, "layout_transform: "),
        (7, "index_map is an IndexMap, not 7"),
    ],
)
def test_what_is_no_layout(index_map: object, words: str) -> None:
    g = GraphBuilder()
    x = g.input("x", (2, 8))
    with pytest.raises(GraphError, match=words):
        g.finish(g.op("layout_transform", x, index_map=index_map))
