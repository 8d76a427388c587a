"""A grammar for what an iteration of an outer loop found true, or made: it says nothing of other iterations.

    for i in range(3):
        if GUARD:
            MADE                  # what this iteration assumes, asserts, stores
            if QUESTION: … else: …
        LEFT                      # what the next iteration finds

To decide the branch an induction looks at an arbitrary iteration's store, where ``i`` is another one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.rules.building import load, store
from tests.rules.family import Family
from tests.rules.pool import X, Y, integers, let, local, loop, n, plus
from verified_tir.ir.expr import Expr
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import places
from verified_tir.ir.stmt import Assert, Assume, If, Stmt, seq
from verified_tir.ir.sugar import binary
from verified_tir.kernel.theorem import Rule
from verified_tir.schedule import moves
from verified_tir.schedule.rule_builders import RuleBuilder

Made = tuple[PrimFunc, Sequence[Rule | RuleBuilder]]

GUARDS: tuple[Callable[[Expr], Expr] | None, ...] = (
    None,
    lambda i: load(X, i) > 0,
    lambda i: load(X, 2 * i) > 0,
    lambda i: load(Y, 1) > 0,
    lambda i: i > 0,
    lambda i: binary("lt", i, n),
)

MADE: tuple[Callable[[Expr, Stmt], Stmt], ...] = (
    lambda i, rest: seq(Assume(load(X, 2 * i + 1) >= 0), rest),
    lambda i, rest: seq(loop(2, lambda j: Assume(load(X, 2 * i + j) >= 0), name="j"), rest),
    lambda i, rest: seq(loop(2, lambda j: Assert(load(X, 2 * i + j) >= 0, "negative"), name="j"), rest),
    lambda i, rest: seq(loop(2, lambda j: Assume(load(X, j) >= i), name="j"), rest),
    lambda i, rest: seq(loop(2, lambda j: Assume(load(X, plus(i, j)) >= load(X, 0)), name="j"), rest),
    lambda i, rest: seq(loop(3, lambda j: If(i > 0, Assume(load(X, plus(i, j)) > 0)), name="j"), rest),
    lambda i, rest: let(load(X, i), lambda v: seq(loop(2, lambda j: Assume(load(X, 2 * i + j) >= v), name="j"), rest)),
    lambda i, rest: local(
        lambda t: seq(
            loop(2, lambda j: store(t, i, j), name="j"),
            loop(2, lambda j: Assume(load(X, j) >= load(t, j)), name="j"),
            rest,
        )
    ),
    lambda i, rest: seq(loop(2, lambda j: store(Y, i, 1 + j), name="j"), rest),
    lambda i, rest: seq(loop(2, lambda j: store(X, i, j), name="j"), rest),
)

QUESTIONS: tuple[Callable[[Expr], Expr], ...] = (
    lambda _: load(Y, 0) >= 0,
    lambda _: load(Y, 0).equal(1),
    lambda i: load(Y, 0) >= i - 1,
    lambda _: load(Y, 0) >= load(X, 0),
    lambda i: load(Y, 1).equal(i),
    lambda _: load(Y, 0) >= load(Y, 1),
)

LEFT: tuple[Callable[[Expr], Stmt], ...] = (
    lambda i: store(Y, load(X, 2 * i + 1), 0),
    lambda i: store(Y, load(X, plus(i, 1)), 0),
    lambda i: store(Y, load(X, 1) - i, 0),
    lambda i: store(Y, i, 0),
    lambda i: store(Y, load(Y, 1), 0),
    lambda i: If(load(X, i) > 0, store(Y, load(X, 2 * i + 1), 0)),
    lambda i: loop(2, lambda j: store(Y, load(X, 2 * i + j), j), name="j"),
)


def asked_in_an_iteration(first: int | None, guard: int, made: int, question: int, left: int) -> Made:
    """Is the branch decided by what this iteration, and those before it, came to?"""
    branch = If(QUESTIONS[question](n), store(Y, 5, 3), store(Y, 6, 3))

    def body(i: Expr) -> Stmt:
        nonlocal branch
        branch = If(QUESTIONS[question](i), store(Y, 5, 3), store(Y, 6, 3))
        inner, condition = MADE[made](i, branch), GUARDS[guard]
        return seq(inner if condition is None else If(condition(i), inner), LEFT[left](i))

    whole = loop(3, body)
    func = integers(whole if first is None else seq(store(Y, first, 0), whole))
    ((path, _),) = places(func.body, lambda s: s is branch)
    return func, [moves.decide(path, True), moves.decide(path, False)]


FAMILIES = (
    Family(
        "iterations",
        ((None, 0, 1), range(len(GUARDS)), range(len(MADE)), range(len(QUESTIONS)), range(len(LEFT))),
        asked_in_an_iteration,
    ),
)
