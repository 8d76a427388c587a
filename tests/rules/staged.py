"""A grammar for staging: loops of small statements on a region of X, through copies that fit or nearly do."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.rules.building import load, store
from tests.rules.family import Family
from tests.rules.pool import GUARDED, INDIRECT, NESTED, STORES, VECTORS, Word, X, Y, integers, n, plus
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import FALSE, Binary, Expr, Not, Var
from verified_tir.ir.find import substitute_buffers
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Allocate, DeclBuffer, For, If, Stmt, seq
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.stage import Stage
from verified_tir.kernel.theorem import Rule

Map = Callable[[Expr, Expr], Expr]
"""Of the loop's variable and an index."""

REGIONS: tuple[tuple[Map, Map, Callable[[Expr], Expr], Callable[[Expr, Expr], Expr] | None], ...] = (
    (lambda i, x: x, lambda i, y: y, lambda i: const(4), None),
    (lambda i, x: x, lambda i, y: y, lambda i: const(6), None),
    (lambda i, x: x, lambda i, y: y, lambda i: n, None),
    (lambda i, x: x, lambda i, y: y, lambda i: const(8), None),
    (lambda i, x: x, lambda i, y: y, lambda i: const(8), lambda i, y: binary("lt", y, 4)),
    (lambda i, x: x - i, lambda i, y: plus(y, i), lambda i: const(1), None),
    (lambda i, x: x - i, lambda i, y: plus(y, i), lambda i: const(2), None),
    (lambda i, x: x - 1, lambda i, y: y + 1, lambda i: const(3), None),
    (lambda i, x: 3 - x, lambda i, y: 3 - y, lambda i: const(4), None),
    (lambda i, x: x % 2, lambda i, y: y, lambda i: const(2), None),
    (lambda i, x: x % 2, lambda i, y: y % 2, lambda i: const(4), None),
    (lambda i, x: x // 2, lambda i, y: y * 2, lambda i: const(2), None),
    (lambda i, x: x * 2, lambda i, y: y // 2, lambda i: const(8), None),
    (lambda i, x: x * 2, lambda i, y: y // 2, lambda i: const(8), lambda i, y: (y % 2).equal(0)),
    (lambda i, x: x, lambda i, y: y, lambda i: i + 1, None),
    (lambda i, x: x, lambda i, y: y, lambda i: n - 1, None),
    (lambda i, x: x * 0, lambda i, y: i, lambda i: const(1), None),
    (lambda i, x: x // (x - 3), lambda i, y: y, lambda i: const(2), None),
)
"""φ, its inverse, how many places there are, and which of them belong to the region (all, if nothing is said)."""


def _two_views(i: Expr) -> Stmt:
    v = Buffer.declare("V", (6,), "int32", data=X.data)
    return DeclBuffer(v, seq(store(X, 1, i), store(Y, load(v, i), i)))


def _view_besides(i: Expr) -> Stmt:
    v = Buffer.declare("V", (2,), "int32", data=X.data, elem_offset=4)
    return DeclBuffer(v, seq(store(X, load(X, i) + 1, i), store(v, 5, 1)))


EXTRA: tuple[Word, ...] = (
    _two_views,
    _view_besides,
    lambda i: seq(store(X, 1, i), store(Y, load(X, i), i)),
    lambda i: seq(store(X, 1, i), store(X, load(X, i) + load(Y, i), i)),
    lambda i: seq(store(Y, load(X, i), i), store(X, 2, plus(i, 3))),
    lambda i: seq(store(Y, load(X, i), i), store(X, 1, i)),
    lambda i: seq(store(Y, load(X, plus(i, 1)), i), store(X, 1, i), store(X, 1, plus(i, 1))),
    lambda i: seq(If(binary("lt", i, 1), store(X, 1, 0)), store(Y, load(X, 0), i)),
    lambda i: seq(If(binary("lt", i, 1), store(X, 1, 1)), store(Y, load(X, 0), i)),
    lambda i: If(Binary("and", i.equal(5), load(X, 7) > 0), store(Y, load(X, 9), i)),
)
WORDS: tuple[Word, ...] = (*STORES, *INDIRECT, *GUARDED, *NESTED, *VECTORS, *EXTRA)


def _staged(
    bounds: int, first: Word, second: Word | None, around: int, region: int, local: int
) -> tuple[PrimFunc, Sequence[Rule]]:
    i = Var.fresh("i")
    body = first(i) if second is None else seq(first(i), second(i))
    nest: Stmt = For(i, const(0), (const(2), n, const(4))[bounds], body)
    inner: Expr = i if around == 0 else const(0)
    if around == 2:
        nest = If(load(Y, 3) > 0, nest)
    path = ((0,), (), (0,))[around]
    buffer = X
    prefix: tuple[int, ...] = ()
    if local:  # a buffer that is undefined to begin with, and read in the end
        buffer, prefix = Buffer.declare("t", (6,), "int32"), (0, 0)

        nest = Allocate(buffer, seq(substitute_buffers(nest, {X: buffer}), store(X, load(buffer, 1), 1)))
    phi, inverse, extent, inside = REGIONS[region]
    rules: list[Rule] = []
    for copy_out in (False, True):
        x, y = Var.fresh("x"), Var.fresh("y")
        padding = FALSE if inside is None else Not(inside(inner, y))
        layout = LayoutMap((x,), (phi(inner, x),), (y,), (inverse(inner, y),), (extent(inner),), padding)
        rules.append(Stage((*prefix, *path), buffer, layout, "c", "local", copy_out))
    return integers(nest), rules


FAMILIES = (
    Family(
        "staged",
        ((0, 1, 2), WORDS, (None, *STORES[:12]), (0, 1, 2), (*range(len(REGIONS)),), (0, 0, 1)),
        _staged,
        sizes=(0, 1, 2, 3),
    ),
)
