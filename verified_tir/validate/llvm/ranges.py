"""Intervals of integers that are data, for the flags that an optimiser derives (``nsw``, ``nuw``, ``nneg``)."""

from __future__ import annotations

from typing import final

from verified_tir.ir.dtype import DType
from verified_tir.semantics.values import wrap
from verified_tir.validate.llvm.graph import Graph, Lane
from verified_tir.validate.terms import beneath

Range = tuple[int, int]


@final
class Ranges:
    """Bounds of nodes, each for the number at the node's own type."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._memo: dict[int, Range] = {}

    def of(self, lane: Lane, dtype: DType) -> Range:
        """Bounds of a lane read at an integer type."""
        if lane >= 0:
            return wrap(dtype, lane), wrap(dtype, lane)
        own = self.graph.dtypes[~lane]
        low, high = self._node(~lane) if own.is_int or own.is_bool else full(dtype)
        return (low, high) if dtype.min_value <= low and high <= dtype.max_value else full(dtype)

    def _node(self, root: int) -> Range:
        for node in beneath([root], self._missing):
            self._memo[node] = self._bounds(node)
        return self._memo[root]

    def _missing(self, node: int) -> list[int]:
        """The integers that a node is computed from, and whose bounds are not known yet."""
        made = None if node in self._memo else self.graph.operation(~node)
        return [] if made is None else [k for k in made[1] if k and k not in self._memo and self._wanted(k)]

    def _wanted(self, node: int) -> bool:
        dtype = self.graph.dtypes[node]
        return dtype.is_int or dtype.is_bool

    def _bounds(self, node: int) -> Range:
        dtype, made = self.graph.dtypes[node], self.graph.operation(~node)
        if not (dtype.is_int or dtype.is_bool):
            return full(dtype)
        term = self.graph.known_term(~node)
        if term is not None and self.graph.terms.op_of(term) == "const":
            value = int(self.graph.terms.value(term))
            return value, value
        if made is None or dtype.is_bool:
            return full(dtype)
        (kind, op, source, _), (a, b, c) = made
        if kind == "cast" and (source.is_int or source.is_bool):
            return _fit(self._memo.get(a, full(source)), dtype)
        if kind == "choose":
            x, y = self._memo.get(b, full(dtype)), self._memo.get(c, full(dtype))
            return y if b == 0 else x if c == 0 else (min(x[0], y[0]), max(x[1], y[1]))
        if kind == "call" and op in ("popcount", "clz"):
            return 0, source.bits
        if kind == "binary":
            return _fit(_apply(op, self._memo.get(a, full(dtype)), self._memo.get(b, full(dtype)), dtype), dtype)
        return full(dtype)


def full(dtype: DType) -> Range:
    """All numbers of an integer type."""
    return (dtype.min_value, dtype.max_value) if dtype.is_int or dtype.is_bool else (0, 0)


def _fit(found: Range, dtype: DType) -> Range:
    return found if dtype.min_value <= found[0] and found[1] <= dtype.max_value else full(dtype)


def _apply(op: str, x: Range, y: Range, dtype: DType) -> Range:  # noqa: PLR0911 (one case for each operator)
    products = [p * q for p in x for q in y]
    match op:
        case "add":
            return x[0] + y[0], x[1] + y[1]
        case "sub":
            return x[0] - y[1], x[1] - y[0]
        case "mul":
            return min(products), max(products)
        case "bitand" if x[0] >= 0 or y[0] >= 0:
            return 0, min(k[1] for k in (x, y) if k[0] >= 0)
        case "bitor" | "bitxor" if x[0] >= 0 and y[0] >= 0:
            return 0, (1 << max(x[1], y[1]).bit_length()) - 1
        case "shr" if y[0] == y[1] and 0 <= y[0] < dtype.bits:
            return x[0] >> y[0], x[1] >> y[0]
        case "shl" if y[0] == y[1] and 0 <= y[0] < dtype.bits:
            return x[0] << y[0], x[1] << y[0]
        case "min":
            return min(x[0], y[0]), min(x[1], y[1])
        case "max":
            return max(x[0], y[0]), max(x[1], y[1])
        case "floordiv" if y[0] > 0:
            return min(x[0] // k for k in y), max(x[1] // k for k in y)
        case "truncdiv" if y[0] > 0:
            return (-(-x[0] // y[0]) if x[0] < 0 else x[0] // y[1]), (x[1] // y[0] if x[1] >= 0 else 0)
        case "floormod" | "truncmod" if x[0] >= 0 and y[0] > 0:
            return 0, min(x[1], y[1] - 1)
        case "floormod" if y[0] > 0:
            return 0, y[1] - 1
        case "truncmod" if y[0] > 0:
            return 1 - y[1], y[1] - 1
    return full(dtype)
