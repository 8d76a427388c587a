"""Grammars for the rules about values and facts: rewrite, decide, bind, inline; and for what becomes of facts.

A program is a few statements that make or break facts, and then a place where one is asked for: a branch to be decided,
an expression to be replaced, a store to be inserted or erased.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from tests.rules.building import load, store
from tests.rules.family import Family
from tests.rules.pool import (
    CLAIMS,
    GUARDED,
    INDIRECT,
    NESTED,
    STORES,
    VECTORS,
    F,
    G,
    Word,
    X,
    Y,
    floats,
    integers,
    let,
    local,
    loop,
    n,
    plus,
    view,
)
from verified_tir.ir.expr import Binary, Expr, FloatImm, IfThenElse, Not, Select, Undef, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Assume, If, LetStmt, Stmt, While, seq
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.rules.bind import Bind, Inline
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.theorem import Rule
from verified_tir.schedule import moves
from verified_tir.schedule.edits import rewritten
from verified_tir.schedule.rule_builders import RuleBuilder

Made = tuple[PrimFunc, Sequence[Rule | RuleBuilder]]
Maker = Callable[[], Stmt]

# --------------------------------------------------------------------------------------------- facts about integers

EVENTS: tuple[Maker, ...] = (
    lambda: store(X, 1, 0),
    lambda: store(X, 0, 1),
    lambda: store(X, load(X, 0), 1),
    lambda: store(X, 2, load(Y, 0)),
    lambda: store(Y, 1, 0),
    lambda: store(X, Undef(X.dtype), 0),
    lambda: Assume(load(X, 0).equal(1)),
    lambda: Assume(load(X, 1) >= 0),
    lambda: Assume(load(X, 0).equal(load(Y, 0))),
    lambda: Assume(load(X, 0).equal(Undef(X.dtype))),
    lambda: loop(3, lambda i: store(X, i, i)),
    lambda: loop(3, lambda i: store(X, 1, i)),
    lambda: loop(n, lambda i: store(X, 1, i)),
    lambda: loop(3, lambda i: store(X, load(Y, i), i)),
    lambda: loop(3, lambda i: store(X, 2, load(Y, i))),
    lambda: loop(3, lambda i: If(load(Y, i) > 0, store(X, 1, i))),
    lambda: loop(3, lambda i: store(X, i, 2 - i)),
    lambda: loop(2, lambda i: store(X, 1, 2 * i)),
    lambda: loop(2, lambda i: loop(2, lambda j: store(X, j, 2 * i + j), name="j")),
    lambda: loop(2, lambda i: loop(2, lambda j: store(X, i, j), name="j")),
    lambda: loop(3, lambda i: Assume(load(X, i).equal(1))),
    lambda: loop(3, lambda i: Assume(load(X, i) >= load(X, 0))),
    lambda: loop(3, lambda i: store(X, load(X, i) + 1, 0)),
    lambda: loop(3, lambda i: store(X, load(X, plus(i, 1)), i)),
    lambda: loop(2, lambda i: seq(store(X, 1, i), store(X, 0, 1))),
    lambda: loop(2, lambda i: seq(store(Y, i, 0), store(X, load(Y, 0), i))),
    lambda: loop(load(X, 0), lambda i: store(X, 1, i)),
    lambda: If(load(Y, 0) > 0, store(X, 1, 0)),
    lambda: If(load(X, 0) > 0, store(X, 1, 0), store(X, 0, 0)),
    lambda: While(load(X, 0) > 0, store(X, load(X, 0) - 1, 0)),
    lambda: view(lambda v: store(v, 1, 0, 0)),
    lambda: view(lambda v: loop(3, lambda i: store(v, 1, 0, i))),
    lambda: view(lambda v: store(v, 0, load(Y, 0) % 2, 1)),
    lambda: view(lambda v: store(v, 1, 0), shape=(5,), start=1),
    lambda: view(lambda v: loop(2, lambda i: store(v, i, i)), shape=(4,), start=1),
    lambda: loop(2, lambda i: view(lambda v: store(v, i, i, 0))),
    lambda: local(lambda t: seq(store(t, 1, 0), store(X, load(t, 0), 0))),
    lambda: local(lambda t: seq(loop(2, lambda i: store(t, i, i)), store(X, load(t, 1), 1))),
    lambda: let(load(X, 0), lambda v: seq(store(X, 0, 0), store(X, v, 1))),
    lambda: loop(3, lambda i: let(load(X, i), lambda v: seq(store(X, 0, i), Assume(binary("eq", v, 1))))),
)
"""Statements that make facts about the first elements of X and Y, and statements that end them."""

QUESTIONS: tuple[Expr, ...] = (
    load(X, 0).equal(1),
    load(X, 0).equal(0),
    load(X, 1).equal(1),
    load(X, 1).equal(0),
    load(X, 1) >= 0,
    load(X, 0).equal(load(Y, 0)),
    load(X, 1).equal(load(X, 0)),
    load(X, 2).equal(2),
    load(X, 2) >= 0,
    load(X, 2).equal(load(Y, 2)),
    Binary("lt", load(X, 0), load(X, 1)),
)


def asked(a: Maker | None, b: Maker | None, c: Maker, question: Expr) -> Made:
    """Is the branch decided by what came before?"""
    before = [e() for e in (a, b, c) if e is not None]
    branch = If(question, store(Y, 5, 3), store(Y, 6, 3))
    path = (len(before),)
    return integers(seq(*before, branch)), [moves.decide(path, True), moves.decide(path, False)]


def asked_inside(a: Maker, guard: Expr | None, b: Maker, c: Maker, question: Expr) -> Made:
    """The same inside a loop, whose other statements run in earlier iterations too."""
    branch = If(question, store(Y, 5, 3), store(Y, 6, 3))
    parts = [b(), branch, c()]
    inner: Stmt = seq(*parts)
    path: tuple[int, ...] = (1, 0, 1)
    if guard is not None:
        inner, path = If(guard, inner), (1, 0, 0, 1)
    return integers(seq(a(), loop(2, lambda i: inner))), [
        moves.decide(path, True),
        moves.decide(path, False),
    ]


def stored_again(a: Maker | None, b: Maker, element: int, value: Expr, again: Maker) -> Made:
    """Is a store one of the bits that are there?  Inserted after what came before, and erased where it stands."""
    added = store(X, value, element)
    parts = [e() for e in (a, b) if e is not None]
    k = len(parts)
    inserted = integers(seq(*parts, again()))
    kill = Insert((k,), store(X, value, element), "before", overwritten_by=1)
    return inserted, [
        Insert((k,), added),
        Insert((k,), added, "after"),
        kill,
        Erase((k,)),
        *[Erase((j,), overwritten_by=1) for j in range(k)],
        *[Erase((j,)) for j in range(k)],
    ]


NUMBERS = (const(0), const(1), load(X, 0), load(X, 1), load(Y, 0), load(Y, 1) + 1, Undef(X.dtype))

# ----------------------------------------------------------------------------------------------- facts about floats

ZERO, MINUS, ONE = FloatImm(F.dtype, 0.0), FloatImm(F.dtype, -0.0), FloatImm(F.dtype, 1.0)

FLOAT_EVENTS: tuple[Maker, ...] = (
    lambda: store(F, ZERO, 0),
    lambda: store(F, MINUS, 0),
    lambda: loop(3, lambda i: store(F, ZERO, i)),
    lambda: loop(3, lambda i: store(F, load(F, 0) + load(G, i), 0)),
    lambda: loop(3, lambda i: store(F, load(F, i) + load(G, i), i)),
    lambda: loop(3, lambda i: store(F, load(F, 0) * load(G, i), 0)),
    lambda: loop(2, lambda i: seq(store(F, load(F, 0) + load(G, i), 0), store(F, MINUS, i))),
    lambda: loop(3, lambda i: If(binary("lt", i, 1), store(F, MINUS, i))),
    lambda: loop(3, lambda i: If(load(G, i).equal(ZERO), store(F, load(F, 0) + ZERO, 0))),
    lambda: loop(3, lambda i: store(F, load(F, plus(i, 1)), i)),
    lambda: Assume(load(F, 0).equal(ZERO)),
    lambda: Assume(load(F, 0) > ZERO),
    lambda: loop(3, lambda i: Assume(load(G, i).equal(ZERO))),
    lambda: store(F, load(F, 0) + ONE, 0),
    lambda: store(F, Undef(F.dtype), 0),
    lambda: loop(
        2, lambda i: local(lambda t: seq(store(t, load(G, i), 0), store(F, load(t, 0) + ZERO, i)), 1, "float32")
    ),
)
FLOAT_VALUES = (
    ZERO,
    MINUS,
    load(F, 0),
    load(F, 0) + ZERO,
    load(F, 0) + MINUS,
    load(F, 0) * ONE,
    load(G, 0) * ZERO,
    load(F, 0) + load(G, 0),
    load(F, 0) - load(G, 1) * ZERO,
    Select(load(G, 0) > ZERO, load(F, 0), load(F, 1)),
)


def _float_stored(a: Maker | None, b: Maker | None, value: Expr, place: int) -> Made:
    parts = [e() for e in (a, b) if e is not None]
    func = floats(seq(*parts, store(G, ONE, 3), store(F, value, 0)))
    k = len(parts)
    return func, [Insert((k + place,), store(F, value, 0)), Erase((k + 1,))]


def _float_replaced(a: Maker | None, b: Maker | None, old: Expr, new: Expr) -> Made:
    parts = [e() for e in (a, b) if e is not None]
    func = floats(seq(*parts, store(G, old, 0)))
    return func, [rewritten((len(parts),) if parts else (), (0,), new)]


# ------------------------------------------------------------------------------------------------------- expressions

i32 = X.dtype
BIG = const(2**30)


def _expressions(v: Expr) -> tuple[Expr, ...]:
    """Small integer expressions over v, a size and memory."""
    a, b = load(X, 0), load(X, 1)
    simple = (const(0), const(1), v, n, a, b, load(X, v % 3))
    made = [
        Binary(op, x, y)
        for op in ("add", "mul", "floordiv")
        for x, y in ((v, n), (a, b), (n, n), (a, a), (v, const(2)))
    ]
    return (
        *simple,
        *made,
        binary("sub", v, v),
        binary("sub", a, a),
        BIG * v,
        BIG * a,
        BIG * (n + 1),
        (v + BIG) + BIG,
        v + v,
        2 * v,
        a + a,
        2 * a,
        binary("truncmod", v, 2),
        binary("floormod", v, 2),
        binary("min", a, b),
        IfThenElse(binary("lt", a, b), a, b),
        Select(binary("lt", a, b), a, b),
        IfThenElse(v > 0, 4 // v, const(0)),
        Select(v > 0, binary("floordiv", const(4), v), const(0)),
        IfThenElse(v > 0, load(X, v - 1), const(0)),
        Select(v > 0, load(X, v - 1), const(0)),
        Undef(i32),
        Select(a > 0, Undef(i32), const(1)),
        binary("sub", n, 1) + 1,
        binary("shl", v, const(1)),
        binary("bitand", v, const(1)),
        binary("max", v, 0),
    )


COUNT = len(_expressions(n))
AROUND: tuple[Callable[[Expr], Expr], ...] = (
    lambda e: e,
    lambda e: e * 65536 * 65536,
    lambda e: load(X, e),
    lambda e: IfThenElse(load(X, 0) > 0, e, const(1)),
)


def _replaced(prelude: Maker | None, bounds: int, old: int, new: int, around: int) -> Made:
    """One expression for another: in a store, an index, a lazy arm, a let."""
    wheres = ((0,), (0, 0, 0), (0, 0), (0, 1))
    outer = ((const(0), const(3)), (const(-1), const(2)), (const(0), n))[bounds]
    parts = [] if prelude is None else [prelude()]
    v = Var.fresh("i")
    options = _expressions(v)
    from verified_tir.ir.stmt import For

    body = For(v, *outer, store(Y, AROUND[around](options[old]), v % 4))
    path = (1, 0) if parts else (0,)
    return integers(seq(*parts, body)), [rewritten(path, wheres[around], options[new])]


CONDITIONS: tuple[Callable[[Expr], Expr], ...] = (
    lambda i: load(X, 0) > 0,
    lambda i: load(X, i % 4) > 0,
    lambda i: binary("lt", i, n),
    lambda i: binary("lt", i, 5),
    lambda i: Binary("and", binary("lt", i, 2), load(X, i) > 0),
    lambda i: Binary("or", binary("ge", i, 2), load(X, i) > 0),
    lambda i: Not(binary("lt", i, n)),
    lambda i: binary("ge", n // (i + 1), 0),
    lambda i: load(X, load(Y, 0)) > 0,
)


def _conditions(a: Maker | None, old: int, new: int, how: int) -> Made:
    """A condition for another, in a branch or an assumption."""
    parts = [] if a is None else [a()]
    v = Var.fresh("i")
    from verified_tir.ir.stmt import For

    c, d = CONDITIONS[old](v), CONDITIONS[new](v)
    inner = seq(Assume(c), store(Y, 7, 0)) if how else If(c, store(Y, 7, 0))
    path = ((1,) if parts else ()) + ((0, 0) if how else (0,))
    return integers(seq(*parts, For(v, const(0), const(3), inner))), [rewritten(path, (0,), d)]


# ------------------------------------------------------------------------------------------------------------- names

WORDS: tuple[Word, ...] = (*STORES, *INDIRECT, *GUARDED, *NESTED, *CLAIMS, *VECTORS)
VALUES: tuple[Callable[[Expr], Expr], ...] = (
    lambda i: load(X, i),
    lambda i: load(X, 0),
    lambda i: load(Y, i),
    lambda i: load(X, i) > 0,
    lambda i: plus(i, 1),
    lambda i: 2 * i,
    lambda i: binary("lt", i, 1),
    lambda i: n // i,
    lambda i: load(X, load(Y, 0)),
    lambda i: n * BIG,
    lambda i: load(X, i) + 1,
    lambda i: load(Y, 0) * BIG,
)


def _named(extent: int, a: Word, b: Word, value: int) -> Made:
    """A value gets a name before one statement, before two, before the loop."""
    v = Var.fresh("i")
    from verified_tir.ir.stmt import For

    count = (const(3), const(0), n)[extent]
    what = VALUES[value](v)
    outside = VALUES[value](const(1))
    func = integers(For(v, const(0), count, seq(a(v), b(v))))
    rules: list[Rule | RuleBuilder] = [Bind(path, Var.fresh("x", what.dtype), what) for path in ((0,), (0, 0), (0, 1))]
    return func, [*rules, Bind((), Var.fresh("x", outside.dtype), outside)]


USES: tuple[Callable[[Var], Stmt], ...] = (
    lambda x: store(Y, x, 0),
    lambda x: store(X, x, 0),
    lambda x: store(X, x + 1, 1),
    lambda x: seq(store(X, x, 0), store(Y, x, 1)),
    lambda x: loop(3, lambda i: store(Y, x, i)),
    lambda x: loop(3, lambda i: store(X, x + i, i)),
    lambda x: loop(x, lambda i: store(X, 4, i)),
    lambda x: If(x > 0, store(X, 0, 0), store(Y, x, 0)),
    lambda x: store(Y, x * BIG, 0),
    lambda x: store(X, 9, 5),
    lambda x: local(lambda t: seq(store(t, x, 0), store(X, load(t, 0), 1)), 3),
    lambda x: Assume(x > 0),
    lambda x: LetStmt(y := Var.fresh("y"), x + 1, seq(store(X, y, 0), store(Y, x, 0))),
)


def _inlined(extent: int, value: int, a: int, b: int) -> Made:
    v, x = Var.fresh("i"), Var.fresh("x")
    from verified_tir.ir.stmt import For

    what = VALUES[value](v)
    body = LetStmt(x, what, seq(USES[a](x), USES[b](x)))  # ill-typed where the value is a bool
    func = integers(For(v, const(0), (const(3), n)[extent], body))
    return func, [Inline((0,))]


BEFORE: tuple[Maker | None, ...] = (None, *EVENTS)
_pairs = tuple(itertools.product((None, *FLOAT_EVENTS), repeat=2))

FAMILIES = (
    Family("facts", (BEFORE, BEFORE, EVENTS, QUESTIONS), asked),
    Family("facts inside", (EVENTS, (None, load(Y, 1) > 0, load(X, 0) > 0), EVENTS, EVENTS, QUESTIONS), asked_inside),
    Family("stores", (BEFORE, EVENTS, (0, 1, 2), NUMBERS, EVENTS), stored_again),
    Family("float stores", ((None, *FLOAT_EVENTS), (None, *FLOAT_EVENTS), FLOAT_VALUES, (0, 1)), _float_stored),
    Family("float values", ((None, *FLOAT_EVENTS), (None, *FLOAT_EVENTS), FLOAT_VALUES, FLOAT_VALUES), _float_replaced),
    Family("values", (BEFORE, (0, 1, 2), (*range(COUNT),), (*range(COUNT),), (*range(len(AROUND)),)), _replaced),
    Family("conditions", (BEFORE, (*range(len(CONDITIONS)),), (*range(len(CONDITIONS)),), (0, 1)), _conditions),
    Family("names", ((0, 1, 2), WORDS, WORDS, (*range(len(VALUES)),)), _named),
    Family("names gone", ((0, 1), (*range(len(VALUES)),), (*range(len(USES)),), (*range(len(USES)),)), _inlined),
)
