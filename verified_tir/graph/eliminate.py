"""The cheapest choice of options, node by node: where few choices depend on each other, no solver is needed.

What a choice costs is a sum, and each part depends on few nodes: a value's rewrites on who makes it and who reads it.
So a node can be *eliminated*: the parts that depend on it are added up and become one part of its neighbours, which
says what the best option of the node costs for each choice of theirs (Bertelè & Brioschi, Nonserial Dynamic
Programming, 1972).  Models are chains with a few branches; their parts stay small.

Beside the cost of the best choice, it is counted how many choices are best.  Only if there is one it is given: so it
does not matter who looked for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import product
from typing import TypeAlias, final

import numpy as np
import numpy.typing as npt

from verified_tir.graph.ir import Graph, Node, Value
from verified_tir.graph.layouts import PLAIN, serves
from verified_tir.graph.options import Option

LARGEST = 2**16
"""Combinations of options that a part may depend on."""

Table: TypeAlias = npt.NDArray[np.float64]
Wants: TypeAlias = list[frozenset[str]]
"""For each option of a node, the layouts in which it reads a value."""


@final
@dataclass(frozen=True, slots=True)
class _Part:
    """What something costs, by the options of some nodes; and how many choices of eliminated nodes cost that: one, or
    more."""

    nodes: tuple[Node, ...]
    cost: Table
    ways: Table


def only_cheapest(
    graph: Graph,
    options: Mapping[Node, Sequence[Option]],
    alone: Callable[[Node, Option], float],
    rewriting: Callable[[Value], float],
) -> dict[Node, Option] | None:
    """The choice that costs less than all others; ``None`` if there is none, or too much depends on each other.

    :param alone: what a node costs by itself with an option.
    :param rewriting: what it costs to rewrite a value.  Sums of costs must be exact.
    """
    left = _Left(options)
    for n in graph.nodes:
        left.add(_of_node(n, [alone(n, o) for o in options[n]]))
    for found in _of_values(graph, options, rewriting):
        if found is None:
            return None
        left.add(found)
    eliminated: list[tuple[Node, tuple[Node, ...], npt.NDArray[np.int64]]] = []
    waiting = [(left.size(n), k, n) for k, n in enumerate(graph.nodes)]
    heapify(waiting)
    number = {n: k for k, n in enumerate(graph.nodes)}
    while waiting:
        size, _, node = heappop(waiting)
        if node not in left.parts or size != left.size(node):
            continue  # it is gone, or stands there once more with its size of now
        if size > LARGEST:
            return None
        made, best = _without(node, left.together(node), left.take(node), options)
        eliminated.append((node, made.nodes, best))
        if not made.nodes and made.ways > 1:
            return None
        left.add(made)
        for n in made.nodes:
            heappush(waiting, (left.size(n), number[n], n))
    chosen: dict[Node, int] = {}
    for node, others, best in reversed(eliminated):
        chosen[node] = int(best[tuple(chosen[n] for n in others)])
    return {n: options[n][chosen[n]] for n in graph.nodes}


@final
class _Left:
    """The parts, by the nodes that are left."""

    def __init__(self, options: Mapping[Node, Sequence[Option]]) -> None:
        self.parts: dict[Node, list[_Part]] = {n: [] for n in options}
        self.options = options

    def add(self, part: _Part) -> None:
        for n in part.nodes:
            self.parts[n].append(part)

    def take(self, node: Node) -> list[_Part]:
        """The parts that depend on a node, which goes with them."""
        mine = self.parts.pop(node)
        for n in {n for p in mine for n in p.nodes} - {node}:
            self.parts[n] = [p for p in self.parts[n] if node not in p.nodes]
        return mine

    def together(self, node: Node) -> tuple[Node, ...]:
        """The node, and those on which parts depend that depend on it, too."""
        return tuple({node: None} | {n: None for p in self.parts[node] for n in p.nodes})

    def size(self, node: Node) -> int:
        return _size(self.together(node), self.options)


# -- parts -------------------------------------------------------------------------------------------------------------


def _of_node(node: Node, costs: Sequence[float]) -> _Part:
    return _Part((node,), np.array(costs, np.float64), np.ones(len(costs)))


def _of_values(
    graph: Graph, options: Mapping[Node, Sequence[Option]], rewriting: Callable[[Value], float]
) -> Iterator[_Part | None]:
    """The rewrites of each value; ``None`` for one on which too many nodes depend."""
    producer, readers = graph.producer(), graph.consumers()
    for v in dict.fromkeys((*readers, *graph.outputs)):
        if v in graph.constants:
            continue
        maker = producer.get(v)
        given = [PLAIN] if maker is None else [o.outputs[maker.outputs.index(v)] for o in options[maker]]
        wants = [[_wanted(v, n, o) for o in options[n]] for n in readers.get(v, ())]
        nodes = (*(() if maker is None else (maker,)), *readers.get(v, ()))
        if _size(nodes, options) > LARGEST:
            yield None
            return
        always = frozenset({PLAIN} if v in graph.outputs and maker is not None else ())
        table = _counts(given, wants, always) * rewriting(v)
        cost = table if maker is not None else table[0]
        yield _Part(nodes, cost, np.ones(cost.shape))


def _wanted(v: Value, reader: Node, option: Option) -> frozenset[str]:
    return frozenset(t for i, t in zip(reader.inputs, option.inputs, strict=True) if i is v)


def _counts(given: Sequence[str], wants: Sequence[Wants], always: frozenset[str]) -> Table:
    """How many rewrites there are, by the options of the producer and of each reader."""
    made, reads = list(dict.fromkeys(given)), [list(dict.fromkeys(w)) for w in wants]
    small = np.zeros([len(made), *(len(k) for k in reads)])
    for place in product(*(range(n) for n in small.shape)):
        read = [k[i] for k, i in zip(reads, place[1:], strict=True)]
        needed = {t for r in (always, *read) for t in r if not serves(made[place[0]], t)}
        small[place] = sum(not any(s != t and serves(s, t) for s in needed) for t in needed)
    which = [[made.index(x) for x in given], *([k.index(x) for x in w] for k, w in zip(reads, wants, strict=True))]
    return small[np.ix_(*which)]


# -- elimination -------------------------------------------------------------------------------------------------------


def _size(nodes: Iterable[Node], options: Mapping[Node, Sequence[Option]]) -> int:
    found = 1
    for n in nodes:
        found *= len(options[n])
    return found


def _without(
    node: Node, nodes: tuple[Node, ...], parts: Sequence[_Part], options: Mapping[Node, Sequence[Option]]
) -> tuple[_Part, npt.NDArray[np.int64]]:
    """The parts as one that does not depend on a node, the first of ``nodes``, and its best option for each case."""
    cost = np.zeros([len(options[n]) for n in nodes])
    ways = np.ones(cost.shape)
    for p in parts:
        cost = cost + _spread(p.cost, p.nodes, nodes)
        ways = np.minimum(ways * _spread(p.ways, p.nodes, nodes), 2)
    least = cost.min(axis=0)
    best = np.asarray(cost.argmin(axis=0), np.int64)
    counted = np.minimum(np.where(cost == least, ways, 0).sum(axis=0), 2)
    return _Part(nodes[1:], np.asarray(least), np.asarray(counted)), best


def _spread(table: Table, own: tuple[Node, ...], nodes: tuple[Node, ...]) -> Table:
    """A table with an axis for each of ``nodes``, of length one where it does not depend on that node."""
    order = sorted(range(len(own)), key=lambda k: nodes.index(own[k]))
    lengths = iter([table.shape[k] for k in order])
    return table.transpose(order).reshape([next(lengths) if n in own else 1 for n in nodes])
