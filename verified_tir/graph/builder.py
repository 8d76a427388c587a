"""Graphs in the making: node by node, each value under a name of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, final

import numpy as np

from verified_tir.graph.element_types import unchanging
from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import Array, Graph, Node, TensorType, Value
from verified_tir.graph.names import Names, identifier
from verified_tir.graph.sizes import Dim, normal, symbol
from verified_tir.index.map import IndexMap
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError


def _index_map(op: str, function: Callable[..., Any], rank: int) -> IndexMap:
    try:
        return IndexMap.from_func(function, rank)
    except IRError as problem:
        raise GraphError(f"{op}: {problem}") from None


@final
class GraphBuilder:
    """Makes a graph node by node; names are made different.

    ::

        g = GraphBuilder("main")
        x = g.input("x", (1, 3, 8, 8))
        y = g.op("nn.relu", x)
        graph = g.finish(y)
    """

    def __init__(self, name: str = "main") -> None:
        self.name = name
        self._inputs: list[Value] = []
        self._constants: dict[Value, Array] = {}
        self._nodes: list[Node] = []
        self._names = Names()
        self._zero_with: dict[tuple[Dim, Dim], None] = {}

    def fresh(self, name: str) -> str:
        """The name, numbered if it is taken."""
        return self._names.fresh(identifier(name))

    def input(self, name: str, shape: Sequence[Dim | str], dtype: str = "float32") -> Value:
        """An input of the graph; an extent is a number, or the name of a size that is known when the graph runs."""
        dims = tuple(symbol(e) if isinstance(e, str) else e for e in shape)
        v = Value(self.fresh(name), TensorType(dims, dtype))
        self._inputs.append(v)
        return v

    def constant(self, array: Any, name: str = "const") -> Value:
        """A constant with the elements that an array has now: it is copied if it can be written."""
        if isinstance(array, np.ma.MaskedArray):
            raise GraphError(f"the constant {name} is a masked array, and masks have no meaning here")
        made = np.asarray(array)
        v = Value(self.fresh(name), TensorType(made.shape, "bool" if made.dtype == np.bool_ else str(made.dtype)))
        self._constants[v] = unchanging(made)
        return v

    def op(self, op: str, *inputs: Value, name: str = "", source: str = "", **attrs: Any) -> Any:
        """A named operator; gives its result, or a tuple of them.

        The ``index_map`` of ``layout_transform`` may be a function: ``index_map=lambda i, j: [i, j // 4, j % 4]``.

        :raises GraphError: for an operator that is not known, or operands or attributes that do not fit.
        """
        from verified_tir.graph.operators import result_types

        if inputs and callable(function := attrs.get("index_map")):
            attrs["index_map"] = _index_map(op, function, inputs[0].rank)
        types = result_types(op, [v.type for v in inputs], attrs, source)
        return self.add(op, inputs, types, attrs, None, name, source)

    def call_tir(self, func: PrimFunc, inputs: Sequence[Value], types: Sequence[TensorType], name: str = "") -> Any:
        """A call of a PrimFunc, whose last parameters are the results."""
        return self.add("call_tir", inputs, types, {}, func, name or func.name, "")

    def add(
        self, op: str, inputs: Sequence[Value], types: Sequence[TensorType], attrs: Mapping[str, Any],
        func: PrimFunc | None, name: str | Sequence[str], source: str,
    ) -> Any:  # fmt: skip
        """A node with results of the given types, under one name or a name each."""
        names = [name or "lv"] * len(types) if isinstance(name, str) else list(name)
        outputs = tuple(Value(self.fresh(n), t) for n, t in zip(names, types, strict=True))
        self._nodes.append(Node(op, tuple(inputs), outputs, dict(attrs), func, source))
        return outputs[0] if len(outputs) == 1 else outputs

    def zero_with(self, size: Dim, other: Dim) -> None:
        """Refuse calls in which a size is 0 and another one is not (``Graph.zero_with``)."""
        self._zero_with[normal(size), normal(other)] = None

    def mark(self) -> int:
        """How many nodes there are, for ``size_since`` and ``fold``."""
        return len(self._nodes)

    def size_since(self, mark: int) -> int:
        """How many elements the nodes since then compute."""
        return sum(v.type.size for n in self._nodes[mark:] for v in n.outputs)

    def fold(self, mark: int, values: Sequence[Value]) -> list[Array]:
        """Compute the nodes since then, which depend on constants only; these values are constants from now on.

        :raises GraphError: if such a node is not a legal program.
        """
        from verified_tir.graph.constants import elements

        found = elements(self._nodes[mark:], self._constants)
        del self._nodes[mark:]
        self._constants.update((v, found[v]) for v in values)
        return [found[v] for v in values]

    def finish(self, *outputs: Value, names: Sequence[str] = ()) -> Graph:
        """The graph with these results, which have these names, if any; inputs and constants keep theirs."""
        new = self._renamed(dict(zip(outputs, map(identifier, names), strict=False)))
        nodes = [
            replace(n, inputs=tuple([new.get(v, v) for v in n.inputs]), outputs=tuple([new[v] for v in n.outputs]))
            for n in self._nodes
        ]
        results = [new.get(v, v) for v in outputs]
        inputs, zero_with = tuple(self._inputs), tuple(self._zero_with)
        return Graph(self.name, inputs, dict(self._constants), tuple(nodes), tuple(results), zero_with)

    def _renamed(self, wanted: Mapping[Value, str]) -> dict[Value, Value]:
        """What nodes compute, with these names; a value that had one of them gets the name that became free."""
        names = {v: v.name for n in self._nodes for v in n.outputs}
        holders = {name: v for v, name in names.items()}
        for v, name in wanted.items():
            old = names.get(v, name)
            if old == name or (name not in holders and self.fresh(name) != name):
                continue
            other = holders.pop(name, None)
            del holders[old]
            names[v], holders[name] = name, v
            if other is not None:
                names[other], holders[old] = old, other
        return {v: v if v.name == name else replace(v, name=name) for v, name in names.items()}
