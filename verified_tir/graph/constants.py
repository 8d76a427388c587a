"""Values that depend on constants only become constants.

They are computed once, when a graph is made, and not each time that it runs; weights among them can be packed then.
What computes them is what would have computed them later: the interpreter, which defines the operators, or their
compiled programs, which refine what it says, where that takes less time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from verified_tir.graph.element_types import unchanging
from verified_tir.graph.ir import Array, Graph, Node, Value

MOST: Final = 2**26
"""Larger values are computed when the graph runs."""

FEW: Final = 2**11
"""Up to so many elements the interpreter is faster than a compiler."""


def constants_folded(graph: Graph) -> Graph:
    """The graph with the results of nodes whose operands are all constants as constants of the same names, and without
    constants that nothing uses.

    :raises GraphError: if such a node is not a legal program, or cannot be compiled.
    """
    known = set(graph.constants)
    nodes: list[Node] = []
    for n in graph.nodes:
        if known.issuperset(n.inputs) and all(not v.type.is_open and v.type.size <= MOST for v in n.outputs):
            nodes.append(n)
            known.update(n.outputs)
    gone = set(nodes)
    rest = tuple(n for n in graph.nodes if n not in gone)
    needed = {v for n in rest for v in n.inputs} | {*graph.outputs}
    if not nodes and needed.issuperset(graph.constants):
        return graph
    values = elements(nodes, graph.constants)
    return replace(graph, constants={v: a for v, a in values.items() if v in needed}, nodes=rest)


def elements(nodes: Sequence[Node], constants: Mapping[Value, Array]) -> dict[Value, Array]:
    """The constants, and what nodes compute of them: small nodes and large ones in turns, as they wait for others."""
    from verified_tir.graph.execute import build, evaluate

    values, left = dict(constants), list(nodes)
    while left:
        for few in (True, False):
            ready: list[Node] = []
            known = set(values)
            for n in left:
                if _is_small(n) == few and known.issuperset(n.inputs):
                    ready.append(n)
                    known.update(n.outputs)
            results = tuple(v for n in ready for v in n.outputs)
            used = {v: values[v] for n in ready for v in n.inputs if v in values}
            part = Graph("constants", (), used, tuple(ready), results)
            arrays = evaluate(part, []) if few else build(part, schedules=False).run([])
            values.update(zip(results, map(unchanging, arrays), strict=True))
            left = [n for n in left if n not in ready]
    return values


def _is_small(node: Node) -> bool:
    return sum(v.type.size for v in (*node.inputs, *node.outputs)) <= FEW
