"""Layout planning: some nodes have frozen layouts, the others take what costs least, and every change is proved.

Layouts flow from the frozen nodes, and from rewrites that stand in the graph, through the programs of the others
(``options``); the cheapest choice is found (``choose``); the programs are moved to the layouts that were chosen and
proved to compute the same (``relayout``); then the graph is written anew (``planned``): weights are packed, and the
rewrites that are left stand in it as ``layout_transform``, ``pad`` and ``crop``, each with a proof of its own
(``conversions``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import final

from verified_tir.derivation.assumptions import reassociated
from verified_tir.graph.callbacks import registered
from verified_tir.graph.choose import Choice, Cost, bytes_moved, choose, cost_of
from verified_tir.graph.elide import prove_needless
from verified_tir.graph.errors import GraphError
from verified_tir.graph.external import External
from verified_tir.graph.fuse import Fusion, fuse_plan
from verified_tir.graph.identify import keep_operators
from verified_tir.graph.ir import Graph, Node, Value
from verified_tir.graph.layouts import Layout
from verified_tir.graph.options import Flow, Frozen, Option, Options, plain_option
from verified_tir.graph.planned import is_given_on_word, write_planned
from verified_tir.graph.program import program_key
from verified_tir.graph.relayout import Relaid, promised, prove_padding, relayout, why_not
from verified_tir.graph.rewrite_passes import frozen_by_hoisting
from verified_tir.ir.collector import seldom_collected
from verified_tir.kernel.theorem import Refines
from verified_tir.schedule.errors import ScheduleError

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
    """Of all programs that changed, and of all rewrites: those that are left, and those that went."""
    problems: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    stands_for: dict[Value, tuple[Value, str]] = field(default_factory=dict)
    """Of each value of the planned graph, the value before that it is, and in which layout (a key of ``layouts``)."""
    roles: list[tuple[Value, Value, str]] = field(default_factory=list)
    """All of that: where a rewrite went, a value of the planned graph is several values before, in several layouts."""
    implements: dict[Node, Node] = field(default_factory=dict)
    """Of each node of the planned graph that is not a rewrite, the node before."""
    relaid: dict[Node, Relaid] = field(default_factory=dict)
    """Of each call of a program that was moved, the proof."""
    layouts: dict[str, Layout] = field(default_factory=dict)
    proofs: dict[Node, Relaid] = field(default_factory=dict)
    """Of each rewrite that is left, the proof that it makes what it is said to make."""
    elided: dict[Node, Relaid] = field(default_factory=dict)
    """Of each rewrite that stood in the graph and went, the proof that its result is there already."""
    packed: dict[Value, tuple[Value, str]] = field(default_factory=dict)
    """Of each constant that was packed, the constant before and the layout; all its elements were compared."""
    external: dict[Node, External] = field(default_factory=dict)
    """Nodes that an external function computes."""
    fused: list[Fusion] = field(default_factory=list)
    """Calls in which a rewrite was put together with the program beside it."""
    unfused: Plan | None = None
    """The plan as it was before that."""
    assumptions: list[str] = field(default_factory=list)
    """What is not proved: that external functions do what they are said to do."""


@seldom_collected()
def plan(
    graph: Graph,
    frozen: Mapping[Node, Frozen] | None = None,
    *,
    cost: Cost = bytes_moved,
    flow: Flow = "backward",
    external: Mapping[Node, External] | None = None,
    fuse: bool = False,
    padded_sums: bool = False,
    operators: bool = False,
    progress: Progress | None = None,
) -> Plan:
    """Choose layouts around the frozen nodes, prove the programs in them, and rewrite the graph.

    :param frozen: the layouts of nodes, for each a pair (of operands, of results), or a list of such pairs of which the
        cheapest is taken.  Functions with the attribute ``frozen_layout`` stay as they are, unless they are named.
    :param flow: how layouts pass through the other nodes: from results to operands (and on to results where nothing
        below asks for one), or from operands to results only.
    :param external: nodes that external functions compute, with the layouts that these accept.
    :param fuse: put rewrites that are left into the programs beside them, where that can be proved (``graph.fuse``).
    :param padded_sums: let sums run over the padding of their operands in whole tiles, where all of it is zero; that
        is proved to leave the bits of the sums as they are.
    :param operators: let moved nodes keep the names of their operators, where one with other attributes means the moved
        program: ``sum(axis=[1])``, ``nn.conv2d(data_layout="NHWC")``.  The others are calls of their programs.
    :raises GraphError: if a frozen node's program cannot be moved to its layouts.
    """
    start = time.perf_counter()
    external = dict(external or {})
    fixed: dict[Node, Frozen] = {
        **frozen_by_hoisting(graph), **(frozen or {}), **{n: list(e.accepts) for n, e in external.items()}
    }  # fmt: skip
    options = Options(graph, fixed, flow)
    found = time.perf_counter()
    made = Plan(graph, graph)
    relaid: dict[object, Relaid] = {}
    while True:
        choice = choose(graph, options.of, cost, options.own(cost))
        failed = _prove(graph, options, choice, relaid, made, external, padded_sums, progress)
        if failed is None:
            break
        _without(graph, options, *failed)
    write_planned(made, options, choice, relaid, external)
    made.cost, made.layouts = choice.cost, dict(options.layouts)
    alone = {n: options.frozen.get(n, plain_option(n)) for n in graph.nodes}
    made.naive = cost_of(graph, alone, cost, options.own(cost))
    proofs = [r for of in (relaid, made.relaid, made.proofs, made.elided) for r in of.values()]
    if fuse:
        left = list(made.rewrites)
        made.unfused = replace(made, implements=dict(made.implements))
        fuse_plan(made)
        gone = {why: n for n, why in left if why not in {w for _, w in made.rewrites}}
        made.cost -= sum(cost(made.stands_for[n.inputs[0]][0]) for n in gone.values())
        proofs += [f.proof for f in made.fused]
    if operators:
        keep_operators(made)
    made.theorems = list(dict.fromkeys(r.theorem for r in proofs))
    for n, r in made.relaid.items():
        if r.theorem.reassociated:
            sums = ", ".join(reassociated(r.theorem))
            made.assumptions.append(f"{n}: its registered schedule takes {sums} in another order, with licence")
    made.problems += [f"{n}: {why}" for n, reasons in options.problems.items() for why in reasons.values()]
    made.seconds = {"options": found - start, "proofs and choice": time.perf_counter() - found}
    return made


def _without(graph: Graph, options: Options, node: Node, option: Option, refused: ScheduleError | GraphError) -> None:
    """Take an option from all nodes of a kind.

    :raises GraphError: if a frozen node has none left.
    """
    key = program_key(node)
    for n in graph.nodes:
        if option not in options.of[n] or program_key(n) != key:
            continue
        options.of[n] = [o for o in options.of[n] if o != option]
        if not options.of[n]:
            raise GraphError(f"{n} does not take its frozen layouts: {why_not(refused)}") from refused


def _prove(
    graph: Graph,
    options: Options,
    choice: Choice,
    relaid: dict[object, Relaid],
    made: Plan,
    external: Mapping[Node, External],
    padded_sums: bool,
    progress: Progress | None,
) -> tuple[Node, Option, ScheduleError | GraphError] | None:
    """Move every program that changes; the first node for which this fails."""
    for k, n in enumerate(graph.nodes):
        option = choice.options[n]
        key = (program_key(n), option)
        if key in relaid or not any((*option.inputs, *option.outputs)):
            continue
        if n in external and external[n].function(options, n, option) is not None:
            continue
        if progress is not None:
            progress(k, len(graph.nodes), str(n))
        try:
            if is_given_on_word(options, n, option) is not None:
                continue
            relaid[key] = _moved(options, n, option, padded_sums)
        except (ScheduleError, GraphError) as refused:
            made.problems.append(f"{n}: {why_not(refused)}")
            return n, option, refused
        made.problems += [f"{n}: {why}" for why in relaid[key].left_out]
    return None


def _moved(options: Options, node: Node, option: Option, padded_sums: bool) -> Relaid:
    """A node's program in the layouts of an option, with the steps that a registered rule adds."""
    if options.is_elided(node, option):
        return prove_needless(node, options.layouts[option.inputs[0]], options.layouts[option.outputs[0]])
    layouts = options.of_program(node, option)
    found = relayout(options.program(node), layouts, padded_sums=padded_sums)
    rule = registered(node)
    if rule is None or rule.schedule is None:
        return found
    s, before = found.schedule, found.theorem
    try:
        rule.schedule(s)
    except ScheduleError:
        raise
    except Exception as problem:
        raise GraphError(f"the schedule that is registered for {rule.name} fails: {problem}") from problem
    same = s.theorem.before is before.before and s.theorem.paddings == before.paddings
    if not same or s.theorem.relation != before.relation:
        raise GraphError(
            f"the schedule that is registered for {rule.name} changes what the program takes, or assumes something of "
            "it: layouts are said by the rule, and nobody checks assumptions within a graph"
        )
    for b, value in promised(options.program(node), layouts).items():
        prove_padding(s, b.name, value)  # again, behind what the schedule has changed
    return Relaid(s.func, s.theorem, found.left_out, s, found.filled)
