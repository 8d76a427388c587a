"""Layout planning: some nodes have frozen layouts, the others take what costs least, and every change is proved.

Layouts flow from the frozen nodes through the programs of the others (``options``), the cheapest choice is found
(``choose``), the programs are moved to the layouts that were chosen and proved to compute the same (``relayout``),
weights are packed, and the rewrites that are left stand in the graph as ``layout_transform``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import final

from verified_tir.graph.annotate import Layouts
from verified_tir.graph.choose import Choice, Cost, bytes_moved, choose, cost_of
from verified_tir.graph.errors import GraphError
from verified_tir.graph.execute import program_key
from verified_tir.graph.ir import Graph, Node, TensorType, Value
from verified_tir.graph.options import PLAIN, Layout, Option, Options
from verified_tir.graph.relayout import Relaid, relayout
from verified_tir.kernel.theorem import Refines
from verified_tir.schedule.errors import ScheduleError
from verified_tir.schedule.index_map import IndexMap

Progress = Callable[[int, int, str], None]


@final
@dataclass(slots=True)
class Plan:
    """A planned graph, and how it came about; times in seconds, costs in bytes moved by rewrites."""

    graph: Graph
    before: Graph
    rewrites: list[tuple[Node, str]] = field(default_factory=list)
    """Each rewrite that is left: its node, and what it is for."""
    cost: float = 0.0
    naive: float = 0.0
    """What rewrites around each frozen node alone would move."""
    theorems: list[Refines] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    stands_for: dict[Value, tuple[Value, str]] = field(default_factory=dict)
    """Of each value of the planned graph, the value before that it is, and in which layout (a key of ``layouts``)."""
    implements: dict[Node, Node] = field(default_factory=dict)
    """Of each node of the planned graph that is no rewrite, the node before."""
    relaid: dict[Node, Relaid] = field(default_factory=dict)
    """Of each call of a program that was moved, the proof."""
    layouts: dict[str, Layout] = field(default_factory=dict)


def plan(
    graph: Graph,
    frozen: Mapping[Node, Layouts],
    *,
    cost: Cost = bytes_moved,
    progress: Progress | None = None,
) -> Plan:
    """Choose layouts around the frozen nodes, prove the programs in them, and rewrite the graph.

    :raises GraphError: if a frozen node's program cannot be moved to its layouts.
    """
    start = time.perf_counter()
    options = Options(graph, frozen)
    found = time.perf_counter()
    made = Plan(graph, graph)
    relaid: dict[object, Relaid] = {}
    while True:
        choice = choose(graph, options.of, cost)
        failed = _prove(graph, options, choice, relaid, made, progress)
        if failed is None:
            break
        node, option = failed
        options.of[node] = [o for o in options.of[node] if o is not option]
    made.graph = _rewritten(graph, options, choice, relaid, made)
    made.cost = choice.cost
    alone = {n: options.frozen.get(n, Option((PLAIN,) * len(n.inputs), (PLAIN,) * len(n.outputs))) for n in graph.nodes}
    made.naive = cost_of(graph, alone, cost)
    made.layouts = dict(options.layouts)
    made.theorems = list(dict.fromkeys(r.theorem for r in relaid.values()))
    made.problems += [f"{n}: {why}" for n, reasons in options.problems.items() for why in reasons.values()]
    made.seconds = {"options": found - start, "proofs and choice": time.perf_counter() - found}
    return made


def _prove(
    graph: Graph,
    options: Options,
    choice: Choice,
    relaid: dict[object, Relaid],
    made: Plan,
    progress: Progress | None,
) -> tuple[Node, Option] | None:
    """Move every program that changes; the first node for which this fails."""
    for k, n in enumerate(graph.nodes):
        option = choice.options[n]
        key = (program_key(n), option)
        if key in relaid or not any((*option.inputs, *option.outputs)):
            continue
        if progress is not None:
            progress(k, len(graph.nodes), str(n))
        func = options.program(n)
        layouts = [options.layouts[t] for t in (*option.inputs, *option.outputs)]
        maps = {b: m for b, m in zip(func.buffers, layouts, strict=True) if m is not None}
        try:
            relaid[key] = relayout(func, options.carried(func, maps))
        except ScheduleError as refused:
            if n in options.frozen:
                raise GraphError(f"{n} does not take its frozen layouts: {refused.summary()}") from refused
            made.problems.append(f"{n}: {refused.summary()}")
            return n, option
        made.problems += [f"{n}: {why}" for why in relaid[key].left_out]
    return None


def _rewritten(graph: Graph, options: Options, choice: Choice, relaid: Mapping[object, Relaid], made: Plan) -> Graph:
    """The graph with moved programs, packed constants and the rewrites that are left."""
    nodes: list[Node] = []
    constants = dict(graph.constants)
    has: dict[tuple[Value, str], Value] = {(v, PLAIN): v for v in graph.inputs}
    made_in: dict[Value, str] = {}
    names = {v.name for v in graph.values()}

    def fresh(name: str) -> str:
        k, found = 0, name
        while found in names:
            k += 1
            found = f"{name}_{k}"
        names.add(found)
        return found

    def in_layout(v: Value, text: str, reader: str) -> Value:
        if (v, text) in has:
            return has[v, text]
        if v in graph.constants:
            layout = options.layouts[text]
            packed = graph.constants[v] if layout is None else layout.pack(graph.constants[v])
            new = Value(v.name if layout is None else fresh(f"{v.name}_packed"), TensorType(packed.shape, v.dtype))
            constants[new] = packed
        else:
            new = rewrite(v, text, reader)
        has[v, text] = new
        return new

    def rewrite(v: Value, text: str, reader: str) -> Value:
        given = made_in.get(v, PLAIN)
        source = has.get((v, given), v)
        maps = _between(options.layouts[given], options.layouts[text], v)
        for index_map in maps:
            shape = tuple(e.value for e in index_map.padded_shape(source.shape))  # type: ignore[attr-defined]
            new = Value(fresh(f"{v.name}_layout"), TensorType(shape, v.dtype))
            node = Node("layout_transform", (source,), (new,), {"index_map": index_map, "pad_value": None})
            nodes.append(node)
            made.rewrites.append((node, f"{v.name} for {reader}"))
            source = new
        return source

    for n in graph.nodes:
        option = choice.options[n]
        inputs = tuple(in_layout(v, t, str(n)) for v, t in zip(n.inputs, option.inputs, strict=True))
        result = relaid.get((program_key(n), option))
        if result is None:
            new_node = Node(n.op, inputs, n.outputs, n.attrs, n.func, n.source)
            has.update({(v, PLAIN): v for v in n.outputs})
        else:
            outputs = tuple(_moved(v, t, options, fresh) for v, t in zip(n.outputs, option.outputs, strict=True))
            new_node = Node("call_tir", inputs, outputs, {}, result.func, n.source or str(n))
            has.update({(v, t): w for v, t, w in zip(n.outputs, option.outputs, outputs, strict=True)})
            made_in.update(zip(n.outputs, option.outputs, strict=True))
            made.relaid[new_node] = result
        made.implements[new_node] = n
        nodes.append(new_node)
    outputs = tuple(has.get((v, PLAIN)) or in_layout(v, PLAIN, "the result") for v in graph.outputs)
    made.stands_for = {w: (v, t) for (v, t), w in has.items()}
    used = {v for n in nodes for v in n.inputs} | {*outputs}
    return Graph(graph.name, graph.inputs, {v: a for v, a in constants.items() if v in used}, tuple(nodes), outputs)


def _moved(v: Value, text: str, options: Options, fresh: Callable[[str], str]) -> Value:
    layout = options.layouts[text]
    if layout is None:
        return v
    shape = tuple(e.value for e in layout.padded_shape(v.shape))  # type: ignore[attr-defined]
    return Value(fresh(f"{v.name}_moved"), TensorType(shape, v.dtype))


def _between(given: IndexMap | None, wanted: IndexMap | None, v: Value) -> list[IndexMap]:
    """The rewrites from one layout of a tensor to another: one map, two where the first layout pads."""
    if given is None:
        return [] if wanted is None else [wanted]
    back = given.inverse(v.shape)
    return [back] if wanted is None else [wanted.compose(back)]


__all__ = ["Plan", "plan"]
