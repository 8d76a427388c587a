"""A grammar for reductions: nests around one update, in groups that fit or nearly do, and in another order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.rules.building import function, load, store
from tests.rules.family import Family
from tests.rules.pool import EXTENTS, F, G, X, Y, floats, integers, n, plus
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Binary, Expr, IfThenElse, Undef, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import For, If, Stmt, Store, seq
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.rules.reassociate import Reassociate
from verified_tir.kernel.theorem import Rule
from verified_tir.schedule import moves
from verified_tir.schedule.moves import NewLoop
from verified_tir.schedule.rule_builders import RuleBuilder

Of = Callable[[Expr, Expr], Expr]
"""Of the two loops' variables."""
Made = tuple[PrimFunc, Sequence[Rule | RuleBuilder]]

SECOND: tuple[Callable[[Expr], Expr] | None, ...] = (None, lambda i: const(2), lambda i: i, lambda i: n)
"""Extents of an inner loop."""
GUARDS: tuple[Of | None, ...] = (
    None,
    lambda i, j: binary("lt", i, 1),
    lambda i, j: load(X, i) > 0,
    lambda i, j: load(Y, 0) > 0,
    lambda i, j: binary("lt", plus(i, j), n),
)
TARGETS: tuple[Of, ...] = (
    lambda i, j: const(0),
    lambda i, j: i,
    lambda i, j: j,
    lambda i, j: i % 2,
    lambda i, j: load(X, i),
    lambda i, j: load(X, 0) % 3,
)
TERMS: tuple[Of, ...] = (
    lambda i, j: load(X, i),
    lambda i, j: load(X, plus(i, j)),
    plus,
    lambda i, j: load(X, i) + load(Y, 1),
    lambda i, j: load(X, i) * n,
    lambda i, j: 7 // load(X, i),
    lambda i, j: Undef(X.dtype),
)
OPS = ("add", "mul", "min", "max", "bitxor", "sub")


def groups(
    path: tuple[int, ...], update: Store, i: Expr, j: Expr, sizes: tuple[Expr | int, ...]
) -> list[Rule | RuleBuilder]:
    """Splits into groups: by a loop's variable, by memory; for one element, and for each of several."""
    x, dtype = update.indices[0], update.buffer.dtype
    count = update.buffer.shape[0]
    found: list[Rule | RuleBuilder] = []

    def group(shape: tuple[Expr | int, ...], index: tuple[Expr, ...], element: Callable[..., Expr] | None) -> None:
        inputs = tuple(Var.fresh(f"y{k}") for k in range(len(shape))) if element is not None else ()
        of = (element(*inputs),) if element is not None else ()
        found.append(Reassociate(path, Buffer.declare("P", shape, dtype), index, inputs, of))

    for size in sizes:
        group((size,), (i,), None)
        group((size, count), (i, x), lambda a, b: b)
    group((2,), (i % 2,), None)
    group((2,), (7 // (i - 1) % 2,), None)
    if dtype.is_int:
        group((2,), (load(X, i) % 2,), None)
    group((count, 2), (x, plus(i, j) % 2), lambda a, b: a)
    group((count,), (x,), lambda a: a)
    group((count,), (plus(x, 1),), lambda a: a - 1)
    group((count, 2), (x, i % 2), lambda a, b: b)
    group((2, 2), (i % 2, x), lambda a, b: b)
    group((2, plus(count, 1)), (i % 2, x), lambda a, b: b)
    return found


def other_orders(path: tuple[int, ...], loops: list[For]) -> list[Rule | RuleBuilder]:
    """The outer loop backwards; two loops exchanged."""
    outer = loops[0]
    r, last = Var.fresh("r"), outer.min + outer.min + outer.extent - 1
    back = moves.reindex(path, 1, (NewLoop(r, outer.min, outer.extent),), (), (last - r,), (last - outer.var,))
    found: list[Rule | RuleBuilder] = [moves.in_any_order(back)]
    if len(loops) == 2:
        inner = loops[1]
        a, b = Var.fresh("a"), Var.fresh("b")
        news = (NewLoop(b, inner.min, inner.extent), NewLoop(a, outer.min, outer.extent))
        found.append(moves.in_any_order(moves.reindex(path, 2, news, (), (a, b), (inner.var, outer.var))))
    return found


def nest(bounds: int, second: int, guard: Of | None, update: Callable[[Expr, Expr], Store]) -> tuple[Stmt, list[For]]:
    """The nest and its loops."""
    low, extent = EXTENTS[bounds]()
    i, j = Var.fresh("i"), Var.fresh("j")
    inner = SECOND[second]
    jj: Expr = j if inner is not None else const(0)
    stmt: Stmt = update(i, jj)
    if guard is not None:
        stmt = If(guard(i, jj), stmt)
    loops: list[For] = []
    if inner is not None:
        stmt = For(j, const(0), inner(i), stmt)
        loops.append(stmt)
    whole = For(i, low, extent, stmt)
    return whole, [whole, *loops]


def _reduced(bounds: int, second: int, guard: int, op: str, left: int, target: int, term: int, before: int) -> Made:
    made: list[tuple[Store, Expr, Expr]] = []

    def update(i: Expr, j: Expr) -> Store:
        x, e = TARGETS[target](i, j), TERMS[term](i, j)
        own = load(Y, x)
        value = Binary(op, own, e) if left else Binary(op, e, own)  # type: ignore[arg-type]
        made.append((store(Y, value, x), i, j))
        return made[0][0]

    whole, loops = nest(bounds, second, GUARDS[guard], update)
    ((stored, i, j),) = made
    body, path = (whole, ()) if not before else (seq(store(Y, 0, 0), whole, store(X, load(Y, 0), 1)), (1,))
    return integers(body), [*groups(path, stored, i, j, (3, n, n // 2 - 1)), *other_orders(path, loops)]


def number(value: float) -> Expr:
    """A float32."""
    return const(value, F.dtype)


FLOAT_TERMS: tuple[Callable[[Expr], Expr], ...] = (
    lambda i: load(F, i),
    lambda i: binary("max", load(F, i), 0.0),
    lambda i: binary("min", load(F, i), -1.0),
    lambda i: number(-0.0),
    lambda i: number(2.5),
    lambda i: number(float("nan")),
    lambda i: IfThenElse(binary("lt", i, 1), number(float("nan")), number(1.0)),
    lambda i: IfThenElse(binary("lt", i, 1), number(1e8), load(F, i)),
    lambda i: load(F, i) + load(G, 1),
)
STARTS: tuple[Callable[[], Stmt] | None, ...] = (
    None,
    lambda: store(G, float("-inf"), 0),
    lambda: store(G, float("inf"), 0),
    lambda: store(G, 0.0, 0),
    lambda: store(G, -0.0, 0),
    lambda: store(G, load(F, 0), 0),
    lambda: store(G, binary("max", load(F, 0), 0.0), 0),
)


def _reduced_floats(extent: int, op: str, left: int, term: int, start: int, target: int) -> Made:
    i = Var.fresh("i")
    x: Expr = const(0) if target == 0 else i % 2
    e, own = FLOAT_TERMS[term](i), load(G, x)
    update = store(G, Binary(op, own, e) if left else Binary(op, e, own), x)  # type: ignore[arg-type]
    whole = For(i, const(0), const(extent), update)
    first = STARTS[start]
    body, path = (whole, ()) if first is None else (seq(first(), whole), (1,))
    return floats(body), [*groups(path, update, i, const(0), (4,)), *other_orders(path, [whole])]


Q = Buffer.declare("Q", (4,), "bool")
R = Buffer.declare("R", (2,), "bool")
BOOL_TERMS: tuple[Callable[[Expr], Expr], ...] = (
    lambda i: load(Q, i),
    lambda i: load(X, i) > 0,
    lambda i: 7 // load(X, i) > 3,
    lambda i: Binary("and", load(X, i) > 0, 7 // load(X, i) > 3),
    lambda i: binary("lt", i, 2),
    lambda i: Undef(Q.dtype),
    lambda i: load(R, 1),
)


def _reduced_bools(extent: int, op: str, left: int, term: int, defined: int, target: int) -> Made:
    i = Var.fresh("i")
    x: Expr = const(0) if target == 0 else i % 2
    e, own = BOOL_TERMS[term](i), load(R, x)
    update = store(R, Binary(op, own, e) if left else Binary(op, e, own), x)  # type: ignore[arg-type]
    whole = For(i, const(0), const(extent), update)
    k, m = Var.fresh("k"), Var.fresh("l")
    fills = (For(k, const(0), const(4), store(Q, load(X, k) > 1, k)), For(m, const(0), const(4), store(X, m, m)))
    body = seq(*fills, whole) if defined else whole
    path = (2,) if defined else ()
    func = function([Q, R, X], body)
    return func, [*groups(path, update, i, const(0), (4,)), *other_orders(path, [whole])]


FAMILIES = (
    Family(
        "reduced",
        (
            (*range(len(EXTENTS)),),
            (*range(len(SECOND)),),
            (0, 0, 0, 1, 2, 3, 4),
            OPS,
            (1, 0),
            (*range(len(TARGETS)),),
            (*range(len(TERMS)),),
            (0, 1),
        ),
        _reduced,
        sizes=(0, 1, 2, 3),
        thin=4,
    ),
    Family(
        "float reductions",
        ((4, 1), ("max", "min", "add", "mul"), (1, 0), (*range(len(FLOAT_TERMS)),), (*range(len(STARTS)),), (0, 1)),
        _reduced_floats,
    ),
    Family(
        "bool reductions",
        ((4, 1, 0), ("and", "or", "bitand", "bitxor"), (1, 0), (*range(len(BOOL_TERMS)),), (0, 1), (0, 1)),
        _reduced_bools,
    ),
)
