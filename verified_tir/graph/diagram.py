"""A plan as a picture: the graph before and after, side by side, as SVG.

Nodes in frozen layouts, nodes whose programs changed, and rewrites have colours; edges say shapes, and layouts by their
names (NCHW16c) where they have one.  Constants are not drawn: a node's title, shown under the pointer, names them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import final
from xml.sax.saxutils import escape, quoteattr

from verified_tir.graph.ir import Graph, Node, Value
from verified_tir.graph.layered import Layering, layered
from verified_tir.graph.plan import Plan
from verified_tir.graph.report import rewrite_nodes
from verified_tir.graph.sizes import dim_text

NODE_WIDTH, NODE_HEIGHT = 170, 24
COLUMN, ROW = 200, 58
"""Distances of the middles of neighbours, in pixels."""
BEND = 100
MARGIN, GAP, HEAD = 24, 60, 86
LETTERS = {4: "NCHW", 2: "NC", 1: "C"}
"""Names of dimensions, by their number; others are A, B, C …"""

STYLE = """
text { font: 11px sans-serif; text-anchor: middle; fill: #1b1b1b }
.edge { fill: none; stroke: #8a8a8a; stroke-width: 1.2 }
.moved { stroke: #2f6fb3 }
.label { font-size: 9.5px; fill: #555 }
.movedlabel { font-size: 9.5px; fill: #1d5796 }
.node { stroke: #555; fill: #f2f2f2 }
.value { stroke: #555; fill: #fff }
.frozen { stroke: #b26a00; fill: #ffdf9e }
.changed { stroke: #2f6fb3; fill: #d3e5f8 }
.rewrite { stroke: #b3261e; fill: #f8c9c5; stroke-width: 2; stroke-dasharray: 5 2 }
.head { font-size: 15px; font-weight: bold; text-anchor: start }
.note { font-size: 11px; text-anchor: start }
"""


@final
@dataclass(frozen=True, slots=True)
class _Look:
    """How to draw a graph: classes of nodes, the layouts of values (texts of index maps, empty for none), and what
    nodes are called where it is not by their operators."""

    kinds: Mapping[Node, str]
    layouts: Mapping[Value, str]
    names: Mapping[Node, str] = field(default_factory=dict)


def diagram(made: Plan, frozen: Mapping[Node, object], title: str = "") -> str:
    """The picture of a plan whose frozen nodes are given, as the text of an SVG file."""
    rewrites = rewrite_nodes(made.graph)
    before = _Look(dict.fromkeys(frozen, "frozen") | dict.fromkeys(rewrite_nodes(made.before), "rewrite"), {})
    kinds = {n: "frozen" if of in frozen else "changed" if n in made.relaid else "node"
             for n, of in made.implements.items()}  # fmt: skip
    after = _Look(
        kinds | dict.fromkeys(rewrites, "rewrite"),
        {w: layout for w, (_, layout) in made.stands_for.items() if layout},
        {n: of.op for n, of in made.implements.items()},
    )
    left, width, height = _graph(made.before, before)
    right, more, tall = _graph(made.graph, after)
    total, high = width + GAP + more + 2 * MARGIN, max(height, tall) + HEAD + MARGIN
    total = max(total, 860)
    left_words = f"before: {len(made.before.nodes)} nodes"
    left_over = f"{len(made.rewrites)} rewrite{'' if len(made.rewrites) == 1 else 's'} left"
    right_words = f"after: {len(made.graph.nodes)} nodes, {left_over}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total:.0f}" height="{high:.0f}" '
        f'viewBox="0 0 {total:.0f} {high:.0f}">',
        f"<style>{STYLE}</style>",
        f'<rect width="{total:.0f}" height="{high:.0f}" fill="#fff"/>',
        f'<text class="head" x="{MARGIN}" y="26">{escape(title or made.before.name)}</text>',
        *_legend(),
        f'<text class="note" x="{MARGIN}" y="{HEAD - 8}">{left_words}</text>',
        f'<text class="note" x="{MARGIN + width + GAP:.0f}" y="{HEAD - 8}">{right_words}</text>',
        f'<g transform="translate({MARGIN},{HEAD})">',
        *left,
        "</g>",
        f'<g transform="translate({MARGIN + width + GAP:.0f},{HEAD})">',
        *right,
        "</g>",
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _legend() -> list[str]:
    parts, x = [], MARGIN
    for kind, text in (
        ("frozen", "frozen layout"),
        ("changed", "program moved, proved"),
        ("rewrite", "rewrite of a layout"),
        ("node", "as it was"),
    ):
        parts.append(f'<rect class="{kind}" x="{x}" y="38" width="22" height="14" rx="3"/>')
        parts.append(f'<text class="note" x="{x + 28}" y="49">{text}</text>')
        x += 190
    return parts


def _graph(graph: Graph, look: _Look) -> tuple[list[str], float, float]:
    """The parts of a graph's picture, its width and its height."""
    producer = graph.producer()
    inputs = {*graph.inputs}
    results = [("result", k, v) for k, v in enumerate(graph.outputs)]
    order: list[object] = [*graph.inputs, *graph.nodes, *results]
    carried: dict[tuple[object, object], list[Value]] = {}
    for n in graph.nodes:
        for v in dict.fromkeys(n.inputs):
            if v in producer or v in inputs:
                carried.setdefault((producer.get(v, v), n), []).append(v)
    for r in results:
        if r[2] in producer or r[2] in inputs:
            carried.setdefault((producer.get(r[2], r[2]), r), []).append(r[2])
    edges = list(carried)
    at = layered(order, edges, COLUMN, BEND)
    degree = Counter(a for a, _ in edges)
    parts: list[str] = []
    for edge, values in carried.items():
        parts += _edge(at, edge, values, look, forks=degree[edge[0]] > 1)
    for item in order:
        parts += _box(at, item, look, graph)
    return parts, at.width, at.height * ROW


def _middle(at: Layering, item: object) -> tuple[float, float]:
    return at.place[item], at.layer[item] * ROW + ROW / 2


def _edge(at: Layering, edge: tuple[object, object], values: list[Value], look: _Look, *, forks: bool) -> list[str]:
    (x, y), (to_x, to_y) = _middle(at, edge[0]), _middle(at, edge[1])
    y, to_y = y + NODE_HEIGHT / 2, to_y - NODE_HEIGHT / 2
    points = [(x, y), *((px, row * ROW + ROW / 2) for px, row in at.bends[edge]), (to_x, to_y)]
    path = f"M{x:.1f},{y:.1f}"
    for (ax, ay), (bx, by) in pairwise(points):
        half = (ay + by) / 2
        path += f" C{ax:.1f},{half:.1f} {bx:.1f},{half:.1f} {bx:.1f},{by:.1f}"
    moved = any(look.layouts.get(v) for v in values)
    parts = [f'<path class="edge{" moved" if moved else ""}" d="{path}"/>']
    text = "; ".join(_type(v, look) for v in values)
    # beside the end at which there are no other edges; a long edge says it where it begins to pass
    place_x, place_y = points[1][0] if forks else points[0][0], (points[0][1] + points[1][1]) / 2 + 3
    if at.bends[edge]:
        place_x, place_y = points[1]
    kind = "movedlabel" if moved else "label"
    parts.append(
        f'<text class="{kind}" x="{place_x:.1f}" y="{place_y:.1f}" paint-order="stroke" stroke="#fff" '
        f'stroke-width="3">{escape(text)}</text>'
    )
    return parts


def _type(v: Value, look: _Look) -> str:
    name = layout_name(look.layouts.get(v, ""))
    return "×".join(map(dim_text, v.dims)) + (f" {name}" if name else "")


def _box(at: Layering, item: object, look: _Look, graph: Graph) -> list[str]:
    x, y = _middle(at, item)
    match item:
        case Node():
            op = look.names.get(item, item.op)
            text = item.func.name if op == "call_tir" and item.func is not None else op.removeprefix("nn.")
            kind, radius = look.kinds.get(item, "node"), 4
            title = _title(item, look, graph)
        case Value():
            text, kind, radius, title = item.name, "value", 12, repr(item)
        case (_, _, Value() as v):
            text, kind, radius, title = v.name, "value", 12, f"result {v!r}"
        case _:
            raise TypeError(f"{item!r} is not a part of a graph")
    left, top = x - NODE_WIDTH / 2, y - NODE_HEIGHT / 2
    return [
        f"<g><title>{escape(title)}</title>"
        f'<rect class="{kind}" x="{left:.1f}" y="{top:.1f}" width="{NODE_WIDTH}" height="{NODE_HEIGHT}" rx="{radius}"/>'
        f'<text x="{x:.1f}" y="{y + 4:.1f}" data-node={quoteattr(text)}>{escape(_short(text))}</text></g>'
    ]


def _title(n: Node, look: _Look, graph: Graph) -> str:
    def line(v: Value) -> str:
        what = " (constant)" if v in graph.constants else ""
        layout = look.layouts.get(v, "")
        return f"{v!r}{what}{' in ' + layout if layout else ''}"

    attrs = [f"{k} = {value}" for k, value in n.attrs.items()]
    results = ["results:", *map(line, n.outputs)]
    return "\n".join([str(n), *attrs, "operands:", *map(line, n.inputs), *results])


def _short(text: str) -> str:
    return text if len(text) <= 26 else f"{text[:12]}…{text[-12:]}"


_OUTPUT = re.compile(r"i(\d+)(?: (//|%) (\d+))?")


def layout_name(text: str) -> str:
    """``NCHW16c`` for the map that it names; the map itself, or nothing for none, where there is no such name."""
    if not text:
        return ""
    found = re.fullmatch(r"lambda ([^:]*): \[(.*)\](.*)", text)
    if found is None:
        return text
    rank = len(found[1].split(", "))
    letters = LETTERS.get(rank, "ABCDEFGHIJKLMNOP"[:rank])
    name = ""
    for part in found[2].split(", "):
        one = _OUTPUT.fullmatch(part)
        if one is None or int(one[1]) >= len(letters):
            return text
        letter = letters[int(one[1])]
        name += f"{one[3]}{letter.lower()}" if one[2] == "%" else letter
    return name + found[3]
