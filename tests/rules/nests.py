"""Grammars for reindex: nests of one and two loops with guards, under maps that are right and maps that are wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.rules.building import load, store
from tests.rules.family import Family
from tests.rules.pool import CLAIMS, GUARDED, INDIRECT, NESTED, STORES, X, Y, integers, n
from verified_tir.ir.expr import Binary, Expr, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import For, If, Stmt, seq
from verified_tir.ir.sugar import all_of, binary, const
from verified_tir.kernel.theorem import Rule
from verified_tir.schedule import moves
from verified_tir.schedule.moves import NewLoop
from verified_tir.schedule.rule_builders import RuleBuilder

Made = tuple[PrimFunc, Sequence[Rule | RuleBuilder]]

# ------------------------------------------------------------------------------------------------------ one loop

SINGLE_BOUNDS: tuple[tuple[Expr, Expr], ...] = tuple(
    (const(low), const(extent)) for low, extent in ((0, 3), (0, 4), (1, 2), (0, n), (1, n), (0, 0), (0, -2), (n, 2))
)
ONE: tuple[Callable[[Var], Stmt], ...] = (*STORES, *INDIRECT, *GUARDED, *NESTED, *CLAIMS)


def _fresh(*names: str) -> list[Var]:
    return [Var.fresh(name) for name in names]


def _new(v: Var, extent: Expr | int, low: Expr | int = 0) -> NewLoop:
    return NewLoop(v, const(low), const(extent))


def _single_maps(i: Var, low: Expr, extent: Expr, depth: int) -> list[Rule | RuleBuilder]:
    """Reversal, shift, splits, guards; each beside something that is not quite it."""
    p, q = _fresh("p", "q")
    high = low + extent
    rules: list[Rule | RuleBuilder] = [
        moves.reindex((), depth, (_new(p, extent, low),), (), (p,), (i,)),
        moves.reindex((), depth, (_new(p, extent, low),), (), (low + (high - 1 - p),), (low + (high - 1 - i),)),
        moves.reindex((), depth, (_new(p, extent),), (), (low + p,), (i - low,)),
        moves.reindex((), depth, (_new(p, extent),), (), (p,), (i,)),  # wrong unless it starts at 0
        moves.reindex((), depth, (_new(p, extent, low + 1),), (), (p - 1,), (i + 1,)),
        moves.reindex((), depth, (_new(p, 4, low),), (binary("lt", p, high),), (p,), (i,)),
        moves.reindex((), depth, (_new(p, 4, low),), (), (p,), (i,)),
        moves.reindex((), depth, (_new(p, extent * 2, low * 2),), (binary("eq", p % 2, 0),), (p // 2,), (i * 2,)),
        moves.reindex((), depth, (_new(p, extent * 2, low * 2),), (), (p // 2,), (i * 2,)),
    ]
    for count in ((extent + 1) // 2, extent // 2, const(2)):
        inside = binary("lt", p * 2 + q, extent)
        for guards in ((inside,), ()):
            rules.append(
                moves.reindex(
                    (),
                    depth,
                    (_new(p, count), _new(q, 2)),
                    guards,
                    (low + (p * 2 + q),),
                    ((i - low) // 2, (i - low) % 2),
                )
            )
        rules.append(
            moves.reindex(
                (),
                depth,
                (_new(q, 2), _new(p, count)),
                (inside,),
                (low + (p * 2 + q),),
                ((i - low) % 2, (i - low) // 2),
            )
        )
    return rules


def _single(bounds: int, guard: int, a: Callable[[Var], Stmt], b: Callable[[Var], Stmt] | None) -> Made:
    i = Var.fresh("i")
    low, extent = SINGLE_BOUNDS[bounds]
    body = a(i) if b is None else seq(a(i), b(i))
    conditions = (None, binary("lt", i, 2), binary("ge", i, n), load(X, 0) > 0, load(Y, i % 4) > 0)
    condition = conditions[guard]
    if condition is not None:
        body = If(condition, body)
    func = integers(For(i, low, extent, body))
    rules = _single_maps(i, low, extent, 1)
    if condition is not None:
        rules += _with_guard(i, low, extent, condition)
    return func, rules


def _with_guard(i: Var, low: Expr, extent: Expr, condition: Expr) -> list[Rule | RuleBuilder]:
    """The guard is part of the nest: kept, dropped, weakened, and used to shorten the loop."""
    from verified_tir.ir.visit import substitute

    p = Var.fresh("p")
    kept = substitute(condition, {i: p})
    shorter = (binary("min", extent, 2 - low), binary("min", extent, n))
    return [
        moves.reindex((), 2, (_new(p, extent, low),), (kept,), (p,), (i,)),
        moves.reindex((), 2, (_new(p, extent, low),), (), (p,), (i,)),
        *[moves.reindex((), 2, (_new(p, e, low),), (), (p,), (i,)) for e in shorter],
        moves.reindex(
            (), 2, (_new(p, extent, low),), (kept,), (low + (low + extent - 1 - p),), (low + (low + extent - 1 - i),)
        ),
    ]


# ------------------------------------------------------------------------------------------------------ two loops

Two = Callable[[Expr, Expr], Stmt]

DOUBLE: tuple[Two, ...] = (
    lambda i, j: store(X, i, j),
    lambda i, j: store(X, j, i),
    lambda i, j: store(X, load(X, i) + 1, j),
    lambda i, j: store(X, load(X, j) + 1, i),
    lambda i, j: store(X, 7, i + j),
    lambda i, j: store(X, i * 3 + j, i + j),
    lambda i, j: store(X, load(X, i + j) + 1, i + j),
    lambda i, j: store(X, load(X, i + j) + 1, 2 * i + j),
    lambda i, j: store(X, load(X, i + j + 1), i + j),
    lambda i, j: store(X, load(X, 2 - i + j), i + j),
    lambda i, j: store(X, load(X, 0) * 2 + j, 0),
    lambda i, j: store(Y, load(X, i + j), i),
    lambda i, j: store(X, j, load(Y, i)),
    lambda i, j: If(binary("lt", j, i), store(X, i, j)),
    lambda i, j: If(load(X, j) > 0, store(X, load(X, j) - 1, i)),
    lambda i, j: If(i.equal(j), store(X, load(X, 0) + 1, 0)),
    lambda i, j: seq(store(X, i, j), store(Y, load(X, j), i)),
    lambda i, j: seq(store(X, load(X, i) + j, i), store(Y, load(Y, j) * 2, j)),
)
OUTER: tuple[tuple[Expr, Expr], ...] = tuple((const(a), const(b)) for a, b in ((0, 2), (0, 3), (0, n), (1, 2), (0, 0)))
INNER: tuple[Callable[[Var], tuple[Expr, Expr]], ...] = (
    lambda i: (const(0), const(2)),
    lambda i: (const(0), n),
    lambda i: (const(0), i),
    lambda i: (const(0), i + 1),
    lambda i: (i, const(2)),
    lambda i: (const(0), 2 - i),
    lambda i: (const(0), load(Y, i)),
    lambda i: (const(0), const(1)),
    lambda i: (const(0), load(X, 0)),
)


def _double(outer: int, inner: int, guard: int, body: Two) -> Made:
    i, j = _fresh("i", "j")
    low, count = OUTER[outer]
    start, extent = INNER[inner](i)
    guards = (None, binary("lt", i + j, 3), binary("le", i, j), load(Y, j % 4) > 0)
    condition = guards[guard]
    stmt = body(i, j)
    if condition is not None:
        stmt = If(condition, stmt)
    func = integers(For(i, low, count, For(j, start, extent, stmt)))
    return func, [*_interchanges(i, j, (low, count), (start, extent)), *_collapses(i, j, (low, count), (start, extent))]


def _between(known: int, outer: int, condition: int, inner: int, body: Two | None) -> Made:
    """A guard between two loops: the new guard is the innermost.  What it reads is known to be defined, or not."""
    i, j = _fresh("i", "j")
    low, count = OUTER[outer]
    start, extent = INNER[inner](i)
    c = (load(X, 0) > 0, load(Y, i) > 0, binary("lt", i, n), load(X, i) > 0)[condition]
    stmt = store(X, 0, 0) if body is None else body(i, j)
    nest = For(i, low, count, If(c, For(j, start, extent, stmt)))
    func = integers(seq(store(X, 1, 0), store(X, 1, 1), nest) if known else nest)
    path = (2,) if known else ()
    p, q = _fresh("p", "q")
    (start_p, extent_p), guard = _at((start, extent), i, p), _renamed(c, {i: p})
    ahead, swapped = _renamed(extent, {i: p}), _renamed(c, {i: q})
    return func, [
        moves.reindex(path, 3, (_new(p, count, low), _new(q, extent_p, start_p)), (guard,), (p, q), (i, j)),
        moves.reindex(path, 3, (_new(p, count, low), _new(q, extent_p, start_p)), (), (p, q), (i, j)),
        moves.reindex(path, 3, (_new(p, ahead, start_p), _new(q, count, low)), (swapped,), (q, p), (j, i)),
        moves.reindex((*path, 0), 2, (_new(q, extent, start),), (c,), (q,), (j,)),
    ]


Bounds = tuple[Expr, Expr]


def _interchanges(i: Var, j: Var, outer: Bounds, inner: Bounds) -> list[Rule | RuleBuilder]:
    """Permutations, reversals, skews, right or wrong as the bounds are."""
    (low, count), (start, extent) = outer, inner
    p, q = _fresh("p", "q")
    (start_p, extent_p) = _at(inner, i, p)
    back = start_p + (start_p + extent_p - 1 - q)
    rules: list[Rule | RuleBuilder] = [
        moves.reindex((), 2, (_new(p, count, low), _new(q, extent_p, start_p)), (), (p, q), (i, j)),
        moves.reindex(
            (),
            2,
            (_new(p, count, low), _new(q, extent_p, start_p)),
            (),
            (p, back),
            (i, start + (start + extent - 1 - j)),
        ),
        moves.reindex((), 2, (_new(p, count, low), _new(q, extent_p, start_p + p)), (), (p, q - p), (i, j + i)),
        moves.reindex((), 2, (_new(p, count, low), _new(q, extent_p, start_p)), (), (p, q), (j, i)),
    ]
    for wide, guarded in ((extent, False), (const(3), True), (const(2), True)):
        s, t = _fresh("s", "t")
        where = (binary("le", start_p, q), binary("lt", q, start_p + extent_p))
        guards = tuple(_renamed(g, {p: t, q: s}) for g in where) if guarded else ()
        base = const(0) if guarded else start
        rules.append(moves.reindex((), 2, (_new(s, wide, base), _new(t, count, low)), guards, (t, s), (j, i)))
    s, t = _fresh("s", "t")  # triangles the other way round
    rules.append(moves.reindex((), 2, (_new(s, count, low), _new(t, count - s, s)), (), (t, s), (j, i)))
    rules.append(moves.reindex((), 2, (_new(s, count - 1, low), _new(t, count - s - 1, s + 1)), (), (t, s), (j, i)))
    return rules


def _collapses(i: Var, j: Var, outer: Bounds, inner: Bounds) -> list[Rule | RuleBuilder]:
    """Both loops into one."""
    (low, count), (start, extent) = outer, inner
    p = Var.fresh("p")
    there = (low + p // extent, start + p % extent)
    back = (i - low) * extent + (j - start)
    rules: list[Rule | RuleBuilder] = [
        moves.reindex((), 2, (_new(p, count * extent),), (), there, (back,)),
        moves.reindex((), 2, (_new(p, count * extent),), (), (there[0], start + p), (back,)),
        moves.reindex(
            (),
            2,
            (_new(p, count * 2),),
            (binary("lt", start + p % 2, start + extent),),
            (low + p // 2, start + p % 2),
            ((i - low) * 2 + (j - start),),
        ),
        moves.reindex((), 2, (_new(p, count, low),), (), (p, p), (i,)),
        moves.reindex((), 2, (), (all_of([Binary("lt", low, low + count)]),), (low, start), ()),
    ]
    return rules


def _at(bounds: Bounds, old: Var, new: Var) -> Bounds:
    return _renamed(bounds[0], {old: new}), _renamed(bounds[1], {old: new})


def _renamed(e: Expr, mapping: dict[Var, Var]) -> Expr:
    from verified_tir.ir.visit import substitute

    return substitute(e, mapping)


_OUTER, _INNER = (*range(len(OUTER)),), (*range(len(INNER)),)
FAMILIES = (
    Family(
        "one-loop nests",
        ((*range(len(SINGLE_BOUNDS)),), (*range(5),), ONE, (None, *STORES, *INDIRECT)),
        _single,
        thin=5,
    ),
    Family("two-loop nests", (_OUTER, _INNER, (*range(4),), DOUBLE), _double, thin=4),
    Family("guards between", ((0, 1, 1), _OUTER, (*range(4),), _INNER, (None, *DOUBLE)), _between),
)
