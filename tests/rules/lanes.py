"""Grammars for vector stores and for views: loops of one store with the lanes that fit or nearly do, accesses moved to
other views of a block by maps that fit or nearly do."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.rules.building import function, load, store
from tests.rules.family import Family
from tests.rules.pool import X, Y, loop, n
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Binary, Broadcast, Expr, Load, Ramp, Select, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Allocate, DeclBuffer, For, If, Stmt, Store, seq
from verified_tir.ir.sugar import binary, const
from verified_tir.ir.visit import walk
from verified_tir.kernel.rules.merge_allocations import MergeAllocations
from verified_tir.kernel.rules.vectorize import Vectorize
from verified_tir.kernel.theorem import Rule
from verified_tir.schedule.edits import redirected
from verified_tir.schedule.rule_builders import RuleBuilder

Made = tuple[PrimFunc, Sequence[Rule | RuleBuilder]]
REST = Buffer.declare("V", (5,), "int32", data=X.data, elem_offset=1)
"""X without its first element."""

# -------------------------------------------------------------------------------------------------------------- lanes

Word = Callable[[Expr], Expr]
"""Of the loop's variable, or of its values as lanes."""

PLACES: tuple[Word, ...] = (
    lambda i: i,
    lambda i: binary("add", i, 1),
    lambda i: binary("sub", const(2), i),
    lambda i: binary("floordiv", i, 2),
    lambda i: binary("mul", i, 2),
    lambda i: binary("floormod", load(Y, i), 4),
)
VALUES: tuple[Word, ...] = (
    lambda i: load(Y, i),
    lambda i: load(X, i),
    lambda i: load(X, binary("add", i, 1)),
    lambda i: binary("add", load(X, binary("sub", const(3), i)), load(Y, i)),
    lambda i: load(REST, i),
    lambda i: i,
    lambda i: binary("floordiv", const(7), load(Y, i)),
    lambda i: Select(binary("gt", load(Y, i), 0), load(X, i), binary("mul", i, 2)),
)
ASKED: tuple[Word | None, ...] = (
    None,
    lambda i: binary("lt", i, n),
    lambda i: binary("gt", load(Y, i), 0),
    lambda i: binary("lt", i, 2),
    lambda i: binary("gt", load(X, binary("floordiv", i, 2)), 0),
)


def _spread(e: Expr, count: int) -> Expr:
    return e if e.dtype.lanes == count else Broadcast(e, count)


def _masked(e: Expr, mask: Expr) -> Expr:
    """The value with the mask on its loads."""
    if isinstance(e, Load):
        return Load(e.buffer, e.indices, mask)
    return Binary(e.op, _masked(e.a, mask), _masked(e.b, mask)) if isinstance(e, Binary) else e


def _lanes(low: int, count: int, target: int, where: int, what: int, asked: int) -> Made:
    """A loop of one store, and lanes for it: the right ones, and those of a neighbour in each respect."""
    i = Var.fresh("i")
    start = (const(0), const(1), n)[low]
    b = (X, Y, REST)[target]
    condition = ASKED[asked]
    body: Stmt = store(b, VALUES[what](i), PLACES[where](i))
    body = For(i, start, const(count), body if condition is None else If(condition(i), body))
    rules: list[Rule] = []

    def lanes(first: Expr, where: int, what: int, asked: int, mask_loads: bool = False) -> None:
        ramp = Ramp(first, const(1), count)
        ask = ASKED[asked % len(ASKED)]
        mask = None if ask is None else _spread(ask(ramp), count)
        value = _spread(VALUES[what % len(VALUES)](ramp), count)
        value = _masked(value, mask) if mask_loads and mask is not None else value
        rules.append(Vectorize((0,), (_spread(PLACES[where % len(PLACES)](ramp), count),), value, mask))

    lanes(start, where, what, asked)
    lanes(start, where, what, asked, True)
    lanes(start + 1, where, what, asked)
    lanes(start, where + 1, what, asked)
    lanes(start, where, what + 1, asked)
    lanes(start, where, what, asked + 1)
    lanes(start, where, what, 0)
    return function([X, Y, n], DeclBuffer(REST, body)), rules


# --------------------------------------------------------------------------------------------------------------- views

SEEN: tuple[tuple[Callable[[Buffer], Buffer], Callable[[Expr], tuple[Expr, ...]]], ...] = (
    (lambda b: Buffer.declare("W", (6,), "int32", data=b.data), lambda x: (x,)),
    (lambda b: Buffer.declare("W", (2, 3), "int32", data=b.data), lambda x: (x // 3, x % 3)),
    (lambda b: Buffer.declare("W", (3, 2), "int32", data=b.data), lambda x: (x // 2, x % 2)),
    (lambda b: Buffer.declare("W", (5,), "int32", data=b.data, elem_offset=1), lambda x: (x - 1,)),
    (lambda b: Buffer.declare("W", (8,), "int32", data=b.data, elem_offset=-1), lambda x: (x + 1,)),
    (lambda b: Buffer.declare("W", (6,), "int32", data=b.data, strides=(-1,), elem_offset=5), lambda x: (5 - x,)),
    (lambda b: Buffer.declare("W", (3,), "int32", data=b.data, strides=(2,)), lambda x: (x // 2,)),
)
"""Views of six integers, and the indices in them of the element at a position."""
NUDGES: tuple[Word, ...] = (lambda x: x, lambda x: x + 1, lambda x: 5 - x, lambda x: x % 6, lambda x: x * 1 - n)
SPOTS: tuple[Word, ...] = (
    lambda i: i,
    lambda i: i + 1,
    lambda i: 2 * i,
    lambda i: 5 - i,
    lambda i: load(Y, i) % 6,
    lambda i: i + n,
)


def _viewed(own: bool, seen: int, store_at: int, load_at: int, around: int) -> Made:
    """A store and a load, moved to another view together and apart, by the right map and by others."""
    i = Var.fresh("i")
    base = Buffer.declare("t", (6,), "int32") if own else X
    declare, indices = SEEN[seen]
    new = declare(base)
    write = store(base, i, SPOTS[store_at](i))
    read = store(Y, load(base, SPOTS[load_at](i)), i)
    if around == 1:
        read = If(binary("gt", load(base, SPOTS[load_at](i)), 0), store(Y, 1, i))  # type: ignore[assignment]
    body: Stmt = DeclBuffer(new, For(i, const(0), (const(3), n)[around == 2], seq(write, read)))
    func = function([X, Y, n], Allocate(base, seq(body, store(X, load(base, 0), 0))) if own else body)
    path = (0, 0, 0) if own else (0,)
    rules: list[Rule | RuleBuilder] = []
    for nudge in NUDGES:
        moves = []
        for access in walk(body):
            if isinstance(access, (Load, Store)) and access.buffer is base:
                moves.append((access.indices, indices(nudge(access.indices[0]))))
        rules.append(redirected(path, base, new, tuple(dict(moves).items())))
        rules.append(redirected((*path, 0, 0), base, new, tuple(dict(moves).items())))
    return func, rules


# -------------------------------------------------------------------------------------------------------------- blocks

SIZES: tuple[Callable[[], Expr], ...] = (lambda: const(2), lambda: n, lambda: n + 1, lambda: const(0), lambda: 2 * n)
DTYPES = ("int32", "float32", "int8", "int32x2")


def _shared(first: int, second: int, block: int, dtype: int, use: int) -> Made:
    """Two local buffers one after the other, known by blocks of several sizes, alone and together."""
    t, u = (Buffer.declare(name, (SIZES[k](),), "int32") for name, k in (("t", first), ("u", second)))
    last = (const(0), n, const(1))[use]

    def used(b: Buffer, k: int) -> Stmt:
        filled = loop(binary("min", n, 2), lambda i: store(b, i + k, i))
        return seq(filled, If(binary("gt", n, 0), store(X, load(b, last), k)))

    two = seq(Allocate(t, used(t, 0)), Allocate(u, used(u, 1)))
    shape, kind = (SIZES[block](),), DTYPES[dtype]
    whole = Buffer.declare("s", shape, kind)
    rules: list[Rule] = [MergeAllocations((), (0, 1), whole)]
    rules += [MergeAllocations((k,), (), Buffer.declare("s", shape, kind, data=b.data)) for k, b in enumerate((t, u))]
    return function([X, Y, n], two), rules


FAMILIES = (
    Family(
        "lanes",
        (
            (0, 1, 2),
            (2, 3),
            (0, 1, 2),
            (*range(len(PLACES)),),
            (*range(len(VALUES)),),
            (*range(len(ASKED)),),
        ),
        _lanes,
        (0, 1, 2),
        thin=2,
    ),
    Family(
        "moved to views",
        ((False, True), (*range(len(SEEN)),), (*range(len(SPOTS)),), (*range(len(SPOTS)),), (0, 1, 2)),
        _viewed,
        (0, 1, 2),
        thin=2,
    ),
    Family(
        "blocks",
        (
            (*range(len(SIZES)),),
            (*range(len(SIZES)),),
            (*range(len(SIZES)),),
            (*range(len(DTYPES)),),
            (*range(3),),
        ),
        _shared,
        (0, 1, 2),
    ),
)
