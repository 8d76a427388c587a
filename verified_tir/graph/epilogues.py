"""Nodes whose results are elements of another result, each changed alone, become part of its node.

    conv2d ── relu ── add ── relu        ⟶        one node, whose program is that of the four, one after the other

What lies between them is in no memory of the graph then.  A schedule may compute a bias, an activation or a residual
sum as the tile of a convolution is stored (``graph.schedules``), which is proved there like every step; here nothing is
to be proved, since the program of the new node is what the nodes mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from verified_tir.elaborate.blocks import expand_blocks
from verified_tir.graph.external import called_outside
from verified_tir.graph.ir import Graph, Node, Value
from verified_tir.graph.nests import nests
from verified_tir.graph.program import composed, program_key, program_of
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, IntImm, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Store
from verified_tir.ir.visit import nodes_of

MOST = 8
"""Nodes in one, at the most."""


def with_epilogues(graph: Graph) -> Graph:
    """The graph with such nodes in the nodes before them; the same graph if there are none, or if sizes are open."""
    if graph.symbols:
        return graph
    found = _Groups(graph)
    for node in graph.nodes:
        found.add(node)
    groups = found.groups.values()
    if all(len(g) == 1 for g in groups):
        return graph
    made = _Merged(graph)
    nodes = tuple(made.node(g) for g in groups)
    return replace(graph, nodes=nodes)


class _Groups:
    """Nodes by the one that they are merged into; a group stands where its last node stood."""

    def __init__(self, graph: Graph) -> None:
        self.kept = {*graph.outputs}
        self.consumers = graph.consumers()
        self.groups: dict[Value, list[Node]] = {}
        """By the result of the last node, or the first one of several, in the order of the last nodes."""
        self.elementwise: dict[object, tuple[int, ...]] = {}
        self.programs: dict[object, PrimFunc] = {}

    def add(self, node: Node) -> None:
        """Append a node to the group whose result it goes on with, or begin another one."""
        before = next((v for v in self._operands(node) if self._ends(v, node)), None)
        group = [] if before is None else self.groups.pop(before)
        self.groups[node.outputs[0]] = [*group, node]

    def _operands(self, node: Node) -> list[Value]:
        """The operands of which a node changes each element alone; that comes first which was computed last."""
        key = program_key(node)
        if key not in self.elementwise:
            self.elementwise[key] = elementwise(expand_blocks(self._program(node))) if len(node.outputs) == 1 else ()
        mine = [node.inputs[k] for k in self.elementwise[key]]
        order = {v: k for k, v in enumerate(self.groups)}
        return sorted((v for v in mine if v in order), key=lambda v: -order[v])

    def _ends(self, v: Value, node: Node) -> bool:
        """Whether a group computes the value for this node, once, and for nobody else."""
        group = self.groups[v]
        return (
            v not in self.kept
            and self.consumers[v] == [node]
            and node.inputs.count(v) == 1
            and len(group) < MOST
            and len(group[-1].outputs) == 1
            and called_outside(self._program(group[0])) is None
        )

    def _program(self, node: Node) -> PrimFunc:
        key = program_key(node)
        if key not in self.programs:
            self.programs[key] = program_of(node)
        return self.programs[key]


def elementwise(func: PrimFunc) -> tuple[int, ...]:
    """The parameters of a program that is one store, for each element, of which it reads that very element alone."""
    found, result = nests(func), func.buffers[-1] if func.buffers else None
    if len(found) != 1 or len(nodes_of(func.body, Store)) != 1 or found[0].update is not None or found[0].guards:
        return ()
    (nest,) = found
    if nest.store.buffer is not result:
        return ()
    where = _wide(nest.store.indices, result)
    if len({*where}) != len(where) or not all(isinstance(i, Var) for i in where):
        return ()
    alone = []
    for k, b in enumerate(func.buffers[:-1]):
        loads = [x for x in nest.loads if x.buffer is b]
        if loads and b.shape == result.shape and all(_wide(x.indices, b) == where for x in loads):
            alone.append(k)
    return tuple(alone)


def _wide(indices: tuple[Expr, ...], buffer: Buffer) -> list[Expr]:
    """The indices of an access, without dimensions of one element, in which there is but one place."""
    return [i for i, n in zip(indices, buffer.shape, strict=True) if not (isinstance(n, IntImm) and n.value == 1)]


class _Merged:
    """The nodes of groups; equal groups share a program, and so a theorem and code."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.programs: dict[object, PrimFunc] = {}

    def node(self, group: Sequence[Node]) -> Node:
        """One node for several."""
        if len(group) == 1:
            return group[0]
        inner = {v for n in group for v in n.outputs}
        inputs = tuple(dict.fromkeys(v for n in group for v in n.inputs if v not in inner))
        numbers = {v: k for k, v in enumerate((*inputs, *(v for n in group for v in n.outputs)))}
        key = tuple((program_key(n), tuple(numbers[v] for v in n.inputs)) for n in group)
        if key not in self.programs:
            self.programs[key] = composed(group, inputs, group[-1].outputs)
        source = " + ".join(map(str, group))
        return Node("call_tir", inputs, group[-1].outputs, {}, self.programs[key], source)
