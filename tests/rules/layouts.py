"""Grammars for couple and relayout: index maps that are right, and the same with one thing wrong; steps after them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tests.rules.building import function, load, store
from tests.rules.family import After, Chain, Family
from tests.rules.pool import GUARDED, INDIRECT, NESTED, STORES, VECTORS, X, Y, integers, loop, n, plus
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import FALSE, TRUE, Binary, Expr, Load, Not, Undef, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.stmt import Allocate, Assume, For, If, Stmt, Store, seq
from verified_tir.ir.sugar import binary, const
from verified_tir.ir.visit import rewrite, substitute
from verified_tir.kernel.rules.couple import Couple
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.relayout import Relayout
from verified_tir.kernel.theorem import Rule
from verified_tir.schedule import moves
from verified_tir.schedule.rule_builders import RuleBuilder

Made = tuple[PrimFunc, Sequence[Rule | RuleBuilder | Chain]]
One = Callable[[Expr], LayoutMap]


def made(
    rank: int,
    shape: Sequence[Expr | int],
    phi: Callable[..., Sequence[Expr]],
    back: Callable[..., Sequence[Expr]],
    padding: Callable[..., Expr] | None = None,
) -> LayoutMap:
    """A map from functions of its variables."""
    xs = tuple(Var.fresh(f"x{k}") for k in range(rank))
    ys = tuple(Var.fresh(f"y{k}") for k in range(len(shape)))
    return LayoutMap(
        xs, tuple(phi(*xs)), ys, tuple(back(*ys)), tuple(const(s) for s in shape), padding(*ys) if padding else FALSE
    )


FLAT: tuple[One, ...] = (
    lambda e: made(1, [e], lambda x: [x], lambda y: [y]),
    lambda e: made(1, [e], lambda x: [e - 1 - x], lambda y: [e - 1 - y]),
    lambda e: made(1, [e + 1], lambda x: [x], lambda y: [y], lambda y: binary("ge", y, e)),
    lambda e: made(
        1, [e + 2], lambda x: [x + 1], lambda y: [y - 1], lambda y: Binary("or", binary("lt", y, 1), binary("gt", y, e))
    ),
    lambda e: made(
        1,
        [(e + 1) // 2, 2],
        lambda x: [x // 2, x % 2],
        lambda a, b: [2 * a + b],
        lambda a, b: binary("ge", 2 * a + b, e),
    ),
    lambda e: made(
        1,
        [2, (e + 1) // 2],
        lambda x: [x % 2, x // 2],
        lambda b, a: [2 * a + b],
        lambda b, a: binary("ge", 2 * a + b, e),
    ),
    lambda e: made(1, [2, e], lambda x: [x * 0 + 1, x], lambda a, y: [y], lambda a, y: binary("eq", a, 0)),
    lambda e: made(1, [2 * e], lambda x: [2 * x], lambda y: [y // 2], lambda y: binary("eq", y % 2, 1)),
    lambda e: made(1, [e], lambda x: [(x + 1) % e], lambda y: [(y + e - 1) % e]),
    lambda e: made(1, [(e + 1) // 2], lambda x: [x // 2], lambda y: [2 * y]),  # not injective
    lambda e: made(1, [4], lambda x: [x], lambda y: [y], lambda y: binary("ge", y, e)),  # too small, perhaps
)


def _spoiled(m: LayoutMap, how: int) -> LayoutMap:
    """One thing wrong: the inverse, the predicate either way, the shape, the map."""
    ways: tuple[Callable[[], LayoutMap], ...] = (
        lambda: m,
        lambda: replace(m, inverse=tuple(e + 1 for e in m.inverse)),
        lambda: replace(m, padding=FALSE),
        lambda: replace(m, padding=TRUE),
        lambda: replace(m, shape=(m.shape[0] - 1, *m.shape[1:])),
        lambda: replace(m, shape=(*m.shape[:-1], m.shape[-1] + 1)),
        lambda: replace(m, outputs=(m.outputs[0] + 1, *m.outputs[1:])),
        lambda: replace(m, padding=Not(m.padding)),
    )
    return ways[how]()


GRID: tuple[Callable[[], LayoutMap], ...] = (
    lambda: made(2, [3, 2], lambda a, b: [b, a], lambda b, a: [a, b]),
    lambda: made(2, [6], lambda a, b: [a * 3 + b], lambda y: [y // 3, y % 3]),
    lambda: made(2, [6], lambda a, b: [b * 2 + a], lambda y: [y % 2, y // 2]),
    lambda: made(2, [6], lambda a, b: [a * 2 + b], lambda y: [y // 2, y % 2]),  # not injective
    lambda: made(2, [8], lambda a, b: [a * 4 + b], lambda y: [y // 4, y % 4], lambda y: binary("eq", y % 4, 3)),
    lambda: made(
        2,
        [2, 2, 2],
        lambda a, b: [b // 2, a, b % 2],
        lambda u, a, v: [a, 2 * u + v],
        lambda u, a, v: binary("ge", 2 * u + v, 3),
    ),
    lambda: made(
        2,
        [2, 4],
        lambda a, b: [a, a + b],
        lambda a, y: [a, y - a],
        lambda a, y: Binary("or", binary("lt", y, a), binary("ge", y - a, 3)),
    ),
    lambda: made(2, [2, 3], lambda a, b: [1 - a, (a + b) % 3], lambda a, y: [1 - a, (y - (1 - a)) % 3]),
)

Local = Callable[[Expr, Buffer], Stmt]
FILLS: tuple[Local, ...] = (
    lambda i, t: store(t, i, i),
    lambda i, t: store(t, load(Y, i), i),
    lambda i, t: store(t, 2, 0),
    lambda i, t: If(load(Y, i) > 0, store(t, 1, i)),
    lambda i, t: store(t, load(t, 0), i),
    lambda i, t: store(t, i, load(Y, i)),
)
READS: tuple[Local, ...] = (
    lambda i, t: store(X, load(t, i), i),
    lambda i, t: store(X, load(t, 2 - i), i),
    lambda i, t: store(X, load(t, load(Y, i)), i),
    lambda i, t: store(t, load(t, i) + 1, 0),
    lambda i, t: If(load(t, i) > 0, store(X, 1, i)),
    lambda i, t: store(X, load(X, i), load(t, i)),
)


def _stored(extent: int, phi: int, how: int, a: int, b: int) -> Made:
    count = (const(3), n, const(4))[extent]
    t = Buffer.declare("t", (count,), "int32")
    body = seq(loop(count, lambda i: FILLS[a](i, t)), loop(count, lambda i: READS[b](i, t)))
    return integers(Allocate(t, body)), [Couple((), _spoiled(FLAT[phi](count), how))]


def _stored_grid(phi: int, how: int, order: int, a: int, b: int) -> Made:
    t = Buffer.declare("t", (2, 3), "int32")

    def nest(body: Callable[[Var, Var], Stmt]) -> Stmt:
        if order:
            return loop(3, lambda j: loop(2, lambda i: body(i, j)), name="j")
        return loop(2, lambda i: loop(3, lambda j: body(i, j), name="j"))

    fills = (
        lambda i, j: store(t, i * 3 + j, i, j),
        lambda i, j: store(t, load(Y, i + j), i, j),
        lambda i, j: If(load(Y, j) > 0, store(t, j, 1 - i, j)),
    )
    reads = (
        lambda i, j: store(X, load(t, i, j), i * 3 + j),
        lambda i, j: store(X, load(t, 1 - i, load(Y, j)), j),
        lambda i, j: store(t, load(t, i, j) + load(t, 0, 0), i, j),
    )
    body = seq(nest(fills[a]), nest(reads[b]), store(X, load(t, 1, 2), 5))
    return integers(Allocate(t, body)), [Couple((), _spoiled(GRID[phi](), how))]


# --------------------------------------------------------------------------------------------------------- parameters

A = Buffer.declare("A", (n,), "int32")
PADS: tuple[Expr | None, ...] = (None, const(0), const(7), Undef(X.dtype))
BODIES: tuple[tuple[Callable[[Expr], Stmt], ...], ...] = (STORES, (*INDIRECT, *GUARDED, *NESTED[:8], *VECTORS))
EVERY = (*BODIES[0], *BODIES[1])


def _parameter(which: int, phi: int, how: int, pad: int, a: int, b: int) -> Made:
    """The layout of X, Y or both changes under a loop of two statements."""
    i = Var.fresh("i")
    func = integers(For(i, const(0), const(3), seq(EVERY[a](i), EVERY[b](i))))
    moved = (X, Y)[which]
    spoiled = _spoiled(FLAT[phi](moved.shape[0]), how)
    first = Relayout(moved, spoiled, PADS[pad])
    other = Relayout(Y, FLAT[(phi + 3) % len(FLAT)](Y.shape[0]), PADS[(pad + 1) % 4])
    return func, [first] if which else [first, (first, other)]


def _symbolic(phi: int, how: int, pad: int, body: int) -> Made:
    """A parameter of symbolic size; what follows uses its padding."""

    def at(i: Expr) -> Load:
        return load(A, i)

    bodies: tuple[Callable[[Expr], Stmt], ...] = (
        lambda i: store(A, at(i) + 1, i),
        lambda i: store(Y, at(i), 0),
        lambda i: store(A, at(n - 1 - i), i),
        lambda i: If(at(i) > 0, store(A, 0, i)),
        lambda i: Assume(at(i) >= 0),
        lambda i: store(A, n, at(i)),
    )
    func = function([A, Y], loop(n, lambda i: seq(bodies[body](i), store(Y, 3, 1))))
    return func, [Relayout(A, _spoiled(FLAT[phi](n), how), PADS[pad])]


def _moved(e: Expr, layout: LayoutMap, new: Buffer) -> Expr:
    """An expression over A, over the buffer that A became."""

    def visit(node: Node) -> Node | None:
        if isinstance(node, Load) and node.buffer is A:
            return Load(new, tuple(substitute(o, {layout.inputs[0]: node.indices[0]}) for o in layout.outputs))
        return None

    return rewrite(e, visit)


def _padded(phi: int, pad: int, event: int, place: int, value: int) -> Made:
    """After a change of layout: is the padding still what it was?  Decided, stored to, its stores erased."""
    four = Buffer.declare("A", (4,), "int32")
    layout = FLAT[phi](const(4))
    events: tuple[Callable[[], Stmt], ...] = (
        lambda: store(four, 1, 0),
        lambda: loop(4, lambda i: store(four, load(four, i) + 1, i)),
        lambda: store(Y, 1, 0),
        lambda: loop(4, lambda i: store(four, 7, load(Y, i))),
        lambda: If(load(four, 0) > 0, store(four, 0, 3)),
    )
    func = function([four, Y], seq(events[event](), store(Y, 2, 1)))
    first = Relayout(four, layout, PADS[pad])

    def corner(f: PrimFunc) -> Load:
        new = f.buffer_named("A")
        indices = tuple(const(k) for k in ((0, 0, 0), (5, 1, 0), (4, 0, 1), (1, 2, 0))[place][: len(new.shape)])
        return Load(new, indices)

    amount = (const(0), const(7), load(Y, 0))[value]
    steps = (
        lambda f: Insert((1,), If(binary("eq", corner(f), amount), store(Y, 9, 2))),
        lambda f: Insert((1,), Store(corner(f).buffer, amount, corner(f).indices)),
        lambda f: Insert((0,), Store(corner(f).buffer, amount, corner(f).indices)),
        lambda f: Insert((1,), Store(Y, corner(f), (const(2),)), overwritten_by=0),
        lambda f: Insert((0,), Assume(binary("eq", corner(f), amount))),
        lambda f: Erase((1,)),
        lambda f: moves.decide((0,), True),
    )
    return func, [(first, After(s)) for s in steps]


__all__ = ["FAMILIES", "plus"]

FAMILIES = (
    Family(
        "storage",
        ((0, 1, 2), (*range(len(FLAT)),), (*range(8),), (*range(len(FILLS)),), (*range(len(READS)),)),
        _stored,
    ),
    Family("storage 2d", ((*range(len(GRID)),), (*range(8),), (0, 1), (0, 1, 2), (0, 1, 2)), _stored_grid),
    Family(
        "relayout",
        ((0, 1), (*range(len(FLAT)),), (0, 0, *range(8)), (*range(4),), (*range(len(EVERY)),), (*range(len(EVERY)),)),
        _parameter,
        (2, 3),
    ),
    Family("relayout n", ((*range(len(FLAT)),), (*range(8),), (*range(4),), (*range(6),)), _symbolic),
    Family("padding", ((*range(len(FLAT)),), (*range(4),), (*range(5),), (*range(4),), (0, 1, 2)), _padded),
)
