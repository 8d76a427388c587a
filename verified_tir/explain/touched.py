"""The elements of buffers that an iteration touches, as far as index arithmetic tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from math import prod
from typing import Any, TypeAlias, final

import numpy as np

from verified_tir.index.evaluate import evaluate
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, Load, Not, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.stmt import Block, For, If, LetStmt, Stmt, Store
from verified_tir.ir.visit import children, free_vars, nodes_of, sub_statements

Index: TypeAlias = tuple[int, ...]
"""Of an element, or of the place of one."""

POINTS = 200_000
"""At how many points of the loops around an access its indices are computed, at most."""


@final
@dataclass(frozen=True, slots=True)
class Around:
    """What is around a statement: loops, conditions, and what variables stand for."""

    loops: tuple[For, ...] = ()
    conditions: tuple[Expr, ...] = ()
    values: Mapping[Var, Expr] = field(default_factory=dict)

    def entered(self, stmt: Stmt, sub: Stmt) -> Around:
        """What is around a part of a statement."""
        match stmt:
            case For():
                return replace(self, loops=(*self.loops, stmt))
            case If(condition=condition, then_body=then):
                return replace(self, conditions=(*self.conditions, condition if sub is then else Not(condition)))
            case LetStmt(var=var, value=value):
                return replace(self, values={**self.values, var: value})
            case Block(iter_vars=variables, predicate=predicate):
                bound = {v.var: v.value for v in variables}
                return replace(self, conditions=(*self.conditions, predicate), values={**self.values, **bound})
        return self


@final
@dataclass(frozen=True, slots=True)
class Access:
    """A load or a store, and what is around it."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    write: bool
    around: Around


def accesses(stmt: Stmt, around: Around | None = None) -> Iterator[Access]:
    """Every access in a statement, in the order of the text."""
    here = around or Around()
    for child in children(stmt):
        if not isinstance(child, Stmt):
            yield from (Access(n.buffer, n.indices, False, here) for n in nodes_of(child, Load))
    if isinstance(stmt, Store):
        yield Access(stmt.buffer, stmt.indices, True, here)
    for sub in sub_statements(stmt):
        yield from accesses(sub, here.entered(stmt, sub))


@final
@dataclass(frozen=True, slots=True)
class Iteration:
    """Which elements of a buffer one iteration of a loop touches."""

    loop: Var
    value: int
    elements: frozenset[Index]


def first_iteration(func: PrimFunc, buffer: Buffer, sizes: Mapping[Var, int]) -> Iteration | None:
    """What the first iteration of the outermost loop touches that has several; ``None`` if arithmetic does not tell."""
    found = [a for a in accesses(func.body) if a.buffer is buffer]
    try:
        for outer, group in groupby(found, lambda a: _outermost(a, sizes)):
            if outer is not None:
                start = int(evaluate([outer.min], sizes)[0])
                elements = frozenset(i for a in group for i in _elements(a, outer.var, start, sizes))
                return Iteration(outer.var, start, elements)
    except (IRError, _TooMany):
        pass
    return None


class _TooMany(Exception):
    """There are more points than anybody wants to compute."""


def _outermost(a: Access, sizes: Mapping[Var, int]) -> For | None:
    """The outermost loop around an access that runs more than once."""
    return next((s for s in a.around.loops if int(evaluate([s.extent], sizes)[0]) > 1), None)


def _elements(a: Access, fixed: Var, value: int, sizes: Mapping[Var, int]) -> Iterator[Index]:
    """The elements that an access touches while a loop is in one iteration."""
    needed = _needed(a)
    loops = [s for s in a.around.loops if s.var in needed and s.var is not fixed]
    bounds = evaluate([e for s in loops for e in (s.min, s.extent)], {**sizes, fixed: value})
    ranges = [range(int(low), int(low) + int(n)) for low, n in zip(bounds[::2], bounds[1::2], strict=True)]
    if prod(map(len, ranges)) > POINTS:
        raise _TooMany
    grids = np.meshgrid(*(np.array(r, np.int64) for r in ranges), indexing="ij") if ranges else []
    given: dict[Var, Any] = {**sizes, fixed: value, **dict(zip((s.var for s in loops), grids, strict=True))}
    for var, meant in a.around.values.items():
        if var in needed:
            given[var] = evaluate([meant], given)[0]
    found = evaluate([*a.around.conditions, *a.indices], given)
    shape = np.broadcast_shapes(*(x.shape for x in found)) if found else ()
    rows = [np.broadcast_to(x, shape).reshape(-1) for x in found]
    count = len(a.around.conditions)
    runs = np.logical_and.reduce([r.astype(bool) for r in rows[:count]]) if count else np.ones(int(prod(shape)), bool)
    yield from {tuple(int(k) for k in row) for row in np.stack(rows[count:], -1)[runs]} if a.indices else {()}


def _needed(a: Access) -> set[Var]:
    """The variables on which it depends which element an access touches, and whether it does."""
    needed = {v for e in (*a.indices, *a.around.conditions) for v in free_vars(e)}
    for var, meant in reversed(list(a.around.values.items())):
        if var in needed:
            needed |= set(free_vars(meant))
    return needed


def elements_at(stmt: Stmt, around: Around, values: Mapping[str, int]) -> Iterator[tuple[Buffer, Index, bool]]:
    """The elements that a statement touches where variables have these values, by name; whether it writes to them."""
    for a in accesses(stmt, around):
        given: dict[Var, Any] = {v: values[v.name] for v in _needed(a) if v.name in values}
        try:
            for var, meant in a.around.values.items():
                if var in _needed(a) and var not in given:
                    given[var] = evaluate([meant], given)[0]
            index = tuple(int(x) for x in evaluate(a.indices, given))
        except IRError:
            continue
        yield a.buffer, index, a.write
