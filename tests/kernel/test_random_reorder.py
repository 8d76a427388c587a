"""Whenever a reordering applies, the interpreter agrees: nests drawn at random, put together anew, rightly or nearly.

Each leaf keeps its loops and branches, perhaps reversed, shifted, exchanged, in two parts, or with one thing changed.
The nests that come of it stand in any order, and loops that are neighbours are merged now and then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernel.programs import function
from tests.kernel.test_properties import CALM, SOLVER, agrees
from tests.rules.random_programs import Draw, Scope, bounds, condition, one_of, statement
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, Not, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Evaluate, For, If, Seq, Stmt, seq
from verified_tir.ir.sugar import binary, const
from verified_tir.ir.visit import substitute
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.rules.reorder import Link, Reorder
from verified_tir.kernel.theorem import Refines, apply, reflexive

X = Buffer.declare("X", (6,), "int32")
Y = Buffer.declare("Y", (5,), "int32")


@dataclass(frozen=True)
class Leaf:
    """A statement's place and count, and what stands around it: loops, and conditions with the arm that was taken."""

    path: Path
    count: int
    around: tuple[For | tuple[Expr, int], ...]


def nest(draw: Draw, scope: Scope, path: Path, around: tuple[For | tuple[Expr, int], ...]) -> tuple[Stmt, list[Leaf]]:
    """A nest in which each statement is a leaf, or of a pair."""
    kind = draw(st.integers(0, 5)) if len(around) < 3 else 0
    if kind <= 1:
        return statement(draw, Scope(scope.integers, scope.buffers, 1)), [Leaf(path, 1, around)]
    if kind == 2:
        c, parts, leaves = condition(draw, scope), list[Stmt](), list[Leaf]()
        for step in range(draw(st.integers(1, 2))):
            part, found = nest(draw, scope, (*path, step), (*around, (c, step)))
            parts.append(part)
            leaves += found
        return If(c, *parts), leaves
    if kind <= 4:
        v = Var.fresh("i")
        low, extent = bounds(draw, scope)
        loop = For(v, low, extent, Seq(()))
        body, leaves = nest(draw, scope.with_integer(v), (*path, 0), (*around, loop))
        return replace(loop, body=body), leaves
    a, b = (statement(draw, Scope(scope.integers, scope.buffers, 0)) for _ in range(2))
    if draw(st.booleans()):
        return seq(a, b), [Leaf((*path, 0), 2, around)]
    return seq(a, b), [Leaf((*path, k), 1, around) for k in range(2)]


def again(draw: Draw, leaf: Leaf, number: int, hole: int) -> tuple[Stmt, Link]:
    """The nest of one leaf, written anew."""
    values: dict[Var, Expr] = {}
    back: dict[Var, Expr] = {}
    new: list[For | Expr] = []
    for part in leaf.around:
        if isinstance(part, tuple):
            c = substitute(part[0], values)
            new.append(c if part[1] == 0 else Not(c))
            continue
        old, p = part.var, Var.fresh("p")
        low, extent = (substitute(e, values) for e in (part.min, part.extent))
        end = binary("sub", binary("add", binary("add", low, low), extent), 1)
        kind = draw(st.integers(0, 6))
        if kind <= 3:
            values[old], back[p] = p, old
        elif kind == 4:
            values[old] = binary("sub", end, p)
            back[p] = binary(
                "sub", binary("sub", binary("add", binary("add", part.min, part.min), part.extent), 1), old
            )
        else:
            values[old], back[p], low = binary("add", p, low), binary("sub", old, part.min), const(0)
        if draw(st.integers(0, 11)) == 0:
            extent = binary("add", extent, one_of(draw, const(1), const(-1)))
        new.append(For(p, low, extent, Seq(())))
    if len(new) > 1 and draw(st.integers(0, 3)) == 0:
        new = [*new[1:], new[0]]
    if new and draw(st.integers(0, 9)) == 0:
        new = [n for k, n in enumerate(new) if k or isinstance(n, For)]
    nest: Stmt = Evaluate(const(hole))
    for n in reversed(new):
        nest = replace(n, body=nest) if isinstance(n, For) else If(n, nest)
    loops = [n for n in new if isinstance(n, For)]
    g = tuple(values[s.var] for s in leaf.around if isinstance(s, For))
    return nest, Link(number, hole, g, tuple(back[s.var] for s in loops))


def parts(draw: Draw, leaf: Leaf, number: int, hole: int, scope: Scope) -> list[tuple[Stmt, Link]]:
    """The nest of a leaf, or two, in which a condition holds and does not hold; none at all now and then."""
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return []
    if kind > 2:
        return [again(draw, leaf, number, hole)]
    c = condition(draw, scope)
    made = [again(draw, leaf, number, hole + k) for k in range(2)]
    other = Not(c) if draw(st.integers(0, 5)) else c
    return [(If(d, stmt), link) for d, (stmt, link) in zip((c, other), made, strict=True)]


def merged(draw: Draw, nests: list[tuple[Stmt, Link]]) -> list[tuple[Stmt, list[Link]]]:
    """Some neighbours that are loops become one, with the first one's bounds."""
    found: list[tuple[Stmt, list[Link]]] = []
    for stmt, link in nests:
        last = found[-1][0] if found else None
        if isinstance(stmt, For) and isinstance(last, For) and draw(st.booleans()):
            body = substitute(stmt.body, {stmt.var: last.var})
            g = tuple(substitute(e, {stmt.var: last.var}) for e in link.old_of_new)
            found[-1] = (replace(last, body=seq(last.body, body)), [*found[-1][1], replace(link, old_of_new=g)])
        else:
            found.append((stmt, [link]))
    return found


def reordering(draw: Draw) -> tuple[PrimFunc, Reorder]:
    n = Var.fresh("n")
    scope = Scope([n], [X, Y], 2)
    count = draw(st.integers(1, 3))
    made = [nest(draw, scope, (k,) if count > 1 else (), ()) for k in range(count)]
    func = function([X, Y, n], Seq(tuple(stmt for stmt, _ in made)) if count > 1 else made[0][0])
    leaves = [leaf for _, found in made for leaf in found]
    nests: list[tuple[Stmt, Link]] = []
    for number, leaf in enumerate(leaves):
        nests += parts(draw, leaf, number, len(nests), scope)
    if draw(st.booleans()):
        nests = draw(st.permutations(nests))
    whole = merged(draw, nests)
    rule = Reorder((0,) if count > 1 else (), count, tuple((s.path, s.count) for s in leaves),
                   seq(*[stmt for stmt, _ in whole]), tuple(k for _, links in whole for k in links))  # fmt: skip
    return func, rule


@pytest.mark.sample(1)
@pytest.mark.parametrize("turn", range(4))
def test_whenever_it_applies_the_interpreter_agrees(turn: int) -> None:
    @CALM
    @given(st.data())
    def run(data: st.DataObject) -> None:
        try:
            func, rule = reordering(data.draw)
        except IRError:
            return  # ill-typed
        result = apply(rule, reflexive(func), Prover(SOLVER))
        if isinstance(result, Refines):
            agrees(result, func)

    run()


@pytest.mark.nightly
def test_many_of_them_apply() -> None:
    seen: list[bool] = []

    @settings(CALM, max_examples=100)
    @given(st.data())
    def run(data: st.DataObject) -> None:
        try:
            func, rule = reordering(data.draw)
        except IRError:
            return
        seen.append(isinstance(apply(rule, reflexive(func), Prover(SOLVER)), Refines))

    run()
    assert 0.05 * len(seen) < sum(seen) < len(seen)
