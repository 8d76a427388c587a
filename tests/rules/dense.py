"""Small grammars aimed at single questions, so that a few hundred programs cover them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.rules.building import load, store
from tests.rules.family import Family
from tests.rules.pool import STORES, F, G, Word, X, Y, floats, integers, local, loop, n, plus, view
from verified_tir.ir.expr import Expr, FloatImm, IfThenElse, Undef, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import SKIP, Assume, For, If, Stmt, seq
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.theorem import Rule
from verified_tir.schedule import moves
from verified_tir.schedule.rule_builders import RuleBuilder

Made = tuple[PrimFunc, Sequence[Rule | RuleBuilder]]
Maker = Callable[[], Stmt]

# -------------------------------------------------------------------------------------------------------- invariants

STARTS: tuple[Maker, ...] = (
    lambda: SKIP,
    lambda: store(X, 1, 1),
    lambda: Assume(load(X, 1) >= 0),
    lambda: loop(3, lambda i: store(X, i, i)),
    lambda: store(X, Undef(X.dtype), 1),
    lambda: view(lambda v: store(v, 2, 0, 1)),
)
STEPS: tuple[Word, ...] = (
    lambda i: store(X, load(X, 1) + 1, 1),
    lambda i: store(X, i, i),
    lambda i: store(X, i - 1, i),
    lambda i: store(X, load(Y, i), i),
    lambda i: store(X, 0 - load(X, 1), 1),
    lambda i: store(X, 2 * load(X, i), i),
    lambda i: store(X, load(X, plus(i, 1)), i),
    lambda i: If(load(Y, i) > 0, store(X, load(Y, i), i), store(X, 0 - load(Y, i), i)),
    lambda i: store(X, IfThenElse(load(X, i) > 0, load(X, i), const(0)), i),
    lambda i: view(lambda v: store(v, -1, 0, i)),
    lambda i: local(lambda t: seq(store(t, load(X, 1), 0), store(X, load(t, 0), 1))),
    lambda i: store(Y, 0, i),
    lambda i: SKIP,
)
ASKED: tuple[Expr, ...] = (load(X, 1) >= 0, load(X, 1).equal(1), load(X, 0) >= 0, load(X, 2).equal(2))


def _kept(start: int, a: Word, b: Word, extent: int, question: Expr, inside: bool) -> Made:
    """A property true before a loop: is it true in it, and after it?"""
    branch = If(question, store(Y, 5, 3), store(Y, 6, 3))
    count = (const(2), n)[extent]
    if inside:
        body = seq(STARTS[start](), loop(count, lambda i: seq(a(i), branch, b(i))))
        path: tuple[int, ...] = (1, 0, 1)
    else:
        body = seq(STARTS[start](), loop(count, lambda i: seq(a(i), b(i))), branch)
        path = (2,)
    if start == 0:
        path = (path[0] - 1, *path[1:])
    return integers(body), [moves.decide(_without_skips(path, a, inside), v) for v in (True, False)]


def _without_skips(path: tuple[int, ...], a: Word, inside: bool) -> tuple[int, ...]:
    """An empty statement takes no place in a sequence."""
    if inside and a(const(0)) is SKIP:
        return (*path[:-1], path[-1] - 1)
    return path


ZERO, MINUS, ONE = (FloatImm(F.dtype, v) for v in (0.0, -0.0, 1.0))
FLOAT_STARTS: tuple[Maker, ...] = (
    lambda: store(F, ZERO, 0),
    lambda: store(F, MINUS, 0),
    lambda: store(F, ONE, 0),
    lambda: Assume(load(F, 0).equal(ZERO)),
    lambda: loop(3, lambda i: store(F, ZERO, i)),
    lambda: SKIP,
)
FLOAT_STEPS: tuple[Word, ...] = (
    lambda i: store(F, load(F, 0) + load(G, i), 0),
    lambda i: store(F, load(F, i) + load(G, i), i),
    lambda i: store(F, load(F, 0) * load(G, i), 0),
    lambda i: store(F, load(F, 0) - load(G, i), 0),
    lambda i: store(F, load(F, 0) + ZERO, i),
    lambda i: store(F, load(G, i), i),
    lambda i: store(F, MINUS, i),
    lambda i: If(load(G, i) > ZERO, store(F, load(G, i), i)),
    lambda i: store(F, load(F, plus(i, 1)), i),
    lambda i: SKIP,
)


def _kept_float(start: Maker, a: Word, b: Word, place: int) -> Made:
    """``F[0] = F[0] + 0.0`` is the identity where F[0] is never -0.0: inserted in the loop or after it."""
    func = floats(seq(start(), loop(3, lambda i: seq(a(i), store(G, ONE, 3), b(i))), store(G, ZERO, 2)))
    loop_at = 0 if start() is SKIP else 1
    marker = 0 if a(const(0)) is SKIP else 1
    path = ((loop_at, 0, marker), (loop_at + 1,))[place]
    add = store(F, load(F, 0) + ZERO, 0)
    return func, [Insert(path, add), Insert(path, store(F, ZERO, 0)), Insert(path, store(F, load(F, 0) * ONE, 0))]


# --------------------------------------------------------------------------------------------------- bounds and facts


def _bounded(bound: int, a: Word, question: int, guard: bool) -> Made:
    """Inside a loop whose bounds were read before its body changed what they read."""
    i = Var.fresh("i")
    low, extent = (
        (const(0), load(X, 0)),
        (load(X, 1), const(2)),
        (const(0), load(Y, 0)),
        (const(0), n),
        (const(0), binary("min", load(X, 0), 3)),
    )[bound]
    asked = (
        binary("lt", i, load(X, 0)),
        binary("ge", i, load(X, 1)),
        load(X, 0) > 0,
        binary("lt", i, load(Y, 0)),
        binary("lt", i, n),
    )[question]
    branch = If(asked, store(Y, 5, 3), store(Y, 6, 3))
    body = seq(branch, If(load(Y, 1) > 0, a(i)) if guard else a(i))
    return integers(For(i, low, extent, body)), [moves.decide((0, 0), True), moves.decide((0, 0), False)]


# -------------------------------------------------------------------------------------------------------- dead stores

MADE: tuple[Maker, ...] = (
    lambda: store(X, 9, 0),
    lambda: loop(3, lambda i: store(X, 9, i)),
    lambda: loop(3, lambda i: store(X, i, 2 - i)),
    lambda: store(X, 9, load(Y, 0)),
    lambda: If(load(Y, 0) > 0, store(X, 9, 0)),
    lambda: seq(store(X, 9, 0), store(X, load(X, 0), 1)),
    lambda: view(lambda v: store(v, 9, 0, 0)),
)
MIDDLE: tuple[Maker, ...] = (
    lambda: SKIP,
    lambda: store(Y, load(X, 0), 0),
    lambda: store(Y, load(X, 3), 0),
    lambda: store(Y, 1, 0),
    lambda: store(Y, load(X, load(Y, 1)), 0),
    lambda: If(load(X, 0) > 3, store(Y, 2, 0)),
    lambda: loop(2, lambda i: store(Y, load(X, plus(i, 1)), i)),
    lambda: Assume(load(X, 0) >= 0),
)
KILLERS: tuple[Maker, ...] = (
    lambda: store(X, 1, 0),
    lambda: store(X, load(X, 0) + 1, 0),
    lambda: store(X, load(X, 1), 0),
    lambda: loop(3, lambda i: store(X, 1, i)),
    lambda: loop(n, lambda i: store(X, 1, i)),
    lambda: loop(3, lambda i: store(X, load(X, plus(i, 1)), i)),
    lambda: loop(3, lambda i: If(load(Y, i) > 0, store(X, 1, i))),
    lambda: loop(3, lambda i: If(load(Y, i) > 0, store(X, 1, i), store(X, 2, i))),
    lambda: store(X, 1, load(Y, 0)),
    lambda: If(load(Y, 0) > 0, store(X, 1, 0)),
    lambda: view(lambda v: loop(3, lambda i: store(v, 1, 0, i))),
    lambda: loop(2, lambda i: loop(2, lambda j: store(X, 1, 2 * i + j), name="j")),
)


def _dead(a: Maker, b: Maker, c: Maker, around: bool) -> Made:
    """A store that a later statement overwrites: erased, or put there."""
    between = [s for s in (b(),) if s is not SKIP]
    rest = [*between, c(), store(Y, load(X, 0), 1)]
    count = len(between) + 1
    first = a()
    width = len(first.stmts) if hasattr(first, "stmts") else 1

    def func(*parts: Stmt) -> PrimFunc:
        return integers(loop(2, lambda i: seq(*parts)) if around else seq(*parts))

    base: tuple[int, ...] = (0,) if around else ()
    with_first, without = func(a(), *rest), func(*rest)
    if width > 1:
        return with_first, [Erase((*base, 0), overwritten_by=count + 1), Erase((*base, 1), overwritten_by=count)]
    if around:
        return with_first, [Erase((*base, 0), overwritten_by=count), Erase((*base, 0))]
    return without, [
        Insert((0,), a(), overwritten_by=count),
        Insert((0,), a(), overwritten_by=count + 1),
        Insert((0,), a()),
    ]


# -------------------------------------------------------------------------------------------------- moved conditions

KNOWN: tuple[Maker, ...] = (lambda: SKIP, lambda: seq(Assume(load(X, 0) >= 0), Assume(load(Y, 0) >= 0)))
TESTS: tuple[Expr, ...] = (
    load(X, 0) > 0,
    load(Y, 0) > 0,
    binary("gt", n, 0),
    binary("gt", 4 // n, 1),
    load(X, n - 1) > 0,
)
RANGES: tuple[tuple[Expr, Expr], ...] = (
    (const(0), const(2)),
    (const(0), n),
    (const(0), const(0)),
    (const(0), 4 // n),
    (const(0), load(Y, 0)),
    (const(0), load(X, n - 1)),
    (load(X, 0), const(1)),
    (const(2**31 - 3), n),
)
MOVED: tuple[Word, ...] = (
    *STORES[:8],
    lambda i: store(X, 0, 0),
    lambda i: store(Y, 0, 0),
    lambda i: seq(store(Y, 3, 1), store(X, 0, 0)),
    lambda i: store(X, load(X, 0) - 1, 0),
    lambda i: store(Y, 3, 1),
)


def _moved(known: Maker, test: int, bounds: int, a: Word, out: bool) -> Made:
    """A condition taken out of a loop, or into one."""
    i = Var.fresh("i")
    low, extent = RANGES[bounds]
    before = known()
    inner: Stmt = For(i, low, extent, If(TESTS[test], a(i))) if out else If(TESTS[test], For(i, low, extent, a(i)))
    path: tuple[int, ...] = () if before is SKIP else (2,)
    return integers(seq(before, inner)), [moves.hoist(path) if out else moves.sink(path)]


FAMILIES = (
    Family("invariants", ((*range(len(STARTS)),), STEPS, STEPS, (0, 1), ASKED, (False, True)), _kept),
    Family("float invariants", (FLOAT_STARTS, FLOAT_STEPS, FLOAT_STEPS, (0, 1)), _kept_float),
    Family("bounds read", ((*range(5),), STEPS, (*range(5),), (False, True)), _bounded),
    Family("dead stores", (MADE, MIDDLE, KILLERS, (False, True)), _dead),
    Family("moved conditions", (KNOWN, (*range(len(TESTS)),), (*range(len(RANGES)),), MOVED, (False, True)), _moved),
)
