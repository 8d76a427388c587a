"""A grammar for compaction: windows of a local buffer, moved onto a smaller one by maps that fit or nearly do."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.rules.building import load, store
from tests.rules.family import Family
from tests.rules.pool import X, Y, integers, loop, n
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import FALSE, Expr, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Allocate, For, If, Stmt, seq
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.rules.couple import Couple
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.theorem import Rule

Index = Callable[[Expr, Expr], Expr]
"""Of the outer loop's variable and the inner one's."""

PLACES: tuple[Index, ...] = (
    lambda i, j: 2 * i + j,
    lambda i, j: i + j,
    lambda i, j: j,
    lambda i, j: 2 * j,
    lambda i, j: 2 * i + 1 - j,
    lambda i, j: load(Y, j) % 4,
    lambda i, j: (i + j) % 2,
)
VALUES: tuple[Index, ...] = (lambda i, j: i + 2 * j, lambda i, j: load(X, j), lambda i, j: const(7))
GUARDS: tuple[Callable[[Expr, Expr, Stmt], Stmt], ...] = (
    lambda i, j, s: s,
    lambda i, j, s: If(binary("lt", j, 1), s),
    lambda i, j, s: If(load(Y, j) > 0, s),
)
IMAGES: tuple[tuple[Index, Index], ...] = (
    (lambda i, x: x - 2 * i, lambda i, y: y + 2 * i),
    (lambda i, x: x - i, lambda i, y: y + i),
    (lambda i, x: x % 2, lambda i, y: y),
    (lambda i, x: x % 2, lambda i, y: y + 2 * i),
    (lambda i, x: x % 3, lambda i, y: y),
    (lambda i, x: x // 2, lambda i, y: 2 * y),
    (lambda i, x: x * 1, lambda i, y: y),
    (lambda i, x: 2 * i + 1 - x, lambda i, y: 2 * i + 1 - y),
    (lambda i, x: x - n, lambda i, y: y + n),
    (lambda i, x: x // (x - 3), lambda i, y: y),
    (lambda i, x: x - i, lambda i, y: y),
)
"""Where an element goes, and where it would have come from."""
EXTENTS: tuple[Callable[[Expr], Expr], ...] = (
    lambda i: const(1),
    lambda i: const(2),
    lambda i: const(3),
    lambda i: i + 2,
    lambda i: n - i,
)


def _windows(
    outer: int, fill: int, guard: int, value: int, again: int, read: int
) -> tuple[PrimFunc, Sequence[Rule]] | None:
    i = Var.fresh("i")
    t = Buffer.declare("t", (8,), "int32")
    width = const(2)

    def filled(j: Var) -> Stmt:
        return GUARDS[guard](i, j, store(t, VALUES[value](i, j), PLACES[fill](i, j)))

    def used(j: Var) -> Stmt:
        return store(X, load(t, PLACES[read](i, j)), j + i)

    parts: list[Stmt] = [loop(width, filled, name="j"), loop(width, used, name="k")]
    if again:
        parts.insert(1, store(t, load(t, PLACES[again - 1](i, const(0))) + 1, PLACES[again - 1](i, const(1))))
    body = For(i, const(0), (const(2), n)[outer], Allocate(t, seq(*parts)))
    rules = []
    for image, back in IMAGES:
        for extent in EXTENTS:
            x, y = Var.fresh("x"), Var.fresh("y")
            layout = LayoutMap((x,), (image(i, x),), (y,), (back(i, y),), (extent(i),), FALSE)
            rules.append(Couple((0,), layout, "accessed"))
    return integers(body), rules


FAMILIES = (
    Family(
        "compaction",
        (
            (0, 1),
            (*range(len(PLACES)),),
            (*range(len(GUARDS)),),
            (*range(len(VALUES)),),
            (*range(3),),
            (*range(len(PLACES)),),
        ),
        _windows,
        thin=9,
    ),
)
