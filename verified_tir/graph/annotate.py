"""Which layouts operators shall have, as a user says it: ``conv2d=NCHW16c``.

A layout is named as in TVM: a letter for each dimension, capital letters in the order in which they stand, and a number
with a small letter for a tile of that dimension: NCHW16c is ``[n, c // 16, h, w, c % 16]``.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal, TypeAlias, final

from verified_tir.codegen.target import Target
from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import Graph, Node, Value
from verified_tir.graph.layouts import Layout, whole_tiles, with_value
from verified_tir.graph.options import Frozen, Layouts
from verified_tir.graph.sizes import Dim, numbers, symbols_of
from verified_tir.index.map import IndexMap
from verified_tir.ir.expr import Expr, Var

_PLAIN = {
    "nn.conv2d": "NCHW", "nn.conv2d_transpose": "NCHW", "nn.max_pool2d": "NCHW", "nn.avg_pool2d": "NCHW",
    "nn.global_avg_pool2d": "NCHW", "matmul": "MK", "nn.dense": "MK",
}  # fmt: skip

Pad: TypeAlias = Literal["large", "always", "never"]
"""Which dimensions are padded that are not multiples of their tile: those that are larger than it (smaller ones may be
left as they are, or padded, as it is cheaper), all, or none (they are not tiled)."""


def layout_named(text: str, plain: str, shape: Sequence[int] | None = None) -> IndexMap:
    """The map from the layout called ``plain`` (``NCHW``) to that called ``text`` (``NCHW16c``).

    :param shape: extents of the plain layout: a dimension that is not a multiple of its tile is not tiled.
    :raises GraphError: if the name is not an arrangement of the plain one's letters.
    """
    parts, tiles = _read(text, plain)
    if shape is not None:
        tiles = {k: t for k, t in tiles.items() if shape[plain.index(k)] % t == 0}
    return _map(tuple(parts), tuple(tiles.items()), plain)


def padded_layout(text: str, plain: str, shape: Sequence[Dim], pad: Pad, value: float | None = None) -> list[Layout]:
    """The layouts of that name that a tensor of this shape may have.

    Dimensions that are not multiples of their tile are padded, or not tiled.  Tensors of which an extent is open are
    not padded.

    :raises GraphError: if an extent that is open would be tiled.
    :param value: what the padding holds; ``None`` for anything.
    """
    parts, tiles = _read(text, plain)
    size = {k: shape[plain.index(k)] for k in tiles}
    if symbols_of(shape):
        pad = "never"
    numbers(list(size.values()), f"what the layout {text} tiles")
    odd = {k for k, t in tiles.items() if size[k] % t}
    kept = {"always": odd, "never": set[str](), "large": {k for k in odd if size[k] > tiles[k]}}[pad]
    choices = [kept] if pad != "large" or kept == odd else [kept, odd]
    found: list[Layout] = []
    for some in choices:
        used = {k: t for k, t in tiles.items() if k in some or k not in odd}
        index_map = _map(tuple(parts), tuple(used.items()), plain)
        found.append(with_value(whole_tiles(index_map, shape), value, shape))
    return found


def _read(text: str, plain: str) -> tuple[list[tuple[str, str, str]], dict[str, int]]:
    """The parts of a name, and the tiles by letter."""
    parts = re.findall(r"([A-Z])|(\d+)([a-z])", text)
    if "".join(a or n + b for a, n, b in parts) != text:
        raise GraphError(f"{text!r} is not a layout; write letters and tiles, as in NCHW16c")
    outer = [a for a, _, _ in parts if a]
    tiles = {b.upper(): int(n) for _, n, b in parts if b}
    if sorted(outer) != sorted(plain) or not {*tiles} <= {*plain} or len(tiles) != len([b for *_, b in parts if b]):
        raise GraphError(f"{text} is not an arrangement of {plain} with tiles")
    if 0 in tiles.values():
        raise GraphError(f"{text!r} is not a layout: a tile has at least one element")
    return parts, tiles


@lru_cache(maxsize=256)
def _map(parts: tuple[tuple[str, str, str], ...], tile_of: tuple[tuple[str, int], ...], plain: str) -> IndexMap:
    """One object for each map: what is found out about it is found out once for all nodes that have it."""

    def of(*indices: Var) -> list[Expr]:
        at, tiles = dict(zip(plain, indices, strict=True)), dict(tile_of)
        found: list[Expr] = []
        for a, _, b in parts:
            k = a or b.upper()
            if k not in tiles:
                found += [at[k]] if a else []
            else:
                found.append(at[k] // tiles[k] if a else at[k] % tiles[k])
        return found

    return IndexMap.from_func(of, len(plain))


def blocked_layouts(target: Target) -> dict[str, str]:
    """The layouts in which models run fast on a machine, by operator: convolutions work on blocks of as many channels
    as there are float32 in a vector.

    What ``--layout auto`` means: ``Annotations(blocked_layouts(Target.host()))``.
    """
    n = max(4, target.vector_bits // 32)
    return {"conv2d": f"NCHW{n}c:OI{n}iHW{n}o"}


@final
class Annotations:
    """Layouts by operator: ``{"conv2d": "NCHW16c"}``, or with the weights' after a colon, ``NCHW16c:OIHW16i16o``.

    ``matmul`` and ``dense`` are products of rows (MK) by constants (KN); with a layout after the colon, which is then
    that of the second operand, also those of two values: ``{"matmul": "MK:NK16k16n"}``.

    :param pad: what becomes of dimensions that are not multiples of their tile.
    :param pad_value: what padding holds, of operands and results alike; ``None`` for anything.
    """

    def __init__(self, wanted: Mapping[str, str], *, pad: Pad = "large", pad_value: float | None = None) -> None:
        self.wanted: dict[str, str] = {}
        self.pad: Pad = pad
        self.pad_value = pad_value
        if pad not in ("large", "always", "never"):
            raise GraphError(f"dimensions are padded large, always or never, not {pad}")
        for name, layout in wanted.items():
            full = name if name in _PLAIN else f"nn.{name}"
            if full not in _PLAIN:
                known = ", ".join(n.removeprefix("nn.") for n in _PLAIN)
                raise GraphError(f"layouts are asked for by {known}; {name} takes what reaches it")
            self.wanted[full] = layout

    def frozen(self, graph: Graph) -> dict[Node, Frozen]:
        """The layouts of the operands and results of each node that is spoken of: one choice, or several.

        Nodes with a tensor without elements stay as they are: there is nothing to move.
        """
        found: dict[Node, list[Layouts]] = {}
        for n in graph.nodes:
            if n.op not in self.wanted or any(0 in v.type.dims for v in (*n.inputs, *n.outputs)):
                continue
            if _PLAIN[n.op] == "NCHW":
                found[n] = self._layouts(n, self.wanted[n.op])
            elif (n.inputs[1] in graph.constants and n.inputs[1].rank == 2) or ":" in self.wanted[n.op]:
                found[n] = self._of_product(n, self.wanted[n.op])
        return {n: choices[0] if len(choices) == 1 else choices for n, choices in found.items()}

    def _layouts(self, node: Node, text: str) -> list[Layouts]:
        data, _, weights = text.partition(":")
        plain = str(node.attrs.get("data_layout") or node.attrs.get("layout") or "NCHW")
        out = str(node.attrs.get("out_layout") or plain)
        xs, ys = self._of(data, plain, node.inputs[0]), self._of(data, out, node.output)
        kernels, rest = self._of_weights(node, data, weights)
        return [([x, *ws], [y]) for x in xs for y in ys for ws in itertools.product(kernels, *rest)] if kernels else [
            ([x], [y]) for x in xs for y in ys]  # fmt: skip

    def _of_product(self, node: Node, text: str) -> list[Layouts]:
        """Of rows of K elements by a matrix of weights: what rows have, the results have, with N in the place of K.

        A matrix that is no constant is moved when the graph runs.  Dimensions before the last two stay where they are.
        """
        data, _, weights = text.partition(":")
        x, w, *bias = node.inputs
        every = "ABCDEFGH"[: max(node.output.rank - 2, 0)]
        outer, before = (every[len(every) - v.rank + 2 :] for v in (x, w))
        rows = "KM" if node.attrs.get("transpose_a") else "MK"
        turned = node.op == "nn.dense" or bool(node.attrs.get("transpose_b"))
        tile = "".join(re.findall(r"(\d+)k", data))
        named = weights or (f"NK{tile}k{tile}n" if tile else "NK" if turned else "KN")
        results = data.translate(str.maketrans("Kk", "Nn"))
        xs, ys = self._of(outer + data, outer + rows, x), self._of(every + results, f"{every}MN", node.output)
        ws = self._of(before + named, before + ("NK" if turned else "KN"), w)
        ws = ws[:1] if not before else ws
        vectors = [self._of(f"N{tile}n", "N", b)[:1] if tile else [None] for b in bias]
        return [([x, *rest], [y]) for x in xs for y in ys for rest in itertools.product(ws, *vectors)]

    def _of(self, text: str, plain: str, v: Value) -> list[Layout]:
        return padded_layout(text, plain, v.dims, self.pad, self.pad_value)

    def _of_weights(self, node: Node, data: str, weights: str) -> tuple[list[Layout], list[list[Layout]]]:
        if node.op not in ("nn.conv2d", "nn.conv2d_transpose"):
            return [], []
        w, *bias = node.inputs[1:]
        plain = str(node.attrs.get("kernel_layout") or ("OIHW" if node.op == "nn.conv2d" else "IOHW"))
        tile = "".join(re.findall(r"(\d+)c", data))
        named = weights or (f"{plain}{tile}i{tile}o" if tile else plain)
        # constants take what they are given: where both would do, they are not padded
        kernel = self._of(named, plain, w)[:1]
        vectors: list[list[Layout]] = []
        for b in bias:
            vectors.append(self._of(f"C{tile}c", "C", b)[:1] if tile else [None])
        return kernel, vectors
