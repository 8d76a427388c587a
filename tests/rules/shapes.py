"""Grammars for rules about the form of a program: branches, allocations, layouts, statements put in and taken out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from tests.rules.building import load, store
from tests.rules.family import Chain, Family
from tests.rules.pool import (
    CLAIMS,
    EXTENTS,
    GUARDED,
    INDIRECT,
    NESTED,
    STORES,
    WORDS,
    Word,
    X,
    Y,
    integers,
    loop,
    n,
    plus,
)
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Binary, Expr, Not, Undef, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import SKIP, Allocate, For, If, Stmt, seq
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.obligation import NoMatch
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.scope import Declare, Drop
from verified_tir.kernel.theorem import Rule
from verified_tir.schedule import moves
from verified_tir.schedule.rule_builders import RuleBuilder, moved, with_else

Made = tuple[PrimFunc, Sequence[Rule | RuleBuilder | Chain]]

CONDITIONS: tuple[Callable[[Expr], Expr], ...] = (
    lambda i: load(X, 0) > 0,
    lambda i: load(X, i) > 0,
    lambda i: binary("lt", i, 2),
    lambda i: binary("gt", n, 0),
    lambda i: binary("gt", n, 1),
    lambda i: binary("ge", i, n),
    lambda i: Binary("and", load(Y, 0) > 0, load(X, i) > 0),
    lambda i: Binary("or", binary("lt", i, 1), load(X, i) > 0),
    lambda i: Not(load(Y, 0) > 0),
    lambda i: binary("gt", 4 // n, 1),
    lambda i: load(X, n) > 0,
)
PLAIN: tuple[Word, ...] = (*STORES, *INDIRECT)


def _branch(bounds: int, c: int, a: Word, b: Word | None, around: int) -> Made:
    """``for i: if c: A else: B``, or the branch around the loop: every reshaping of it."""
    i = Var.fresh("i")
    low, extent = EXTENTS[bounds]()
    other = None if b is None else b(i)
    if around:
        outside = CONDITIONS[c](const(1))
        func = integers(If(outside, For(i, low, extent, a(i)), None if b is None else loop(2, b)))
        return func, [
            moves.sink(()),
            *_reshapings(()),
            moves.introduce((0,), CONDITIONS[(c + 1) % len(CONDITIONS)](const(1))),
        ]
    condition = CONDITIONS[c](i)
    func = integers(For(i, low, extent, If(condition, a(i), other)))
    again = CONDITIONS[(c + 3) % len(CONDITIONS)](i)
    return func, [
        moves.hoist(()),
        *_reshapings((0,)),
        moves.introduce((0,), again),
        moves.introduce((0, 0), condition),
    ]


def _reshapings(path: tuple[int, ...]) -> list[Rule | RuleBuilder]:
    ways: tuple[Rule | RuleBuilder, ...] = tuple(moves.reshape(path, how) for how in ("nest", "unnest", "negate"))
    return [*ways, moves.decide(path, True), moves.decide(path, False), moves.merge(path)]


def _twice(c: int, d: int, a: Word, b: Word, same: bool) -> Made:
    """Branches in branches, with the same statement on both sides or not."""
    i = Var.fresh("i")
    inner = If(CONDITIONS[d](i), a(i), a(i) if same else b(i))
    func = integers(For(i, const(0), const(3), If(CONDITIONS[c](i), inner)))
    split = If(CONDITIONS[c](i), seq(a(i), b(i)))
    rules: list[Rule | RuleBuilder] = [moves.merge((0, 0)), *_reshapings((0, 0)), moves.reshape((0,), "unnest")]
    if same:
        return func, rules
    return integers(For(i, const(0), const(3), split)), [
        moves.fission((0,), 1),
        moves.sink((0,)),
        *_reshapings((0,)),
    ]


# ------------------------------------------------------------------------------------------------------- allocations

Local = Callable[[Expr, Buffer], Stmt]
LOCALS: tuple[Local, ...] = (
    lambda i, t: store(t, i, 0),
    lambda i, t: store(t, load(X, i), i),
    lambda i, t: store(t, 5, 1),
    lambda i, t: store(Y, load(t, 0), i),
    lambda i, t: store(Y, load(t, i), i),
    lambda i, t: store(t, load(t, 0) + 1, 0),
    lambda i, t: If(load(X, i) > 0, store(t, 1, 0)),
    lambda i, t: If(binary("lt", i, 1), store(t, 1, 0)),
    lambda i, t: If(binary("gt", i, 0), store(Y, load(t, 0), i)),
    lambda i, t: If(load(t, 0) > 0, store(Y, 1, i)),
    lambda i, t: loop(2, lambda j: store(t, j, j), name="j"),
    lambda i, t: loop(n, lambda j: store(t, j, j), name="j"),
    lambda i, t: loop(2, lambda j: store(Y, load(t, j), j), name="j"),
    lambda i, t: loop(i, lambda j: store(t, 1, 0), name="j"),
    lambda i, t: If(Binary("and", binary("gt", i, 0), load(t, 0) > 0), store(Y, 2, i)),
    lambda i, t: store(t, Undef(t.dtype), 0),
    lambda i, t: store(X, 1, i),
    lambda i, t: store(Y, 3, load(t, 0)),
)


def _extent(k: int, i: Expr) -> Expr:
    return (const(3), n, plus(i, 1), const(0), n - 1, 4 // n)[k]


def _allocated(where: int, extent: int, bounds: int, a: int, b: int, c: int) -> Made:
    """A local buffer inside a loop, around it, or around a sequence: hoisted, sunk, narrowed."""
    i = Var.fresh("i")
    t = Buffer.declare("t", (_extent(extent, i if where == 0 else const(1)),), "int32")
    parts = [LOCALS[k](i, t) for k in (a, b, c)]
    low, count = EXTENTS[bounds]()
    if where == 0:
        func = integers(For(i, low, count, Allocate(t, seq(*parts))))
        return func, [*_moved(func, (), "hoist"), *_moved(func, (0,), "narrow"), Drop((0,))]
    if where == 1:
        func = integers(Allocate(t, For(i, low, count, seq(*parts))))
        return func, [*_moved(func, (), "sink"), Drop(())]
    outside = const(1)
    parts = [LOCALS[k](outside, t) for k in (a, b, c)]
    func = integers(Allocate(t, seq(*parts)))
    branch = If(load(X, 0) > 0, LOCALS[b](outside, t))
    if where == 2:
        return func, _moved(func, (), "narrow")
    func = integers(Allocate(t, branch))
    return func, [*_moved(func, (), "narrow"), Drop(())]


def _moved(func: PrimFunc, path: Path, how: Literal["hoist", "sink", "narrow"]) -> list[Rule | Chain]:
    rule = moved(path, how)(func)
    return [] if isinstance(rule, NoMatch) else [rule]


def _new_buffer(bounds: int, a: Word, extent: int, path: int) -> Made:
    """A buffer allocated, and used by a statement inserted after that."""
    i = Var.fresh("i")
    low, count = EXTENTS[bounds]()
    func = integers(For(i, low, count, a(i)))
    where = ((), (0,))[path]
    t = Buffer.declare("t", (_extent(extent, i if path else const(1)),), "int32")
    allocate = Declare(where, t)
    fill, copy = store(t, load(X, 0), 0), store(X, load(t, 0), 0)
    inside = (*where, 0)
    return func, [
        allocate,
        (allocate, Insert(inside, fill)),
        (allocate, Insert(inside, copy)),
        (allocate, Insert(inside, fill), Insert((*inside, 0), copy, "after")),
        (allocate, Insert(inside, fill), Erase((*inside, 0))),
        (allocate, Drop(where)),
    ]


# ------------------------------------------------------------------------------------------- statements in and out

ADDED: tuple[Word, ...] = (*STORES, *INDIRECT, *GUARDED, *NESTED, *CLAIMS)


def _added(bounds: int, a: Word, b: Word, c: Word, where: int) -> Made:
    """A statement put between two others of a loop's body; one of them taken out."""
    i = Var.fresh("i")
    low, extent = EXTENTS[bounds]()
    func = integers(For(i, low, extent, seq(a(i), b(i))))
    path = ((0, 0), (0, 1), (0, 1), ())[where]
    new = c(i) if path else c(const(1))
    side = ("before", "before", "after", "after")[where]
    rules: list[Rule | RuleBuilder] = [Insert(path, new, side)]  # type: ignore[arg-type]
    if where == 0:
        rules += [Insert((0, 0), new, "before", overwritten_by=k) for k in (1, 2)]
        rules += [
            Insert((0, 0), new, "after", overwritten_by=1),
            Erase((0, 0)),
            Erase((0, 1)),
            Erase((0, 0), overwritten_by=1),
        ]
    return func, rules


def _else(a: Word, b: Word, c: int) -> Made:
    """The missing else branch."""
    i = Var.fresh("i")
    func = integers(For(i, const(0), const(3), If(CONDITIONS[c](i), a(i))))
    return func, [(with_else((0,)), Insert((0, 1), b(i))), (with_else((0,)), Insert((0, 1), SKIP))]


_R = (*range(len(EXTENTS)),)
_L = (*range(len(LOCALS)),)
FAMILIES = (
    Family("branches", (_R, (*range(len(CONDITIONS)),), WORDS, (None, *PLAIN), (0, 1)), _branch),
    Family("nested", ((*range(len(CONDITIONS)),), (*range(len(CONDITIONS)),), WORDS, PLAIN, (False, True)), _twice),
    Family("allocated", ((0, 1, 1, 2, 3), (*range(6),), (0, 1, 3, 4, 7), _L, _L, _L), _allocated),
    Family("new buffers", (_R, WORDS, (*range(6),), (0, 1)), _new_buffer),
    Family("in and out", ((0, 1, 3, 4), WORDS, WORDS, ADDED, (0, 1, 2, 3)), _added),
    Family("else", (WORDS, ADDED, (*range(len(CONDITIONS)),)), _else),
)
