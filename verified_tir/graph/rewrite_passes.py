"""Passes over the layout rewrites of a graph: lifted out of PrimFuncs, in compact form, as PrimFuncs, taken apart.

Each pass replaces nodes by graphs, and each replacement has a theorem: the node's program is refined by the graph's
(``program_of_graph``).  So the graph with all of them replaced refines the graph before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, final

from verified_tir.graph.builder import GraphBuilder
from verified_tir.graph.compact import compact, decomposed, graph_of, steps_become
from verified_tir.graph.errors import GraphError, NoCopy
from verified_tir.graph.hoist import FROZEN, hoist
from verified_tir.graph.ir import Graph, Node, Value
from verified_tir.graph.names import Names
from verified_tir.graph.operators.layout import COMPACT
from verified_tir.graph.program import program_key, program_of
from verified_tir.graph.replace_statements import Proof
from verified_tir.index.map import IndexMap, IndexMapError
from verified_tir.ir.func import PrimFunc
from verified_tir.kernel.theorem import Refines
from verified_tir.schedule.errors import ScheduleError
from verified_tir.schedule.schedule import Schedule

Replacement: TypeAlias = "tuple[Graph | None, Schedule | None, tuple[str, ...]]"
"""A graph for a node (``None``: the node stays), the steps of the proof, and notes."""


@final
@dataclass(frozen=True, slots=True)
class Replaced:
    """The nodes that stand for another one, and the steps by which its program became theirs."""

    nodes: tuple[Node, ...]
    schedule: Schedule


@final
@dataclass(frozen=True, slots=True)
class Passed:
    """A graph after a pass.

    :param theorems: one for each different program that was replaced, by the name of the first node.
    :param notes: what was left as it is, and why.
    :param replaced: for each node of the graph before that went, what stands for it.
    """

    graph: Graph
    theorems: Mapping[str, Refines] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    replaced: Mapping[Node, Replaced] = field(default_factory=dict)


def hoist_layout_rewrites(graph: Graph, *, annotated_only: bool = False) -> Passed:
    """Layout rewrites leave the PrimFuncs of a graph (HoistLayoutRewrite); what is left has the attribute
    ``frozen_layout``.

    :param annotated_only: leave blocks alone that are not marked.
    :raises GraphError: if a PrimFunc has no meaning; the message names the node.
    """

    def replace(node: Node, func: PrimFunc) -> Replacement:
        made = hoist(func, results=len(node.outputs), annotated_only=annotated_only)
        return made.graph, made.schedule, made.left

    return _each(graph, lambda n: n.func is not None, replace)


def compact_rewrites(graph: Graph) -> Passed:
    """PrimFuncs that are rewrites of a layout become ``layout_transform``, ``pad`` and ``crop``.

    Notes say of each other PrimFunc with one operand and one result why it is none.
    """

    def replace(node: Node, func: PrimFunc) -> Replacement:
        try:
            made = compact(func)
        except NoCopy as reason:
            return None, None, (str(reason),)
        except ScheduleError as refused:
            return None, None, (refused.summary(),)
        return made.graph, made.schedule, ()

    return _each(graph, lambda n: n.func is not None and len(n.inputs) == len(n.outputs) == 1, replace)


def legalize_rewrites(graph: Graph) -> Passed:
    """``layout_transform``, ``pad`` and ``crop`` become PrimFuncs."""

    def replace(node: Node, func: PrimFunc) -> Replacement:
        g = GraphBuilder("main")
        v = g.input("x", node.inputs[0].dims, node.inputs[0].dtype)
        return g.finish(g.call_tir(func, [v], [node.output.type], node.output.name)), Schedule(func), ()

    return _each(graph, lambda n: n.op in COMPACT, replace)


def decompose_rewrites(graph: Graph) -> Passed:
    """A ``layout_transform`` with padding becomes ``pad`` and a ``layout_transform`` that is a bijection."""

    def replace(node: Node, func: PrimFunc) -> Replacement:
        index_map, x = node.attrs["index_map"], node.inputs[0]
        if x.type.is_open:
            return None, None, (f"{x.name} has an extent that is open, and so no padding",)
        try:
            steps = decomposed(index_map, x.shape, node.output.shape, node.attrs.get("pad_value"))
        except NoCopy as reason:
            return None, None, (str(reason),)
        proof = Proof(func)
        proof.take("decompose", (node,), lambda s: steps_become(s, (), 1, steps, *proof.func.buffers))
        return graph_of(steps, x.type), proof.schedule, ()

    return _each(graph, lambda n: n.op == "layout_transform" and not _bijective(n), replace)


def without_copies(graph: Graph) -> Passed:
    """PrimFuncs and rewrites that only copy their operand go; whoever reads the copy reads the operand.

    A copy between an input or constant and a result of the graph stays: the result is an array of its own.
    """
    found: dict[object, Refines | None] = {}
    theorems: dict[str, Refines] = {}
    instead: dict[Value, Value] = {}
    nodes: list[Node] = []
    computed = {v for n in graph.nodes for v in n.outputs}
    for n in graph.nodes:
        inputs = tuple(instead.get(v, v) for v in n.inputs)
        x, y = n.inputs[:1], n.outputs[:1]
        if len(n.inputs) == len(n.outputs) == 1 and x[0].type == y[0].type and (n.func is not None or n.op in COMPACT):
            proved = _identity(n, found)
            result = y[0] in graph.outputs
            if proved is not None and not (result and (inputs[0] not in computed or inputs[0] in graph.outputs)):
                theorems.setdefault(str(n), proved)
                instead[y[0]] = inputs[0]
                continue
        nodes.append(Node(n.op, inputs, n.outputs, n.attrs, n.func, n.source))
    outputs = tuple(instead.get(v, v) for v in graph.outputs)
    after = Graph(graph.name, graph.inputs, graph.constants, tuple(nodes), outputs, graph.zero_with)
    return Passed(after, theorems)


def _identity(node: Node, found: dict[object, Refines | None]) -> Refines | None:
    """The theorem that a node copies, if it does."""
    key = program_key(node)
    if key not in found:
        found[key] = None
        try:
            made = compact(program_of(node))
            (step, *more) = made.steps
            if not more and step.op == "layout_transform" and step.attrs["index_map"].is_identity(node.inputs[0].shape):
                found[key] = made.theorem
        except (NoCopy, ScheduleError):
            pass
    return found[key]


# -- frozen layouts ----------------------------------------------------------------------------------------------------


def frozen_by_hoisting(graph: Graph) -> dict[Node, tuple[Sequence[None], Sequence[None]]]:
    """What hoisting fixes, for :func:`~verified_tir.graph.plan.plan`: layouts of operands and results, by node.

    A function from which rewrites were lifted (its attribute ``frozen_layout`` says so) takes and gives its arrays as
    they are, in the layouts that the rewrites make and undo.  The rewrites themselves stand in the graph, and layouts
    flow from them.
    """
    return {
        n: ((None,) * len(n.inputs), (None,) * len(n.outputs))
        for n in graph.nodes
        if n.func is not None and any(k == FROZEN and v for k, v in n.func.attrs)
    }


def _bijective(node: Node) -> bool:
    """Whether a node is a ``layout_transform`` without padding."""
    if node.op != "layout_transform" or node.inputs[0].type.is_open:
        return False
    index_map, shape = node.attrs["index_map"], node.inputs[0].shape
    assert isinstance(index_map, IndexMap)
    try:
        return (
            node.output.type.size == node.inputs[0].type.size and index_map.constant_shape(shape) == node.output.shape
        )
    except IndexMapError:
        return False


# -- replacing nodes ---------------------------------------------------------------------------------------------------


def _each(graph: Graph, wanted: Callable[[Node], bool], replace: Callable[[Node, PrimFunc], Replacement]) -> Passed:
    """Every wanted node replaced; nodes with one program share the work."""
    found: dict[object, Replacement] = {}
    theorems: dict[str, Refines] = {}
    notes: list[str] = []
    made: dict[Node, Graph] = {}
    schedules: dict[Node, Schedule] = {}
    for n in graph.nodes:
        if not wanted(n):
            continue
        key = program_key(n)
        if key not in found:
            try:
                found[key] = replace(n, program_of(n))
            except ScheduleError as refused:
                raise GraphError(f"{n}: {refused.summary()}") from refused
            proof = found[key][1]
            if proof is not None:
                theorems[str(n)] = proof.theorem
        by, proof, said = found[key]
        notes += [f"{n}: {s}" for s in said]
        if by is not None:
            made[n] = by
            if proof is not None:
                schedules[n] = proof
    after, instead = _replaced(graph, made)
    return Passed(after, theorems, tuple(notes), {n: Replaced(instead[n], s) for n, s in schedules.items()})


def replaced(graph: Graph, by: Mapping[Node, Graph]) -> Graph:
    """The graph with nodes replaced by graphs of their operands; results keep their names."""
    return _replaced(graph, by)[0]


def _replaced(graph: Graph, by: Mapping[Node, Graph]) -> tuple[Graph, dict[Node, tuple[Node, ...]]]:
    """The graph, and for each node that went what stands for it."""
    names = Names(v.name for v in graph.values())
    nodes: list[Node] = []
    instead: dict[Node, tuple[Node, ...]] = {}
    for n in graph.nodes:
        inner = by.get(n)
        if inner is None:
            nodes.append(n)
            continue
        values = dict(zip(inner.inputs, n.inputs, strict=True)) | dict(zip(inner.outputs, n.outputs, strict=True))
        first = len(nodes)
        for m in inner.nodes:
            for v in m.outputs:
                if v not in values:
                    values[v] = Value(names.fresh(v.name), v.type)
            nodes.append(Node(m.op, tuple(values[v] for v in m.inputs), tuple(values[v] for v in m.outputs), m.attrs,
                              m.func, n.source))  # fmt: skip
        instead[n] = tuple(nodes[first:])
    after = Graph(graph.name, graph.inputs, graph.constants, tuple(nodes), graph.outputs, graph.zero_with)
    return after, instead
