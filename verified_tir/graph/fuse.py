"""Rewrites of layouts put into the programs beside them.

The producer stores its elements where the rewrite would have moved them (``reverse_compute_inline``), or the consumers
read them from where they were (``compute_inline``).  A producer that sums cannot store elsewhere; a rewrite whose
result is also a result of the graph stays for that.  Each time the kernel has proved that the two programs, one after
the other, are refined by the one.  Whether it pays is another question: the access patterns get worse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, final

from verified_tir.graph.elide import REWRITES
from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import Graph, Node, Value
from verified_tir.graph.program import composed
from verified_tir.graph.relayout import Relaid, why_not
from verified_tir.schedule.errors import ScheduleError
from verified_tir.schedule.schedule import Schedule

if TYPE_CHECKING:
    from verified_tir.graph.plan import Plan


@final
@dataclass(frozen=True, slots=True)
class Fusion:
    """Nodes in whose place one call stands, and the proof that it does what they did one after the other."""

    nodes: tuple[Node, ...]
    into: Node
    proof: Relaid


@final
@dataclass(slots=True)
class Fused:
    """The graph with rewrites put into the nodes beside them; ``notes`` say why others stayed."""

    graph: Graph
    fusions: list[Fusion] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def fuse_rewrites(graph: Graph) -> Fused:
    """Put every rewrite that may into the node before it, or else into those behind it."""
    made = Fused(graph)
    tried: set[Node] = set()
    while True:
        node = next((n for n in made.graph.nodes if n.op in REWRITES and n not in tried), None)
        if node is None:
            return made
        tried.add(node)
        problems: list[str] = []
        if not (_into_producer(made, node, problems) or _into_consumers(made, node, problems)):
            made.notes.append(f"{node} stays: {'; '.join(problems) or 'nothing stands beside it'}")


def _into_producer(made: Fused, node: Node, problems: list[str]) -> bool:
    graph, x = made.graph, node.inputs[0]
    producer = graph.producer().get(x)
    if producer is None or producer.op in REWRITES:
        return False
    if x in graph.outputs or len(graph.consumers()[x]) > 1 or len(producer.outputs) > 1:
        problems.append(f"others read {x.name} as well")
        return False
    try:
        fusion = _fused([producer, node], reverse=True)
    except (ScheduleError, GraphError) as refused:
        problems.append(f"{producer} cannot store in another place: {why_not(refused)}")
        return False
    _replace(made, [(fusion, producer)], node)
    return True


def _into_consumers(made: Fused, node: Node, problems: list[str]) -> bool:
    graph, y = made.graph, node.output
    consumers = graph.consumers().get(y, [])
    if y in graph.outputs or not consumers:
        problems.append(f"{y.name} is a result of the graph")
        return False
    fusions: list[tuple[Fusion, Node]] = []
    for n in consumers:
        try:
            fusions.append((_fused([node, n], reverse=False), n))
        except (ScheduleError, GraphError) as refused:
            problems.append(f"{n} cannot read from another place: {why_not(refused)}")
            return False
    _replace(made, fusions, node)
    return True


def _fused(nodes: Sequence[Node], *, reverse: bool) -> Fusion:
    """Two nodes as one call.

    :raises ScheduleError: if what the first computes cannot be used where the second is.
    """
    first, second = nodes
    between = first.output
    inputs = tuple(dict.fromkeys((*first.inputs, *(v for v in second.inputs if v is not between))))
    name = (first if reverse else second).source or ""
    func = composed(nodes, inputs, second.outputs, f"{_name(first)}_{_name(second)}")
    s = Schedule(func)
    blocks = s.blocks
    if reverse:
        s.reverse_compute_inline(blocks[-1])
    else:
        s.compute_inline(blocks[0])
    s.simplify()
    proof = Relaid(s.func, s.theorem, (), s)
    return Fusion(tuple(nodes), Node("call_tir", inputs, second.outputs, {}, s.func, name), proof)


def _name(n: Node) -> str:
    return n.func.name if n.func is not None else n.op.rpartition(".")[2]


def _replace(made: Fused, fusions: Sequence[tuple[Fusion, Node]], rewrite: Node) -> None:
    """The graph with calls in the places of nodes, and without the rewrite."""
    calls = {n: f.into for f, n in fusions}
    graph = made.graph
    nodes = [calls.get(n, n) for n in graph.nodes if n is not rewrite]
    made.graph = replace(graph, nodes=tuple(_in_order(graph, nodes)))
    made.fusions += [f for f, _ in fusions]


def _in_order(graph: Graph, nodes: Sequence[Node]) -> list[Node]:
    """The nodes, each behind what it reads: a producer that took a rewrite in stands where it stood."""
    known: set[Value] = {*graph.inputs, *graph.constants}
    waiting, placed = list(nodes), list[Node]()
    while waiting:
        n = next(n for n in waiting if all(v in known for v in n.inputs))
        waiting.remove(n)
        placed.append(n)
        known.update(n.outputs)
    return placed


def fuse_plan(made: Plan) -> None:
    """Put the rewrites that a plan has left into the programs beside them, and say so in the plan."""
    found = fuse_rewrites(made.graph)
    gone = {n for f in found.fusions for n in f.nodes}
    made.graph = found.graph
    made.fused = found.fusions
    made.rewrites = [(n, why) for n, why in made.rewrites if n not in gone]
    made.proofs = {n: p for n, p in made.proofs.items() if n not in gone or n not in found.graph.nodes}
    for f in found.fusions:
        whole = next((made.implements[n] for n in f.nodes if n in made.implements), None)
        if whole is not None:
            made.implements[f.into] = whole
    made.problems += found.notes
