"""In which order sites and their instances can be evaluated, all of one step at once.

Sites form a graph: a store precedes what loads from its block.  Its strongly connected components are evaluated one
after the other.  In a component that is a recurrence (a sum that is updated), an instance comes after those whose
stores it reads: its *depth*, found level by level.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from verified_tir.validate.demand.outline import Site
from verified_tir.validate.terms import Ids


def components(sites: Sequence[Site], sources: Mapping[Site, Sequence[Site]]) -> list[tuple[list[Site], bool]]:
    """Strongly connected components, producers first, and whether each is a recurrence."""
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_nodes_from(sites)
    graph.add_edges_from((source, site) for site in sites for source in sources[site])
    condensed = nx.condensation(graph)
    found = [sorted(condensed.nodes[k]["members"], key=lambda s: s.number) for k in nx.topological_sort(condensed)]
    return [(members, graph.subgraph(members).size() > 0) for members in found]


def distinct(numbers: Ids) -> Ids:
    """The numbers in ascending order, each once (``np.unique`` hashes, and is slow where many are alike)."""
    ordered: Ids = np.sort(numbers, axis=None)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if ordered.size else ordered


def depths(count: int, consumer: Ids, producer: Ids) -> Ids:
    """For instances 0 … count-1, the length of the longest chain of producers before each.

    ``consumer[k]`` reads what ``producer[k]`` stored; there are no cycles.
    """
    consumer, producer = np.divmod(distinct(consumer * count + producer), max(count, 1))
    depth: Ids = np.zeros(count, dtype=np.int64)
    waiting = np.bincount(consumer, minlength=count)
    order = np.argsort(producer, kind="stable")
    consumer = consumer[order]
    first = np.searchsorted(producer[order], np.arange(count + 1))
    ready = np.flatnonzero(waiting == 0)
    level = 0
    while ready.size:
        depth[ready] = level
        starts, ends = first[ready], first[ready + 1]
        counts = ends - starts
        total = int(counts.sum())
        steps = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
        reached, often = np.unique(consumer[np.repeat(starts, counts) + steps], return_counts=True)
        waiting[reached] -= often
        ready = reached[waiting[reached] == 0]
        level += 1
    return depth
