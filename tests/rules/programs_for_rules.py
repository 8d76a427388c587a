"""Programs made for one rule each, for rules that random places of random programs seldom fit."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from tests.rules.building import function, load, store
from tests.rules.random_programs import Draw, Scope, access, bounds, condition, one_of, statement, value
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import FALSE, Binary, Expr, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Allocate, For, If, Seq, Stmt, seq
from verified_tir.ir.sugar import binary, const
from verified_tir.ir.visit import refresh_binders, substitute
from verified_tir.kernel.rules.couple import Couple
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.same import Same
from verified_tir.kernel.rules.scope import Move
from verified_tir.kernel.theorem import Rule
from verified_tir.schedule import moves
from verified_tir.schedule.rule_builders import RuleBuilder

Fitting = tuple[tuple[Stmt, ...], Callable[[Path, int], Rule | RuleBuilder]]
"""Statements in a row, and the rule for them, given the path of their sequence and their position in it."""


def _copy(stmt: Stmt, old: Var, new: Var) -> Stmt:
    return refresh_binders(substitute(stmt, {old: new}))[0]


def _two_loops(draw: Draw, scope: Scope, same: bool) -> Fitting:
    i, j = Var.fresh("i"), Var.fresh("j")
    low, extent = bounds(draw, scope)
    first = statement(draw, scope.with_integer(i))
    if same:
        start = low + extent if draw(st.integers(0, 3)) else low
        loops = For(i, low, extent, first), For(j, start, bounds(draw, scope)[1], _copy(first, i, j))
        return loops, moves.join_index_sets
    loops = For(i, low, extent, first), For(j, low, extent, statement(draw, scope.with_integer(j)))
    return loops, moves.fuse


def _split_loop(draw: Draw, scope: Scope) -> Fitting:
    i = Var.fresh("i")
    parts = [statement(draw, scope.with_integer(i)) for _ in range(2)]
    return (For(i, *bounds(draw, scope), seq(*parts)),), lambda path, k: moves.fission((*path, k), 1)


def _same_branches(draw: Draw, scope: Scope) -> Fitting:
    body = statement(draw, scope)
    return (If(condition(draw, scope), body, refresh_binders(body)[0]),), lambda path, k: moves.merge((*path, k))


def _inner_branch(draw: Draw, scope: Scope) -> Fitting:
    i = Var.fresh("i")
    inner = scope.with_integer(i)
    other = statement(draw, inner) if draw(st.booleans()) else None
    branch = If(condition(draw, scope), statement(draw, inner), other)
    return (For(i, *bounds(draw, scope), branch),), lambda path, k: moves.hoist((*path, k))


def _outer_branch(draw: Draw, scope: Scope) -> Fitting:
    i = Var.fresh("i")
    loop = For(i, *bounds(draw, scope), statement(draw, scope.with_integer(i)))
    return (If(condition(draw, scope), loop),), lambda path, k: moves.sink((*path, k))


def _nested_branch(draw: Draw, scope: Scope) -> Fitting:
    c, d, body = condition(draw, scope), condition(draw, scope), statement(draw, scope)
    match draw(st.integers(0, 2)):
        case 0:
            return (If(Binary("and", c, d), body),), lambda path, k: moves.reshape((*path, k), "nest")
        case 1:
            return (If(c, If(d, body)),), lambda path, k: moves.reshape((*path, k), "unnest")
    return (If(c, body, statement(draw, scope)),), lambda path, k: moves.reshape((*path, k), "negate")


def _decided_branch(draw: Draw, scope: Scope) -> Fitting:
    """A branch on an element just stored, with a statement between that may end what is known of it."""
    b = one_of(draw, *scope.buffers)
    where, what = access(draw, scope, b), value(draw, scope, b, 0)
    between = statement(draw, scope)
    asked = Binary(one_of(draw, "eq", "ge"), load(b, *where), what)
    branch = If(asked, store(b, load(b, *where), *where), statement(draw, scope))
    truth = draw(st.integers(0, 3)) > 0
    steps = len(between.stmts) if isinstance(between, Seq) else 1
    return (store(b, what, *where), between, branch), lambda path, k: moves.decide((*path, k + 1 + steps), truth)


def _moved_buffer(draw: Draw, scope: Scope) -> Fitting:
    i = Var.fresh("i")
    t = Buffer.declare("t", (draw(st.integers(1, 3)),), one_of(draw, "int32", "float32"))
    inner = scope.with_integer(i).with_buffer(t)
    first = store(t, value(draw, inner, t), *access(draw, inner, t))
    body = seq(first, statement(draw, inner), statement(draw, inner)) if draw(st.booleans()) else statement(draw, inner)
    match draw(st.integers(0, 2)):
        case 0:
            return (For(i, *bounds(draw, scope), Allocate(t, body)),), lambda path, k: Move((*path, k, 0), (*path, k))
        case 1:
            return (Allocate(t, For(i, *bounds(draw, scope), body)),), lambda path, k: Move((*path, k), (*path, k, 0))
    outside = [statement(draw, scope), statement(draw, scope.with_buffer(t)), statement(draw, scope)]
    ahead, count = (len(s.stmts) if isinstance(s, Seq) else 1 for s in outside[:2])
    return (Allocate(t, seq(*outside)),), lambda path, k: Move((*path, k), (*path, k + ahead), count)


def _windows(draw: Draw, scope: Scope) -> Fitting:
    """A loop whose iterations use a few neighbours each of a buffer of their own, and a map onto a smaller one."""
    i, j, k, x, y = (Var.fresh(name) for name in "ijkxy")
    t = Buffer.declare("t", (8,), "int32")
    stride, width = draw(st.integers(1, 2)), draw(st.integers(1, 3))
    inner = scope.with_integer(i)
    fill = For(j, const(0), const(width), store(t, value(draw, inner, t, 1), stride * i + j))
    seen = one_of(draw, stride * i + k, stride * i + k, stride * i, k, 2 * i + (width - 1 - k))
    into = scope.buffers[0]
    use = For(k, const(0), const(width), store(into, load(t, seen), *access(draw, inner.with_integer(k), into)))
    image, back = one_of(
        draw, (x - stride * i, y + stride * i), (x - stride * i, y + stride * i), (x % width, y), (x - i, y + i),
        (x // 2, y * 2), ((x - stride * i) // 2, y * 2 + stride * i), (x - i, y),
    )  # fmt: skip
    shape = (const(one_of(draw, width, width, width - 1, width + 1)),)
    extent = const(draw(st.integers(1, 3)))
    body = Allocate(t, seq(fill, use))
    layout = LayoutMap((x,), (image,), (y,), (back,), shape, FALSE)
    return (For(i, const(0), extent, body),), lambda path, n: Couple((*path, n, 0), layout, "accessed")


def _fitting(draw: Draw, b: Buffer, i: Var) -> tuple[Expr, ...]:
    """An element that mostly differs from iteration to iteration, inside the buffer for up to three of them."""
    extent = b.shape[-1].value  # type: ignore[attr-defined]
    last = one_of(draw, i % extent, extent - 1 - i % 3, binary("min", i, extent - 1), const(0))
    return (*[const(0)] * (len(b.shape) - 1), last)


def _marked_loop(draw: Draw, scope: Scope) -> Fitting:
    i = Var.fresh("i")
    b, c = one_of(draw, *scope.buffers), one_of(draw, *scope.buffers)
    b = one_of(draw, b, c)
    where = _fitting(draw, b, i)
    new = one_of(draw, load(b, *where), load(b, *_fitting(draw, b, i)), value(draw, scope.with_integer(i), b, 0))
    body: Stmt = store(b, new, *where)
    if draw(st.booleans()):
        body = seq(body, store(c, value(draw, scope.with_integer(i), c, 0), *_fitting(draw, c, i)))
    if draw(st.integers(0, 3)) == 0:
        body = If(condition(draw, scope.with_integer(i)), body)
    kind = one_of(draw, "parallel", "vectorized")
    extent = one_of(draw, const(3), const(2), binary("min", scope.integers[0], 3))
    marked = For(i, const(0), extent, body, kind)
    return (For(i, const(0), extent, body),), lambda path, k: Same((*path, k), marked)


def _neighbours(draw: Draw, scope: Scope) -> Fitting:
    """Two loops, a loop and a store, or two stores, over few elements."""

    def one() -> Stmt:
        i = Var.fresh("i")
        b, inner = one_of(draw, *scope.buffers), scope.with_integer(i)
        if draw(st.booleans()):
            return store(b, value(draw, scope, b, 1), *access(draw, scope, b))
        return For(i, *bounds(draw, scope), store(b, value(draw, inner, b, 1), *_fitting(draw, b, i)))

    return (one(), one()), moves.swap


def _single_iteration(draw: Draw, scope: Scope) -> Fitting:
    i = Var.fresh("i")
    n = scope.integers[0]
    extent = one_of(draw, const(1), const(1), binary("min", binary("max", n, 1), 1), n, const(2))
    low = one_of(draw, const(0), n, const(2), 0 - n)
    return (For(i, low, extent, statement(draw, scope.with_integer(i))),), lambda path, k: moves.reindex(
        (*path, k), 1, (), (), (low,), ()
    )


def _erased(draw: Draw, scope: Scope) -> Fitting:
    """What ``_stored_again`` would insert stands there; or a store that a later one overwrites."""
    (first, between), rule = _stored_again(draw, scope)
    inserted = rule((), 0)
    assert isinstance(inserted, Insert)
    steps = inserted.path[0]
    if draw(st.booleans()):
        return (first, between, inserted.stmt), lambda path, k: Erase((*path, k + steps + 1))
    return (first, between, inserted.stmt), lambda path, k: Erase((*path, k), overwritten_by=steps + 1)


def _stored_again(draw: Draw, scope: Scope) -> Fitting:
    """A store, alone or in a loop; a statement; then the same store again, or one like it."""
    i, j = Var.fresh("i"), Var.fresh("j")
    b = one_of(draw, *scope.buffers)
    between = statement(draw, scope)
    steps = len(between.stmts) if isinstance(between, Seq) else 1
    if draw(st.booleans()):
        where, what = access(draw, scope, b), value(draw, scope, b, 0)
        first: Stmt = store(b, what, *where)
        again: Stmt = store(b, what, *one_of(draw, where, where, access(draw, scope, b)))
    else:
        where, what = _fitting(draw, b, i), value(draw, scope.with_integer(i), b, 0)
        each = store(b, what, *where)
        first = For(i, const(0), const(3), each)
        again = _copy(For(i, const(0), const(draw(st.integers(2, 3))), each), i, j)
    return (first, between), lambda path, k: Insert((*path, k + steps), again, "after")


FITTING: dict[str, Callable[[Draw, Scope], Fitting]] = {
    "fuse": lambda draw, scope: _two_loops(draw, scope, False),
    "join index sets": lambda draw, scope: _two_loops(draw, scope, True),
    "fission": _split_loop,
    "decide": _decided_branch,
    "merge": _same_branches,
    "hoist": _inner_branch,
    "sink": _outer_branch,
    "reshape": _nested_branch,
    "move": _moved_buffer,
    "compact": _windows,
    "kind": _marked_loop,
    "insert": _stored_again,
    "erase": _erased,
    "swap": _neighbours,
    "single trip": _single_iteration,
}


@st.composite
def fitting(draw: Draw, name: str) -> tuple[PrimFunc, Rule | RuleBuilder]:
    """A program made for a rule: its statements in a sequence, in a loop or branch or alone."""
    x, y, z = (
        Buffer.declare("X", (6,), "int32"),
        Buffer.declare("Y", (2, 3), "int32"),
        Buffer.declare("Z", (5,), "float32"),
    )
    n, o = Var.fresh("n"), Var.fresh("o")
    scope = Scope([n], [x, y, z], draw(st.integers(0, 2)), draw(st.integers(0, 4)) == 0)
    around = draw(st.integers(0, 3))
    inner = scope if around < 2 else Scope([n, o], scope.buffers, scope.depth, scope.callees)
    before = [statement(draw, inner)] if draw(st.booleans()) else []
    parts, rule = FITTING[name](draw, inner)
    body = seq(*before, *parts, store(z, value(draw, inner, z, 1), 0))
    offset = len(before[0].stmts) if before and isinstance(before[0], Seq) else len(before)
    if around == 1:
        return function([x, y, z, n], If(condition(draw, scope), body)), rule((0,), offset)
    if around >= 2:
        return function([x, y, z, n], For(o, *bounds(draw, scope), body)), rule((0,), offset)
    return function([x, y, z, n], body), rule((), offset)
