"""In which order sites and their instances can be evaluated, all of one step at once.

Sites form a graph: a store precedes what loads from its block.  Its strongly connected components are evaluated one
after the other.  In a component that is a recurrence (a sum that is updated), an instance comes after those whose
stores it reads: its *depth*.  Where each instance reads one store of the component at most, depths are found by
pointer doubling, else level by level.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from verified_tir.validate.demand.outline import Site
from verified_tir.validate.terms import Ids


def components(sites: Sequence[Site], sources: Mapping[Site, Sequence[Site]]) -> list[tuple[list[Site], bool]]:
    """Strongly connected components, producers first, and whether each is a recurrence (Tarjan's algorithm)."""
    index: dict[Site, int] = {}
    low: dict[Site, int] = {}
    stack: list[Site] = []
    on_stack: set[Site] = set()
    found: list[tuple[list[Site], bool]] = []
    for root in sites:
        if root in index:
            continue
        work = [(root, iter(sources[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            site, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(sources[other])))
                    break
                if other in on_stack:
                    low[site] = min(low[site], index[other])
            else:
                work.pop()
                if work:
                    above = work[-1][0]
                    low[above] = min(low[above], low[site])
                if low[site] == index[site]:
                    found.append(_pop(site, stack, on_stack, sources))
    return found


def _pop(
    root: Site, stack: list[Site], on_stack: set[Site], sources: Mapping[Site, Sequence[Site]]
) -> tuple[list[Site], bool]:
    members = []
    while True:
        site = stack.pop()
        on_stack.discard(site)
        members.append(site)
        if site is root:
            break
    members.sort(key=lambda s: s.number)
    return members, len(members) > 1 or root in sources[root]


def distinct(numbers: Ids) -> Ids:
    """The numbers in ascending order, each once (``np.unique`` hashes, and is slow where many are alike)."""
    ordered: Ids = np.sort(numbers, axis=None)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if ordered.size else ordered


def depths(count: int, consumer: Ids, producer: Ids) -> Ids:
    """For instances 0 … count-1, the length of the longest chain of producers before each.

    ``consumer[k]`` reads what ``producer[k]`` stored; there are no cycles.
    """
    consumer, producer = np.divmod(distinct(consumer * count + producer), max(count, 1))
    if consumer.size and (consumer[1:] == consumer[:-1]).any():
        return _layered(count, consumer, producer)
    depth: Ids = np.zeros(count, dtype=np.int64)
    jump: Ids = np.full(count, -1, dtype=np.int64)
    depth[consumer], jump[consumer] = 1, producer
    while True:
        open_ = np.flatnonzero(jump >= 0)
        if not open_.size:
            return depth
        target = jump[open_]
        depth[open_], jump[open_] = depth[open_] + depth[target], jump[target]


def _layered(count: int, consumer: Ids, producer: Ids) -> Ids:
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
