"""Which layouts operators shall have, as a user says it: ``conv2d=NCHW16c``.

A layout is named as in TVM: a letter for each dimension, capital letters in the order in which they stand, and a number
with a small letter for a tile of that dimension: NCHW16c is ``[n, c // 16, h, w, c % 16]``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import final

from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import Graph, Node
from verified_tir.graph.options import Layout
from verified_tir.ir.expr import Expr, Var
from verified_tir.schedule.index_map import IndexMap

Layouts = tuple[Sequence[Layout], Sequence[Layout]]

_PLAIN = {"nn.conv2d": "NCHW", "nn.max_pool2d": "NCHW", "nn.avg_pool2d": "NCHW"}


def layout_named(text: str, plain: str, shape: Sequence[int] | None = None) -> IndexMap:
    """The map from the layout called ``plain`` (``NCHW``) to that called ``text`` (``NCHW16c``).

    :param shape: extents of the plain layout: a dimension that is no multiple of its tile is not tiled.
    :raises GraphError: if the name is no arrangement of the plain one's letters.
    """
    parts = re.findall(r"([A-Z])|(\d+)([a-z])", text)
    if "".join(a or n + b for a, n, b in parts) != text:
        raise GraphError(f"{text!r} is no layout; write letters and tiles, as in NCHW16c")
    outer = [a for a, _, _ in parts if a]
    tiles = {b.upper(): int(n) for _, n, b in parts if b}
    if sorted(outer) != sorted(plain) or not {*tiles} <= {*plain} or len(tiles) != len([b for *_, b in parts if b]):
        raise GraphError(f"{text} is no arrangement of {plain} with tiles")
    if shape is not None:
        tiles = {k: t for k, t in tiles.items() if shape[plain.index(k)] % t == 0}

    def of(*indices: Var) -> list[Expr]:
        at = dict(zip(plain, indices, strict=True))
        found: list[Expr] = []
        for a, _, b in parts:
            k = a or b.upper()
            if k not in tiles:
                found += [at[k]] if a else []
            else:
                found.append(at[k] // tiles[k] if a else at[k] % tiles[k])
        return found

    return IndexMap.from_func(of, len(plain))


@final
class Annotations:
    """Layouts by operator: ``{"conv2d": "NCHW16c"}``, or with the weights' after a colon, ``NCHW16c:OIHW16i16o``."""

    def __init__(self, wanted: Mapping[str, str]) -> None:
        self.wanted: dict[str, str] = {}
        for name, layout in wanted.items():
            full = name if name.startswith("nn.") else f"nn.{name}"
            if full not in _PLAIN:
                known = ", ".join(n.removeprefix("nn.") for n in _PLAIN)
                raise GraphError(f"layouts are asked for by {known}; {name} takes what reaches it")
            self.wanted[full] = layout

    def frozen(self, graph: Graph) -> dict[Node, Layouts]:
        """The layouts of the operands and results of each node that is spoken of."""
        return {n: self._layouts(n, self.wanted[n.op]) for n in graph.nodes if n.op in self.wanted}

    def _layouts(self, node: Node, text: str) -> Layouts:
        data, _, weights = text.partition(":")
        x, y = (layout_named(data, "NCHW", v.shape) for v in (node.inputs[0], node.output))
        if node.op != "nn.conv2d":
            return [x], [y]
        w, *bias = node.inputs[1:]
        tile = "".join(re.findall(r"(\d+)c", data))
        kernel = layout_named(weights or (f"OIHW{tile}i{tile}o" if tile else "OIHW"), "OIHW", w.shape)
        rest: list[Layout] = []
        for b in bias:
            whole = tile and b.shape[0] % int(tile) == 0
            rest.append(IndexMap.from_func(lambda c: [c // int(tile), c % int(tile)], 1) if whole else None)
        return [x, kernel, *rest], [y]
