"""Grammars with opaque calls, wherever an expression may stand: what moves past them, and what is known after them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.rules.building import load, store
from tests.rules.family import Family
from tests.rules.order import one_loop, pair
from tests.rules.pool import EXTENTS, GUARDED, STORES, Word, X, Y, integers, let, local, loop, n, plus
from tests.rules.values import EVENTS, NUMBERS, QUESTIONS, asked, asked_inside, stored_again
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import HANDLE, INT32
from verified_tir.ir.expr import FALSE, Binary, Call, Expr, IfThenElse, Select, StringImm, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Allocate, Assert, Evaluate, For, If, Stmt, While, seq
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.rules.bind import Bind, Inline
from verified_tir.kernel.rules.couple import Couple
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.scope import Move
from verified_tir.kernel.theorem import Rule
from verified_tir.schedule.rule_builders import RuleBuilder

Made = tuple[PrimFunc, Sequence[Rule | RuleBuilder]]


def call(*given: Expr, name: str = "g") -> Call:
    """What a callee says, as an int32."""
    return Call(INT32, "call_extern", (StringImm(name), *given))


def address(place: Expr) -> Call:
    """Where an element lies."""
    return Call(HANDLE, "address_of", (place,))


OPAQUE: tuple[Word, ...] = (
    lambda i: Evaluate(call()),
    lambda i: Evaluate(call(i, load(X, 0))),
    lambda i: Evaluate(call(X.data)),
    lambda i: Evaluate(call(address(load(Y, i)))),
    lambda i: store(X, call(), i),
    lambda i: store(X, load(X, i) + call(), i),
    lambda i: store(X, call(load(Y, 0)) + load(X, i), i),
    lambda i: store(X, 5, binary("floormod", call(), 4)),
    lambda i: store(Y, load(X, binary("floormod", call(i), 4)), i),
    lambda i: let(call(), lambda v: store(X, v, i)),
    lambda i: let(call() + load(X, 0), lambda v: store(Y, v, i)),
    lambda i: let(load(X, 0), lambda v: seq(Evaluate(call()), store(Y, v, i))),
    lambda i: If(binary("gt", call(), 0), store(X, 7, i)),
    lambda i: If(Binary("and", load(X, 0) > 0, binary("gt", call(), 0)), store(X, 7, i), store(X, 8, i)),
    lambda i: If(load(X, i) > 0, Evaluate(call(i))),
    lambda i: store(X, IfThenElse(load(X, 0) > 0, call(), const(0)), i),
    lambda i: store(X, Select(load(X, 0) > 0, call(), call(name="h")), i),
    lambda i: loop(binary("floormod", call(), 3), lambda j: store(X, j, j), name="j"),
    lambda i: loop(2, lambda j: Evaluate(call(j)), name="j"),
    lambda i: Assert(binary("gt", call(), -2), "more"),
    lambda i: While(binary("gt", call(), 0), store(X, 1, i)),
    lambda i: local(lambda t: seq(store(t, load(X, i), 0), Evaluate(call(t.data)), store(Y, load(t, 0), i))),
    lambda i: local(lambda t: seq(store(t, load(X, i), 0), Evaluate(call()), store(Y, load(t, 0), i))),
)
"""Statements with a call."""

BETWEEN: tuple[Callable[[], Stmt], ...] = tuple(lambda word=word: word(const(1)) for word in OPAQUE)  # type: ignore[misc]
PLAIN = (*STORES, *GUARDED)


def _pair(bounds: int, a: Word, b: Word, first: bool, around: int) -> Made | None:
    return pair(bounds, *((a, b) if first else (b, a)), around)


def _one_loop(bounds: int, a: Word, b: Word | None, turned: bool) -> Made:
    return one_loop(bounds, b, a) if turned and b is not None else one_loop(bounds, a, b)


VALUES: tuple[Callable[[], Expr], ...] = (
    lambda: load(X, 0),
    lambda: load(X, 0) + n,
    lambda: n + 1,
    lambda: load(X, load(Y, 0)),
    lambda: IfThenElse(n > 0, load(Y, 0), n),
    lambda: load(X, 0) - load(X, 0),
    call,
    lambda: call() + load(X, 0),
)


def _named(a: Word, b: Word, value: int, inlined: int) -> Made:
    """A value gets a name, or loses the one that it has, while callees run."""
    what = VALUES[value]()
    if inlined:
        return integers(let(what, lambda v: seq(a(const(1)), store(Y, v, 0), b(const(1))))), [Inline(())]
    func = integers(seq(a(const(1)), store(Y, what, 0), b(const(1))))
    return func, [Bind(path, Var.fresh("x", INT32), what) for path in ((), (1,), (2,))]


HANDED: tuple[Callable[[Buffer, Var], Stmt], ...] = (
    lambda t, i: Evaluate(call()),
    lambda t, i: Evaluate(call(t.data)),
    lambda t, i: Evaluate(call(address(load(t, 0)))),
    lambda t, i: Evaluate(call(load(t, 0))),
    lambda t, i: Evaluate(call(IfThenElse(load(X, 0) > 0, t.data, X.data))),
    lambda t, i: let(t.data, lambda p: Evaluate(call(p))),
    lambda t, i: store(t, call(), binary("floormod", i, 2)),
    lambda t, i: If(binary("gt", call(), 0), store(t, 3, 1)),
    lambda t, i: store(X, 1, 0),
)


def _locals(event: int, fill: int, outside: int, after: int) -> Made:
    """A local buffer that a callee may know, laid out otherwise, or allocated elsewhere."""
    i, t = Var.fresh("i"), Buffer.declare("s", (2,), "int32")
    filled: tuple[Stmt, ...] = (
        seq(store(t, load(X, 0), 0), store(t, 9, 1)),
        store(t, plus(i, 0), 1),
        loop(2, lambda j: store(t, load(Y, j), j), name="j"),
    )
    inner = seq(filled[fill], HANDED[event](t, i), store(Y, load(t, 1), i))
    last: tuple[Stmt, ...] = () if not after else (OPAQUE[after - 1](const(2)),)
    x, y = Var.fresh("x"), Var.fresh("y")
    maps = [
        LayoutMap((x,), (1 - x,), (y,), (1 - y,), (const(2),), FALSE),
        LayoutMap((x,), (x + 1,), (y,), (y - 1,), (const(3),), binary("lt", y, 1)),
        LayoutMap((x,), (x, const(0)), (y, Var.fresh("z")), (y,), (const(2), const(1)), FALSE),
    ]
    if outside:
        body = seq(Allocate(t, seq(For(i, const(0), const(2), inner), *last)))
        moves: list[Rule | RuleBuilder] = [Move((), (0,)), Move((), (0, 0)), Move((), (0, 0), 2)]
        return integers(body), [*moves, *[Couple((), m, "accessed") for m in maps], *[Couple((), m) for m in maps]]
    body = seq(For(i, const(0), const(2), Allocate(t, inner)), *last)
    at = (0, 0) if last else (0,)
    return integers(body), [
        Move(at, ()),
        Move(at, at[:-1]),
        *[Couple(at, m) for m in maps],
        Couple(at, maps[0], "accessed"),
    ]


FAMILIES = (
    Family("opaque pair", ((*range(-1, len(EXTENTS)),), OPAQUE, (*PLAIN, *OPAQUE), (True, False), (0, 1)), _pair),
    Family("opaque loop", ((*range(len(EXTENTS)),), OPAQUE, (None, *PLAIN), (False, True)), _one_loop),
    Family("opaque asked", ((None, *EVENTS), (None, *EVENTS[:8]), BETWEEN, QUESTIONS), asked),
    Family("opaque asked inside", (EVENTS[:12], (None,), EVENTS, BETWEEN, QUESTIONS), asked_inside),
    Family("opaque stored", (EVENTS, BETWEEN, (0, 1), NUMBERS, BETWEEN), stored_again),
    Family("opaque stored late", (BETWEEN, EVENTS, (0, 1), NUMBERS, (*EVENTS[:6], *BETWEEN)), stored_again),
    Family("opaque named", (OPAQUE, (*STORES, *OPAQUE), (*range(len(VALUES)),), (0, 1)), _named),
    Family("opaque locals", ((*range(len(HANDED)),), (0, 1, 2), (0, 1), (*range(len(OPAQUE) + 1),)), _locals),
)
