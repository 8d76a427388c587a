"""Pictures of graphs: layers, places without overlap, names of layouts, what is drawn."""

from __future__ import annotations

import random
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.parts.work import calls
from verified_tir.graph import GraphBuilder
from verified_tir.graph.annotate import Annotations
from verified_tir.graph.diagram import diagram, layout_name
from verified_tir.graph.layered import layered
from verified_tir.graph.plan import plan


@pytest.mark.parametrize("seed", range(10))
def test_edges_lead_down_and_nothing_overlaps(seed: int) -> None:
    rng = random.Random(seed)
    nodes = list(range(rng.randint(1, 40)))
    edges = [(rng.randrange(b), b) for b in nodes[1:] for _ in range(rng.randint(0, 3))]
    at = layered(nodes, edges, width=2.0, bend=0.5)
    assert all(at.layer[a] < at.layer[b] for a, b in edges)
    rows: dict[int, list[tuple[float, float]]] = {}
    for n in nodes:
        rows.setdefault(at.layer[n], []).append((at.place[n], 2.0))
    for (a, b), points in at.bends.items():
        assert [layer for _, layer in points] == list(range(at.layer[a] + 1, at.layer[b]))
        for place, layer in points:
            rows.setdefault(layer, []).append((place, 0.5))
    for row in rows.values():
        row.sort()
        for (x, wide), (y, other) in pairwise(row):
            assert y - x >= (wide + other) / 2 - 1e-6
        assert row[0][0] - row[0][1] / 2 >= -1e-6 and row[-1][0] + row[-1][1] / 2 <= at.width + 1e-6
    assert at.height == max(at.layer.values()) + 1


def test_a_chain_is_straight_and_an_input_stands_above_its_reader() -> None:
    at = layered(["a", "b", "late", "c"], [("a", "b"), ("b", "c"), ("late", "c")])
    assert at.layer == {"a": 0, "b": 1, "c": 2, "late": 1}
    chain = layered(["a", "b", "c"], [("a", "b"), ("b", "c")])
    assert set(chain.place.values()) == {0.5} and chain.width == 1.0
    assert layered([], []).height == 0


@pytest.mark.nightly
def test_the_work_is_linear_in_the_length() -> None:
    def work(n: int) -> int:
        edges = [(k, k + 1) for k in range(n - 1)] + [(k, k + 3) for k in range(0, n - 3, 3)]
        return calls(lambda: layered(range(n), edges))

    assert work(4000) < 20 * work(400)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("", ""),
        ("lambda i0, i1, i2, i3: [i0, i1 // 16, i2, i3, i1 % 16]", "NCHW16c"),
        ("lambda i0, i1, i2, i3: [i0, i2, i3, i1]", "NHWC"),
        ("lambda i0: [i0 // 8, i0 % 8]", "C8c"),
        ("lambda i0, i1, i2: [i2, i0, i1]", "CAB"),
        ("lambda i0, i1, i2, i3: [i0, i1, i2, i3] in (1, 16, 7, 7)", "NCHW in (1, 16, 7, 7)"),
        ("lambda i0, i1, i2, i3: [i0, i1 // 4, i2, i3, i1 % 4] padded with 0.0", "NCHW4c padded with 0.0"),
        ("lambda i0, i1: [i0 * 8 + i1]", "lambda i0, i1: [i0 * 8 + i1]"),
    ],
)
def test_names_of_layouts(text: str, name: str) -> None:
    assert layout_name(text) == name


def test_names_that_are_no_xml_are_drawn() -> None:
    g = GraphBuilder()
    x = g.input("x", (1, 4, 2, 2))
    w = g.constant(np.ones((4, 4, 1, 1), np.float32))
    graph = g.finish(g.op("nn.conv2d", x, w, name="y", source='a<b>&"c"'))
    frozen = Annotations({"conv2d": "NCHW2c"}).frozen(graph)
    root = ElementTree.fromstring(diagram(plan(graph, frozen), frozen, "<title> & more"))
    texts = ["".join(t.itertext()) for t in root.iter("{http://www.w3.org/2000/svg}text")]
    titles = ["".join(t.itertext()) for t in root.iter("{http://www.w3.org/2000/svg}title")]
    assert texts[0] == "<title> & more"
    assert any('a<b>&"c"' in t for t in titles)
    assert "after: 3 nodes, 2 rewrites left" in texts
