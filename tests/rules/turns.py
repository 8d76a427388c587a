"""Grammars for elements that share places in turn, and for statements that run again what ran before, and go."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.rules.again import FAMILIES as AGAIN
from tests.rules.building import load, store
from tests.rules.family import Family
from tests.rules.pool import X, Y, integers, loop, n, plus
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import FALSE, Expr, Ramp, Undef, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import Path, at
from verified_tir.ir.stmt import Allocate, For, If, Seq, Stmt, Store, While, seq
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.rules.couple import Couple
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.recompute import Eliminate, Recompute
from verified_tir.kernel.theorem import Rule

Made = tuple[PrimFunc, Sequence[Rule]]
Local = Callable[[Expr, Buffer], Stmt]

STORES: tuple[Local, ...] = (
    lambda i, t: store(t, load(Y, i), i),
    lambda i, t: store(t, load(Y, i), plus(i, 1)),
    lambda i, t: store(t, i, const(3) - i),
    lambda i, t: store(t, 5, load(Y, i) % 4),
    lambda i, t: If(load(Y, i) > 0, store(t, 1, i)),
    lambda i, t: seq(store(t, 0, i), loop(2, lambda k: store(t, load(t, i) + load(Y, k), i), name="k")),
    lambda i, t: store(t, load(t, i) + 1, plus(i, 1)),
    lambda i, t: loop(2, lambda k: store(t, load(Y, k), plus(i, k)), name="k"),
    lambda i, t: store(t, Undef(t.dtype), i),
    lambda i, t: Store(t, Ramp(load(Y, 0), const(1), 2), (Ramp(i, const(1), 2),)),
    lambda i, t: Store(t, Ramp(load(Y, 0), const(1), 2), (Ramp(i, const(2), 2),)),
)
LOADS: tuple[Local, ...] = (
    lambda i, t: store(X, load(t, i), i),
    lambda i, t: If(i > 0, store(X, load(t, i - 1) + load(t, i), i)),
    lambda i, t: If(i > 1, store(X, load(t, i - 2), i)),
    lambda i, t: store(X, load(t, plus(i, 1)), i),
    lambda i, t: If(i > 0, store(X, load(t, 0), i)),
    lambda i, t: store(X, load(t, load(Y, i) % 4), i),
    lambda i, t: loop(2, lambda k: store(X, load(t, plus(i, k)), k), name="k"),
    lambda i, t: If(load(t, i) > 1, store(X, 7, i)),
    lambda i, t: While(load(X, 0) > 0, seq(store(X, load(X, 0) - 1, 0), store(t, 4, 1), store(X, load(t, 0), 1))),
)
FOLDS: tuple[tuple[Callable[[Expr, Expr], Expr], int], ...] = (
    (lambda x, o: x % 2, 2),
    (lambda x, o: x % 3, 3),
    (lambda x, o: x // 2, 3),
    (lambda x, o: x * 0, 1),
    (lambda x, o: binary("max", x - 1, 0), 5),
    (lambda x, o: (x + o) % 3, 3),
    (lambda x, o: (x + load(Y, 0)) % 2, 2),
    (lambda x, o: x % 4, 3),
)


def _in_turn(stored: int, loaded: int, fold: int, order: int, around: int) -> Made:
    """A loop that fills a local buffer and reads it, whose elements are to share places."""
    t = Buffer.declare("t", (6,), "int32")
    o, x, y = Var.fresh("o"), Var.fresh("x"), Var.fresh("y")

    def body(i: Var) -> Stmt:
        words = (STORES[stored](i, t), LOADS[loaded](i, t))
        return seq(*(words if order % 2 == 0 else words[::-1]))

    inside: Stmt = loop(n if order == 2 else 4, body)
    if order == 3:
        inside = seq(loop(4, lambda i: STORES[stored](i, t)), loop(4, lambda i: LOADS[loaded](i, t), name="j"))
    if around == 2:
        inside = loop(2, lambda k: inside, name="r")
    whole: Stmt = Allocate(t, inside)
    image, extent = FOLDS[fold]
    layout = LayoutMap((x,), (image(x, o if around == 1 else const(0)),), (y,), (y,), (const(extent),), FALSE)
    if around != 1:
        return integers(whole), [Couple((), layout, "in turn")]
    return integers(For(o, const(0), const(2), whole)), [Couple((0,), layout, "in turn")]


def _eliminated(chosen: int, *repeated: object) -> Made | None:
    """The program in which a statement runs again, whether or not it changes something: may it go?"""
    found = AGAIN[0].build(*repeated)
    if found is None:
        return None
    func, rules = found[0], [r for r in found[1] if isinstance(r, Recompute)]
    rule = rules[chosen % len(rules)]
    again = rule.rewrite(func, Entry()).after
    places = _added(func, again, rule.path)
    return again, [Eliminate(p, r) for p in places for r in (rule, rules[(chosen + 1) % len(rules)])]


def _added(func: PrimFunc, again: PrimFunc, path: Path) -> list[Path]:
    """Where the recomputed statement stands, and what comes after it."""
    around = at(func.body, path[:-1]) if path else None
    if isinstance(around, Seq):
        return [path, (*path[:-1], path[-1] + 1)]
    try:
        return [(*path, k) for k in range(2) if at(again.body, (*path, k)) is not None]
    except IRError:
        return []


FAMILIES = (
    Family(
        "in turn",
        ((*range(len(STORES)),), (*range(len(LOADS)),), (*range(len(FOLDS)),), (0, 1, 2, 3), (0, 1, 2)),
        _in_turn,
        sizes=(0, 2, 4),
    ),
    Family("eliminated", ((*range(36),), *AGAIN[0].slots), _eliminated, sizes=(0, 1, 2)),
)
