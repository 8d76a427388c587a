"""Grammars for the rules about order: swap, fission, fusion, index-set splitting, single-trip loops, kinds."""

from __future__ import annotations

from collections.abc import Sequence

from tests.rules.building import load, made, of_kind
from tests.rules.family import Family
from tests.rules.pool import EXTENTS, GUARDED, INDIRECT, NESTED, STORES, WORDS, Word, X, Y, integers, n
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import For, ForKind, If, Stmt, seq
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.theorem import Rule
from verified_tir.schedule import moves
from verified_tir.schedule.rule_builders import RuleBuilder, in_a_loop, run_once

Made = tuple[PrimFunc, Sequence[Rule | RuleBuilder]]


def bounded(bounds: tuple[Expr, Expr], body: Stmt, var: Var, kind: ForKind = "serial") -> For:
    return For(var, *bounds, body, kind)


def pair(bounds: int, a: Word, b: Word, around: int) -> Made | None:
    """``for i: A; B``, or ``A; B`` alone, or under a condition: swapped and distributed."""
    if bounds < 0:
        body = seq(a(const(1)), b(const(1)))
        return (
            (integers(If(load(Y, 0) > 0, body)), [moves.fission((), 1)])
            if around
            else (integers(body), [moves.swap((), 0)])
        )
    i = Var.fresh("i")
    body = seq(a(i), b(i))
    loop = bounded(EXTENTS[bounds](), If(binary("lt", i, n), body) if around else body, i)
    inner = (0, 0) if around else (0,)
    rules: list[Rule | RuleBuilder] = [moves.swap(inner, 0)]
    return integers(loop), rules if around else [*rules, moves.fission((), 1)]


def two_loops(first: int, second: int, a: Word, b: Word, same: bool) -> Made:
    """Two loops one after the other: fused, joined."""
    i, j = Var.fresh("i"), Var.fresh("j")
    body = seq(bounded(EXTENTS[first](), a(i), i), bounded(EXTENTS[second](), (a if same else b)(j), j))
    return integers(body), [moves.fuse((), 0), moves.join_index_sets((), 0)]


def _neighbours(low: int, first: int, second: int, a: Word, gap: int) -> Made:
    """Two loops with one body, of which the second may start where the first ends."""
    starts: tuple[Expr, ...] = (const(0), const(1), n)
    extents: tuple[Expr, ...] = (const(1), const(2), const(0), const(-1), n, load(Y, 0), n - 1)
    i, j = Var.fresh("i"), Var.fresh("j")
    start, extent = starts[low], extents[first]
    body = seq(For(i, start, extent, a(i)), For(j, start + extent + gap, extents[second], a(j)))
    return integers(body), [moves.join_index_sets((), 0), moves.fuse((), 0)]


MIDDLES: tuple[Expr, ...] = (
    const(-1),
    const(0),
    const(1),
    const(2),
    const(3),
    n,
    n - 1,
    n // 2,
    binary("min", n, 2),
    binary("max", n, 1),
    load(Y, 0),
    load(X, 0),
)


def one_loop(bounds: int, a: Word, b: Word | None) -> Made:
    """One loop: partitioned everywhere, unrolled, wrapped."""
    i = Var.fresh("i")
    body = a(i) if b is None else seq(a(i), b(i))
    func = integers(bounded(EXTENTS[bounds](), body, i))
    return func, [
        *[moves.split_index_set((), m) for m in MIDDLES],
        made(run_once(()), func),
        in_a_loop((0,), Var.fresh("o")),
    ]


def _licensed(outer: int, bounds: int, a: Word, b: Word | None) -> Made:
    """A loop, perhaps inside another, made parallel, vectorized, bound to a thread."""
    i, o = Var.fresh("i"), Var.fresh("o")
    body = a(i) if b is None else seq(a(i), b(i))
    loop: Stmt = bounded(EXTENTS[bounds](), body, i)
    if outer:
        loop = bounded(EXTENTS[outer - 1](), loop, o)
    paths = [(), (0,)] if outer else [()]
    func = integers(loop)
    rules: list[Rule | RuleBuilder] = [of_kind(func, p, "parallel") for p in paths]
    rules += [of_kind(func, paths[-1], "vectorized"), of_kind(func, paths[-1], "thread_binding", "threadIdx.x")]
    return func, rules


FAMILIES = (
    Family("pair", ((*range(-1, len(EXTENTS)),), WORDS, WORDS, (0, 1)), pair),
    Family("two loops", ((*range(len(EXTENTS)),), (0, 1, 2, 6, 7, 8), WORDS, WORDS, (False, False, True)), two_loops),
    Family("neighbours", ((0, 1, 2), (*range(7),), (*range(7),), WORDS, (0, 0, 1, -1)), _neighbours),
    Family("one loop", ((*range(len(EXTENTS)),), WORDS, (None, *STORES, *INDIRECT, *GUARDED)), one_loop),
    Family("marked loops", ((0, 1, 2, 8, 9), (*range(len(EXTENTS)),), WORDS, (None, *STORES, *NESTED)), _licensed),
)
