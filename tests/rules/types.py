"""Grammars about types: views of other types and lanes over one block, loops over narrow integers, casts that wrap."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.rules.building import function, load, of_kind, store
from tests.rules.family import Family
from tests.rules.pool import X, Y, loop
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Binary, Broadcast, Cast, Expr, FloatImm, Load, Ramp, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Allocate, Assume, DeclBuffer, For, If, LetStmt, Stmt, Store, seq
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.theorem import Rule
from verified_tir.schedule import moves
from verified_tir.schedule.edits import rewritten
from verified_tir.schedule.moves import NewLoop
from verified_tir.schedule.rule_builders import RuleBuilder

Made = tuple[PrimFunc, Sequence[Rule | RuleBuilder]]
INT8, FLOAT32, PAIR = DType.parse("int8"), DType.parse("float32"), DType.parse("int32x2")

# ------------------------------------------------------------------------------------------------------------- views


class Views:
    """A block of six integers seen as integers, bytes, floats, pairs, and as integers from the second on."""

    def __init__(self, base: Buffer) -> None:
        self.whole = base
        self.bytes = Buffer.declare("V8", (24,), INT8, data=base.data)
        self.floats = Buffer.declare("VF", (6,), FLOAT32, data=base.data)
        self.pairs = Buffer.declare("V2", (3,), PAIR, data=base.data)
        self.rest = Buffer.declare("V1", (5,), "int32", data=base.data, elem_offset=1)

    def around(self, body: Stmt, used: Sequence[int]) -> Stmt:
        for k in used:
            body = DeclBuffer((self.bytes, self.floats, self.pairs, self.rest)[k], body)
        return body


def _pair(v: Views, i: Expr) -> Load:
    return load(v.pairs, i)


Viewed = tuple[tuple[int, ...], Callable[[Views, Expr], Stmt]]
VIEWED: tuple[Viewed, ...] = (
    ((), lambda v, i: store(v.whole, i, i)),
    ((), lambda v, i: store(v.whole, load(v.whole, 1), 0)),
    ((), lambda v, i: store(v.whole, 1, 0)),
    ((), lambda v, i: store(Y, load(v.whole, i), i)),
    ((0,), lambda v, i: store(v.bytes, const(1, INT8), i)),
    ((0,), lambda v, i: store(v.bytes, const(0, INT8), 4 * i)),
    ((0,), lambda v, i: store(Y, Cast(X.dtype, load(v.bytes, i)), i)),
    ((0,), lambda v, i: store(Y, Cast(X.dtype, load(v.bytes, 4 * i + 1)), i)),
    ((0,), lambda v, i: store(v.bytes, load(v.bytes, i), i + 4)),
    ((1,), lambda v, i: store(v.floats, FloatImm(FLOAT32, 1.0), i)),
    ((1,), lambda v, i: store(v.floats, FloatImm(FLOAT32, float("nan")), i)),
    ((1,), lambda v, i: store(v.floats, load(v.floats, i), i + 1)),
    ((1,), lambda v, i: store(v.floats, load(v.floats, i) + FloatImm(FLOAT32, 1.0), i)),
    ((2,), lambda v, i: store(v.pairs, Broadcast(const(2), 2), i)),
    ((2,), lambda v, i: Store(Y, _pair(v, i), (Ramp(const(0), const(1), 2),))),
    ((2,), lambda v, i: Store(v.pairs, _pair(v, i), (i + 1,))),
    ((3,), lambda v, i: store(v.rest, 5, i)),
    ((3,), lambda v, i: store(v.rest, load(v.whole, i), i)),
    ((0, 3), lambda v, i: store(v.rest, Cast(X.dtype, load(v.bytes, i)), 0)),
)
ASKED: tuple[Expr, ...] = (
    load(X, 0).equal(1),
    load(X, 1).equal(1),
    load(X, 1).equal(load(X, 0)),
    load(X, 2) >= 0,
    load(X, 0).equal(0),
)


def _viewed(start: int, a: Viewed, b: Viewed, own: bool) -> Made:
    """Two statements through views, in a loop; the block is a parameter or a local buffer."""
    i = Var.fresh("i")
    base = Buffer.declare("t", (6,), "int32") if own else X
    v = Views(base)
    used = sorted({*a[0], *b[0]})
    nest: Stmt = For(i, const(start), const(2), seq(a[1](v, i), b[1](v, i)))
    rules: list[Rule | RuleBuilder] = []
    depth = (0,) * (len(used) + own)
    if own:
        nest = seq(nest, store(X, load(base, 0), 0), store(X, load(base, 1), 1))
        depth = (*depth, 0)
    body = v.around(nest, used)
    func = function([X, Y], Allocate(base, body) if own else body)
    p = Var.fresh("p")
    reversed_ = moves.reindex(
        depth, 1, (NewLoop(p, const(start), const(2)),), (), (2 * start + 1 - p,), (2 * start + 1 - i,)
    )
    rules += [
        moves.swap((*depth, 0), 0),
        moves.fission(depth, 1),
        reversed_,
        of_kind(func, depth, "parallel"),
    ]
    rules.append(Erase((*depth, 0, 0)))
    return func, rules


def _asked(a: Viewed, b: Viewed, question: Expr, own: bool) -> Made:
    """What is known of the block after two statements through views; stores of the same bits."""
    v = Views(X)
    used = sorted({*a[0], *b[0]})
    first: Stmt = loop(2, lambda i: a[1](v, i)) if own else a[1](v, const(0))
    body = seq(first, b[1](v, const(1)), If(question, store(Y, 5, 3), store(Y, 6, 3)))
    func = function([X, Y], v.around(body, used))
    depth = (0,) * len(used)
    view = (v.whole, *[(v.bytes, v.floats, v.pairs, v.rest)[k] for k in used])[-1]
    same = Store(view, Load(view, (const(0),)), (const(0),))
    return func, [
        moves.decide((*depth, 2), True),
        moves.decide((*depth, 2), False),
        Insert((*depth, 2), same),
        Erase((*depth, 0)),
        Erase((*depth, 1)),
        Erase((*depth, 0), overwritten_by=1),
        moves.swap(depth, 0),
    ]


# ----------------------------------------------------------------------------------------------------- narrow loops

N8 = Buffer.declare("N", (4,), INT8)
EDGES = (-128, -100, 0, 100, 120, 126, 127)


def _i8(value: int) -> Expr:
    return const(max(-128, min(127, value)), INT8)


def _narrow(low: int, extent: int, split: int, how: int) -> Made:
    """Loops whose last value is the greatest of the type: split, joined, shifted, reversed."""
    i, j, p = (Var.fresh(x, INT8) for x in "ijp")
    count = store(X, load(X, 0) + 1, 0)

    def at(v: Var) -> Stmt:
        return seq(count, store(X, Cast(X.dtype, v), 1))

    start, size = _i8(EDGES[low]), (_i8(3), _i8(28), _i8(127), _i8(0), load(N8, 0), load(N8, 1))[extent]
    mid = (_i8(EDGES[low] + 1), _i8(127), _i8(0), load(N8, 2), start + size)[split]
    if how == 0:
        return function([X, N8], For(i, start, size, at(i))), [moves.split_index_set((), mid)]
    if how == 1:
        rest = (_i8(1), _i8(100), load(N8, 0), load(N8, 3))[split % 4]
        known = seq(*[Assume(binary("ge", load(N8, k), const(0, INT8))) for k in range(4)])
        pair = seq(known, For(i, start, size, at(i)), For(j, start + size, rest, at(j)))
        return function([X, N8], pair), [moves.join_index_sets((), 4)]
    if how == 2:
        condition = load(Y, 0) > 0
        known = seq(*[Assume(binary("ge", load(N8, k), const(-128, INT8))) for k in range(4)])
        inner = If(condition, For(i, mid, size, at(i)))
        return function([X, Y, N8], seq(known, inner)), [moves.sink((4,))]
    shift = (_i8(1), _i8(100), _i8(-1), _i8(-28), load(N8, 0))[split]
    moved = moves.reindex((), 1, (NewLoop(p, start + shift, size),), (), (p - shift,), (i + shift,))
    back = moves.reindex(
        (), 1, (NewLoop(p, start, size),), (), (start + size - 1 - p + start,), (start + size - 1 - i + start,)
    )
    guarded = moves.reindex((), 1, (NewLoop(p, start, shift),), (binary("lt", p, start + 3),), (p,), (i,))
    return function([X, N8], For(i, start, size, at(i))), [moved, back, guarded]


# -------------------------------------------------------------------------------------------------------- wrapping


def _wide(e: Expr) -> Expr:
    """The value, but as data: what is computed with it wraps."""
    return Cast(X.dtype, Cast(DType.parse("int64"), e))


TERMS: tuple[Callable[[Expr], Expr], ...] = (
    lambda v: v,
    _wide,
    lambda v: load(X, 0),
    lambda v: Binary("add", v, const(0)),
    lambda v: const(0) + _wide(v),
    lambda v: Binary("mul", v, const(1)),
    lambda v: binary("min", v, 2**30),
    lambda v: _wide(v) * 65536 // 65536,
)
CONTEXTS: tuple[tuple[tuple[int, ...], Callable[[Expr], Stmt]], ...] = (
    ((0, 0), lambda e: store(X, Binary("mul", e, const(65536)), 1)),
    ((0, 0, 0), lambda e: store(X, Binary("mul", Binary("add", e, const(1)), const(65536)), 1)),
    ((0,), lambda e: let_then(e, lambda x: store(X, Binary("mul", x, const(65536)), 1))),
    ((0,), lambda e: let_then(e, lambda x: let_then(Binary("add", x, const(1)), lambda y: store(X, y * 65536, 1)))),
    ((0, 1, 0), lambda e: store(X, Binary("add", load(X, 1), Binary("mul", e, const(65536))), 1)),
    ((0,), lambda e: If(binary("lt", e, 2), store(X, 1, 1))),
)


def let_then(value: Expr, body: Callable[[Var], Stmt]) -> LetStmt:
    x = Var.fresh("x")
    return LetStmt(x, value, body(x))


def _wrapped(where: int, old: int, new: int, known: bool) -> Made:
    """Index arithmetic for data and the other way round, where what stands around it overflows."""
    size = Var.fresh("n")
    path, make = CONTEXTS[where]
    body = make(TERMS[old](size))
    prelude = [store(X, size, 0)] if known else [store(Y, 0, 0)]
    return function([X, Y, size], seq(*prelude, body)), [rewritten((1,), path, TERMS[new](size))]


FAMILIES = (
    Family("views", ((0, 1), VIEWED, VIEWED, (False, True)), _viewed),
    Family("views asked", (VIEWED, VIEWED, ASKED, (False, True)), _asked),
    Family("narrow loops", ((*range(len(EDGES)),), (*range(6),), (*range(5),), (*range(4),)), _narrow),
    Family(
        "wrapping",
        ((*range(len(CONTEXTS)),), (*range(len(TERMS)),), (*range(len(TERMS)),), (False, True)),
        _wrapped,
        (0, 1, 40000, 2**31 - 1),
    ),
)
