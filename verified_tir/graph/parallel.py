"""Loops of nodes' programs that run on several threads.

Of each large nest one loop is marked parallel: the outermost one with enough iterations for the threads, whose variable
says which elements are stored.  That no two iterations conflict is proved for the mark, as for any step of a schedule;
where it cannot be, a loop further inside is tried.  Nothing else changes, so the bits of results do not depend on the
number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator

from verified_tir.graph.nests import iterations
from verified_tir.ir.stmt import Allocate, For, Stmt, Store
from verified_tir.ir.visit import free_vars, sub_statements, walk
from verified_tir.schedule.errors import ScheduleError
from verified_tir.schedule.schedule import Schedule

WORTH_IT = 2**18
"""Stores of scalars for which several threads are worth it: some ten microseconds of vector code."""


def run_in_parallel(s: Schedule, threads: int) -> tuple[str, ...]:
    """Mark one loop of each large nest of a schedule parallel; which marks were refused, and why."""
    if threads == 1:
        return ()
    refused = []
    for nest in list(_outermost(s.func.body)):
        if _work(nest) < WORTH_IT:
            continue
        for loop in _candidates(nest, threads):
            try:
                s.parallel(loop.var)
            except ScheduleError as problem:
                refused.append(f"{loop.var.name}: {problem.summary()}")
            else:
                break
    return tuple(refused)


def _outermost(stmt: Stmt) -> Iterator[For]:
    """The loops that are in no other one."""
    if isinstance(stmt, For):
        yield stmt
        return
    for s in sub_statements(stmt):
        yield from _outermost(s)


def _candidates(nest: For, threads: int) -> list[For]:
    """Loops of a nest that may be marked: those with several iterations for each thread first, outer ones first."""
    loops = [nest]
    while isinstance(loops[-1].body, For):
        loops.append(loops[-1].body)
    own = {n.buffer.data for n in walk(nest) if isinstance(n, Allocate)}
    stores = [n for n in walk(nest) if isinstance(n, Store) and n.buffer.data not in own]
    stored = [frozenset(v for i in n.indices for v in free_vars(i)) for n in stores]
    fit = [x for x in loops if x.kind == "serial" and all(x.var in v for v in stored) and iterations(x) >= threads]
    return sorted(fit, key=lambda x: iterations(x) < 2 * threads)


def _work(stmt: Stmt) -> int:
    """About how many scalars a statement stores."""
    if isinstance(stmt, Store):
        return stmt.buffer.dtype.lanes
    inner = sum(map(_work, sub_statements(stmt)))
    return iterations(stmt) * inner if isinstance(stmt, For) else inner
