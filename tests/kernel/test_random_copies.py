"""Whenever recompute, erase or stage apply, the interpreter agrees: random programs, beyond those enumerated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernel.programs import function
from tests.kernel.test_properties import CALM, SOLVER, agrees
from tests.rules.random_programs import (
    Draw,
    Scope,
    bounds,
    condition,
    index,
    one_of,
    programs,
    statement,
)
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import FALSE, Expr, Not, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import Path, places
from verified_tir.ir.stmt import Allocate, For, If, Seq, Stmt, seq
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.stage import Stage
from verified_tir.kernel.theorem import Refines, Rule, apply, reflexive
from verified_tir.schedule.moves import NewLoop, recompute

X = Buffer.declare("X", (6,), "int32")
Y = Buffer.declare("Y", (2, 3), "int32")
Z = Buffer.declare("Z", (5,), "float32")


def producer_and_consumer(draw: Draw) -> tuple[PrimFunc, list[Rule]]:
    """``for x: (if c:) S(x)``, perhaps something, ``for y: U(y)``; instances of S again, before or after U."""
    n, x, y, p = Var.fresh("n"), Var.fresh("x"), Var.fresh("y"), Var.fresh("p")
    scope = Scope([n], [X, Y, Z], draw(st.integers(1, 2)))
    body = statement(draw, scope.with_integer(x))
    guarded = draw(st.integers(0, 4)) == 0
    inner = If(condition(draw, scope.with_integer(x)), body) if guarded else body
    producer = For(x, *bounds(draw, Scope([n], [X], 0)), inner)
    consumer = For(y, const(0), const(draw(st.integers(1, 3))), seq(statement(draw, scope.with_integer(y))))
    middle = [statement(draw, Scope([n], [X, Y, Z], 1))] if draw(st.integers(0, 3)) == 0 else []
    middle = [s for s in middle if not isinstance(s, Seq)]
    func = function([X, Y, Z, n], seq(producer, *middle, consumer))
    last = 1 + len(middle)
    loops = (NewLoop(p, const(0), one_of(draw, const(2), n)),) if draw(st.booleans()) else ()
    inside = Scope([y, *([p] if loops else [])], [X], 0)
    w = one_of(draw, const(0), const(1), y, index(draw, inside, 2))
    guards = (condition(draw, inside),) if draw(st.integers(0, 2)) == 0 else ()
    guards = (*guards, *(binary("ge", w, 0), binary("lt", w, n))) if draw(st.booleans()) else guards
    place: Path = one_of(draw, (last, 0), (last,))
    if place == (last,):
        loops, guards, w = (), (), const(draw(st.integers(0, 2)))
    source = (0, 0, 0) if guarded else (0, 0)
    values = (w,)
    if draw(st.integers(0, 4)) == 0:
        source, values, loops, guards = (0,), (), (), ()
    again = recompute(place, source, loops, guards, values)
    return func, [again]


def any_statement_again(draw: Draw) -> tuple[PrimFunc, list[Rule]]:
    """A random program; something in it again, with values for the loops around."""
    func = draw(programs())
    found = [p for p, _ in places(func.body, lambda s: True)]
    source, path = draw(st.sampled_from(found)), draw(st.sampled_from(found))
    source, path = sorted((source, path))
    shared = next((k for k, (a, b) in enumerate(zip(source, path, strict=False)) if a != b), 0)
    around = sum(isinstance(s, For) and p[: shared + 1] == source[: shared + 1]
                 for p, s in ((source[:k], _at(func, source[:k])) for k in range(shared + 1, len(source))))  # fmt: skip
    values = tuple(const(draw(st.integers(0, 2))) for _ in range(around))
    return func, [recompute(path, source, (), (), values)]


def _at(func: PrimFunc, path: Path) -> Stmt:
    return next(s for p, s in places(func.body, lambda s: True) if p == path)


def dead_at_end(draw: Draw) -> tuple[PrimFunc, list[Rule]]:
    """``t = alloc; S; A; B`` of random statements, S gone."""
    n = Var.fresh("n")
    t = Buffer.declare("t", (draw(st.integers(1, 4)),), "int32")
    scope = Scope([n], [t, t, X], 2)
    parts = [statement(draw, scope) for _ in range(draw(st.integers(2, 4)))]
    func = function([X, Y, n], Allocate(t, seq(*parts)))
    paths = [p for p, _ in places(func.body, lambda s: True) if p]
    return func, [Erase(draw(st.sampled_from(paths)), dead_at_end=True) for _ in range(3)]


def staged(draw: Draw) -> tuple[PrimFunc, list[Rule]]:
    """A window, a reversal or a transposition of a buffer, in place of it, somewhere in a random program."""
    func = draw(programs())
    found = list(places(func.body, lambda s: True))
    path, _ = draw(st.sampled_from(found))
    scope = [n.var for k in range(len(path)) if isinstance(n := _at(func, path[:k]), For)]
    local = [s.buffer for k in range(len(path)) if isinstance(s := _at(func, path[:k]), Allocate)]
    buffer = draw(st.sampled_from([*func.buffers, *local]))
    out = draw(st.booleans())
    xs, ys = (tuple(Var.fresh(v) for _ in buffer.shape) for v in "ab")
    if len(xs) == 1:
        start: Expr = one_of(draw, const(0), const(0), const(1), *scope)
        extent = one_of(draw, const(1), const(2), const(4), buffer.shape[0], binary("sub", buffer.shape[0], start))
        turned = draw(st.integers(0, 3)) == 0
        phi = (extent - 1 - (xs[0] - start),) if turned else (xs[0] - start,)
        back = (extent - 1 - ys[0] + start,) if turned else (ys[0] + start,)
        padding = Not(condition(draw, Scope([ys[0], *scope], [X], 0))) if draw(st.integers(0, 5)) == 0 else FALSE
        layout = LayoutMap(xs, phi, ys, back, (extent,), padding)
    else:
        layout = LayoutMap(xs, xs[::-1], ys, ys[::-1], buffer.shape[::-1], FALSE)
    inside = [p[len(path) :] for p, _ in found if p[: len(path)] == path]
    some = draw(st.lists(st.sampled_from(inside), max_size=2)) if not out else []
    return func, [Stage(path, buffer, layout, "c", "local", out, only=tuple(some))]


SHAPES = {
    "recompute": producer_and_consumer,
    "recompute anything": any_statement_again,
    "dead at the end": dead_at_end,
    "stage": staged,
}


@pytest.mark.parametrize("name", SHAPES)
def test_whenever_it_applies_the_interpreter_agrees(name: str) -> None:
    @CALM
    @given(st.data())
    def run(data: st.DataObject) -> None:
        try:
            func, rules = SHAPES[name](data.draw)
        except IRError:
            return  # ill-typed
        for rule in rules:
            result = apply(rule, reflexive(func), Prover(SOLVER))  # type: ignore[arg-type]
            if isinstance(result, Refines):
                agrees(result, func)

    run()
