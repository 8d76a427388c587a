"""Where to draw the nodes of an acyclic graph: in layers, as few edges crossing as is quickly found.

After Sugiyama, Tagawa and Toda, Methods for Visual Understanding of Hierarchical System Structures, 1981: longest paths
give the layers, long edges get a point in each layer that they pass, each layer is ordered by the means of its
neighbours, and places are the means of the neighbours' places, as far as the distances allow (least squares, by pooling
adjacent violators).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import final

SWEEPS = 6
"""Passes down and up, for the order and for the places."""


@final
@dataclass(frozen=True, slots=True)
class Layering:
    """Layer and place (the middle, in the unit of the widths) of each node, and the points of each edge in between.

    :ivar width: from the left of the leftmost node to the right of the rightmost; places begin at 0.
    """

    layer: dict[Hashable, int]
    place: dict[Hashable, float]
    bends: dict[tuple[Hashable, Hashable], tuple[tuple[float, int], ...]]
    width: float
    height: int


def layered(
    nodes: Sequence[Hashable], edges: Sequence[tuple[Hashable, Hashable]], width: float = 1.0, bend: float = 0.4
) -> Layering:
    """Places for nodes that are given in an order in which edges lead forward.

    :param width: what a node takes up, ``bend`` what a passing edge does.
    """
    edges = list(dict.fromkeys(edges))
    layer = _layers(nodes, edges)
    height = max(layer.values(), default=-1) + 1
    rows: list[list[Hashable]] = [[] for _ in range(height)]
    for n in nodes:
        rows[layer[n]].append(n)
    above: dict[Hashable, list[Hashable]] = {n: [] for n in nodes}
    below: dict[Hashable, list[Hashable]] = {n: [] for n in nodes}
    bends: dict[tuple[Hashable, Hashable], list[Hashable]] = {}
    for a, b in edges:
        last: Hashable = a
        points: list[Hashable] = []
        for k in range(layer[a] + 1, layer[b]):
            point = ("bend", a, b, k)
            rows[k].append(point)
            points.append(point)
            above[point], below[point] = [last], []
            below[last].append(point)
            last = point
        below[last].append(b)
        above[b].append(last)
        bends[a, b] = points
    known = {*nodes}
    sizes = {n: width if n in known else bend for row in rows for n in row}
    _order(rows, above, below)
    place = _places(rows, above, below, sizes)
    left = min((place[n] - sizes[n] / 2 for row in rows for n in row), default=0.0)
    right = max((place[n] + sizes[n] / 2 for row in rows for n in row), default=0.0)
    return Layering(
        layer,
        {n: place[n] - left for n in nodes},
        {e: tuple((place[p] - left, layer[e[0]] + 1 + k) for k, p in enumerate(ps)) for e, ps in bends.items()},
        right - left,
        height,
    )


def _layers(nodes: Sequence[Hashable], edges: Sequence[tuple[Hashable, Hashable]]) -> dict[Hashable, int]:
    """The longest path that leads to a node; what nothing leads to stands just above what it leads to."""
    before: dict[Hashable, list[Hashable]] = {n: [] for n in nodes}
    after: dict[Hashable, list[Hashable]] = {n: [] for n in nodes}
    for a, b in edges:
        before[b].append(a)
        after[a].append(b)
    layer: dict[Hashable, int] = {}
    for n in nodes:
        layer[n] = 1 + max((layer[a] for a in before[n]), default=-1)
    for n in nodes:
        if not before[n] and after[n]:
            layer[n] = max(0, min(layer[b] for b in after[n]) - 1)
    return layer


def _order(
    rows: list[list[Hashable]], above: dict[Hashable, list[Hashable]], below: dict[Hashable, list[Hashable]]
) -> None:
    """Order each row by the means of the neighbours' positions, down and up in turns."""
    for sweep in range(SWEEPS):
        neighbours = above if sweep % 2 == 0 else below
        turn = range(1, len(rows)) if sweep % 2 == 0 else range(len(rows) - 2, -1, -1)
        at = {n: k for row in rows for k, n in enumerate(row)}
        for r in turn:
            row = rows[r]
            means = {
                n: sum(at[m] for m in neighbours[n]) / len(neighbours[n]) if neighbours[n] else float(at[n])
                for n in row
            }
            row.sort(key=lambda n: means[n])
            at.update((n, k) for k, n in enumerate(row))


def _places(
    rows: list[list[Hashable]],
    above: dict[Hashable, list[Hashable]],
    below: dict[Hashable, list[Hashable]],
    sizes: dict[Hashable, float],
) -> dict[Hashable, float]:
    place: dict[Hashable, float] = {}
    for row in rows:
        x = 0.0
        for n in row:
            place[n] = x + sizes[n] / 2
            x += sizes[n]
    for sweep in range(SWEEPS):
        neighbours = above if sweep % 2 == 0 else below
        for row in rows if sweep % 2 == 0 else reversed(rows):
            wanted = [
                sum(place[m] for m in neighbours[n]) / len(neighbours[n]) if neighbours[n] else place[n] for n in row
            ]
            place.update(zip(row, _apart(wanted, [sizes[n] for n in row]), strict=True))
    return place


def _apart(wanted: Sequence[float], sizes: Sequence[float]) -> list[float]:
    """The places nearest to those wanted (least squares) at which neighbours do not overlap."""
    offsets, x = [], 0.0
    for size in sizes:
        offsets.append(x + size / 2)
        x += size
    pools: list[tuple[float, int]] = []  # means of wanted places less offsets, which must ascend
    for w, offset in zip(wanted, offsets, strict=True):
        mean, count = w - offset, 1
        while pools and pools[-1][0] > mean:
            other, n = pools.pop()
            mean, count = (mean * count + other * n) / (count + n), count + n
        pools.append((mean, count))
    starts = [mean for mean, count in pools for _ in range(count)]
    return [start + offset for start, offset in zip(starts, offsets, strict=True)]
