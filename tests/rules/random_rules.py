"""Random applications of each rule to any program (``programs_for_rules``: to one made for the rule)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from tests.rules.building import load, made, of_kind, store
from tests.rules.random_programs import Draw, Scope, access, condition, one_of, value
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import FALSE, Binary, Expr, FloatImm, IntImm, Undef, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import Path, places, put
from verified_tir.ir.stmt import Allocate, DeclBuffer, For, If, LetStmt, Seq, Stmt
from verified_tir.ir.sugar import binary, const
from verified_tir.ir.visit import refresh_binders, sub_statements, walk
from verified_tir.kernel.rules.bind import Bind, Inline
from verified_tir.kernel.rules.couple import Couple
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.relayout import Relayout
from verified_tir.kernel.rules.rewrite import expressions
from verified_tir.kernel.rules.scope import Declare, Drop, Move
from verified_tir.kernel.theorem import Rule
from verified_tir.schedule import moves
from verified_tir.schedule.edits import rewritten
from verified_tir.schedule.moves import NewLoop
from verified_tir.schedule.rule_builders import RuleBuilder, in_a_loop, run_once

# ------------------------------------------------------------------------------------------------- rules at random


def place(draw: Draw, func: PrimFunc, kind: type[Stmt] | tuple[type[Stmt], ...] = Stmt) -> tuple[Path, Any] | None:
    """A place that holds a statement of a kind, with the statement."""
    found = list(places(func.body, lambda s: isinstance(s, kind)))
    return draw(st.sampled_from(found)) if found else None


def scope_at(func: PrimFunc, path: Path) -> Scope:
    """The variables and buffers that may be used at a place."""
    integers: list[Expr] = [p for p in func.params if p.dtype.is_int]
    buffers, stmt = list(func.buffers), func.body
    for step in path:
        match stmt:
            case For(var=v) | LetStmt(var=v):
                integers += [v] if v.dtype.is_int else []
            case Allocate(buffer=b) | DeclBuffer(buffer=b):
                buffers.append(b)
        stmt = sub_statements(stmt)[step]
    return Scope(integers, buffers, 2)


def _sequence(draw: Draw, func: PrimFunc) -> tuple[Path, int] | None:
    found = place(draw, func, Seq)
    return (found[0], draw(st.integers(0, len(found[1].stmts) - 2))) if found and len(found[1].stmts) > 1 else None


def _split(draw: Draw, func: PrimFunc) -> Rule | RuleBuilder | None:
    found = place(draw, func, (For, If))
    body = found and (found[1].body if isinstance(found[1], For) else found[1].then_body)
    if not isinstance(body, Seq) or len(body.stmts) < 2:
        return None
    return moves.fission(found[0], draw(st.integers(1, len(body.stmts) - 1)))  # type: ignore[index]


def _partition(draw: Draw, func: PrimFunc) -> Rule | RuleBuilder | None:
    found = place(draw, func, For)
    if found is None:
        return None
    path, loop = found
    middle = one_of(draw, const(1), const(2), loop.min + 1, loop.min + loop.extent, binary("min", loop.extent, 2))
    return moves.split_index_set(path, middle)


def _reindex(draw: Draw, func: PrimFunc) -> Rule | RuleBuilder | None:
    """Reversal, shift, split, interchange of a nest drawn at random."""
    found = place(draw, func, For)
    if found is None:
        return None
    path, loop = found
    i, low, extent = loop.var, loop.min, loop.extent
    p, q = Var.fresh("p"), Var.fresh("q")
    inner = loop.body
    kind = draw(st.integers(0, 3))
    if kind == 3 and isinstance(inner, For):
        loops = (NewLoop(p, inner.min, inner.extent), NewLoop(q, low, extent))
        return moves.reindex(path, 2, loops, (), (q, p), (inner.var, i))
    if kind == 0:
        back = low + (low + extent - 1 - p)
        return moves.reindex(path, 1, (NewLoop(p, low, extent),), (), (back,), (low + (low + extent - 1 - i),))
    if kind == 1:
        return moves.reindex(path, 1, (NewLoop(p, const(0), extent),), (), (low + p,), (i - low,))
    loops = (NewLoop(p, const(0), (extent + 1) // 2), NewLoop(q, const(0), const(2)))
    guards = (binary("lt", p * 2 + q, extent),) if draw(st.booleans()) else ()
    return moves.reindex(path, 1, loops, guards, (low + (p * 2 + q),), ((i - low) // 2, (i - low) % 2))


def _bind(draw: Draw, func: PrimFunc) -> Rule | RuleBuilder | None:
    found = place(draw, func)
    assert found is not None
    values = [e for e in walk(found[1]) if isinstance(e, Expr) and not isinstance(e, Var) and e.dtype.code != "handle"]
    if not values:
        return None
    chosen = draw(st.sampled_from(values))
    return Bind(found[0], Var.fresh("b", chosen.dtype), chosen)


def _rewrite(draw: Draw, func: PrimFunc) -> Rule | RuleBuilder | None:
    found = place(draw, func)
    assert found is not None
    path, stmt = found
    options = expressions(stmt)
    if not options:
        return None
    where: tuple[int, ...] = (draw(st.integers(0, len(options) - 1)),)
    old = options[where[0]]
    for _ in range(draw(st.integers(0, 2))):
        parts = expressions(old)
        if parts:
            where = (*where, draw(st.integers(0, len(parts) - 1)))
            old = parts[where[-1]]
    scope = scope_at(func, path)
    new = _variation(draw, scope, old)
    return None if new is None else rewritten(path, where, new)


def _variation(draw: Draw, scope: Scope, old: Expr) -> Expr | None:
    """Another expression of the same type, sometimes an equal one."""
    like = [b for b in scope.buffers if b.dtype is old.dtype]
    if old.dtype.is_bool:
        return condition(draw, scope)
    if not like:
        return None
    match old, draw(st.integers(0, 3)):
        case Binary(op="add" | "mul" as op, a=a, b=b), 0 | 1:
            return Binary(op, b, a)
        case _, 2:
            zero = FloatImm(old.dtype, 0.0) if old.dtype.is_float else const(0, old.dtype)
            return Binary("add", old, zero)
    return value(draw, scope, like[0], 1)


def _insert(draw: Draw, func: PrimFunc) -> Rule | RuleBuilder | None:
    found = place(draw, func)
    assert found is not None
    path, side = found[0], one_of(draw, "before", "after")
    scope = scope_at(func, path)
    if draw(st.booleans()):
        b = one_of(draw, *scope.buffers)
        indices = access(draw, scope, b)
        new: Stmt = store(b, one_of(draw, load(b, *indices), value(draw, scope, b, 1)), *indices)
    else:
        copied = place(draw, func)
        assert copied is not None
        new = refresh_binders(copied[1])[0]
    return Insert(path, new, side, draw(st.integers(0, 2)))


def _erase(draw: Draw, func: PrimFunc) -> Rule | RuleBuilder | None:
    found = place(draw, func)
    return None if found is None else Erase(found[0], draw(st.integers(0, 2)))


def _map(draw: Draw, extent: int) -> LayoutMap:
    x, y, z = Var.fresh("x"), Var.fresh("y"), Var.fresh("z")
    match draw(st.integers(0, 3)):
        case 0:
            return LayoutMap((x,), (extent - 1 - x,), (y,), (extent - 1 - y,), (const(extent),), binary("lt", y, 0))
        case 1:
            return LayoutMap((x,), (x + 1,), (y,), (y - 1,), (const(extent + 1),), binary("eq", y, 0))
        case 2:
            padding = binary("ge", y * 2 + z, extent)
            return LayoutMap((x,), (x // 2, x % 2), (y, z), (y * 2 + z,), (const((extent + 1) // 2), const(2)), padding)
    return LayoutMap((x,), (x // 2,), (y,), (y * 2,), (const((extent + 1) // 2),), binary("lt", y, 0))


def _storage(draw: Draw, func: PrimFunc) -> Rule | RuleBuilder | None:
    found = place(draw, func, Allocate)
    if found is None or len(found[1].buffer.shape) != 1 or not isinstance(found[1].buffer.shape[0], IntImm):
        return None
    return Couple(found[0], _map(draw, found[1].buffer.shape[0].value))


def _compact(draw: Draw, func: PrimFunc) -> Rule | RuleBuilder | None:
    """A map of one dimension, by constants or by the variables around."""
    found = place(draw, func, Allocate)
    if found is None:
        return None
    path, x, y = found[0], Var.fresh("x"), Var.fresh("y")
    v = one_of(draw, const(1), *scope_at(func, path).integers)
    image, back = one_of(
        draw, (x - v, y + v), (x - 2 * v, y + 2 * v), (x % 2, y + v), (x % 2, y), (x % 3, y), (x // 2, y * 2),
        (x * 1, y), (v - x, v - y), (x + v, y - v), (x - v, y - v),
    )  # fmt: skip
    shape = (one_of(draw, const(1), const(2), const(3), v),)
    return Couple(path, LayoutMap((x,), (image,), (y,), (back,), shape, FALSE), "accessed")


def _relayout(draw: Draw, func: PrimFunc) -> Rule | RuleBuilder | None:
    flat = [b for b in func.buffers if len(b.shape) == 1]
    if not flat:
        return None
    b = one_of(draw, *flat)
    zero = FloatImm(b.dtype, 0.0) if b.dtype.is_float else const(0)
    return Relayout(b, _map(draw, b.shape[0].value), one_of(draw, None, zero, Undef(b.dtype)))


def _introduce(draw: Draw, func: PrimFunc) -> Rule | RuleBuilder | None:
    found = place(draw, func)
    assert found is not None
    return moves.introduce(found[0], condition(draw, scope_at(func, found[0])))


def _single_trip(draw: Draw, func: PrimFunc) -> Rule | RuleBuilder | None:
    found = place(draw, func, For)
    return None if found is None else made(run_once(found[0]), func)


def _kind(draw: Draw, func: PrimFunc) -> Rule | RuleBuilder | None:
    found = place(draw, func, For)
    return None if found is None else of_kind(func, found[0], one_of(draw, "parallel", "vectorized", "unrolled"))


def at(
    kind: type[Stmt] | tuple[type[Stmt], ...], make: Callable[[Draw, Path], Rule | RuleBuilder]
) -> Callable[[Draw, PrimFunc], Rule | RuleBuilder | None]:
    """A rule that needs nothing but a place."""

    def choose(draw: Draw, func: PrimFunc) -> Rule | RuleBuilder | None:
        found = place(draw, func, kind)
        return None if found is None else make(draw, found[0])

    return choose


def _in_sequence(
    make: Callable[[Path, int], Rule | RuleBuilder],
) -> Callable[[Draw, PrimFunc], Rule | RuleBuilder | None]:
    def choose(draw: Draw, func: PrimFunc) -> Rule | RuleBuilder | None:
        found = _sequence(draw, func)
        return None if found is None else make(*found)

    return choose


def _move(draw: Draw, func: PrimFunc) -> Rule | RuleBuilder | None:
    """An allocation goes anywhere; mostly to where it may, a step or two in or out."""
    found = place(draw, func, Allocate)
    if found is None:
        return None
    path, allocation = found
    anywhere = [p for p, _ in places(put(func.body, path, allocation.body), lambda _: True)]
    near = [p for p in anywhere if p[: len(path) - 1] == path[:-1] and len(p) <= len(path) + 2]
    to = one_of(draw, *(near if near and draw(st.integers(0, 3)) else anywhere))
    return Move(path, to, draw(st.integers(1, 2)))


RULES: dict[str, Callable[[Draw, PrimFunc], Rule | RuleBuilder | None]] = {
    "swap": _in_sequence(moves.swap),
    "fuse": _in_sequence(moves.fuse),
    "join index sets": _in_sequence(moves.join_index_sets),
    "fission": _split,
    "split index set": _partition,
    "single trip": _single_trip,
    "in a single-trip loop": at(Stmt, lambda draw, path: in_a_loop(path, Var.fresh("o"))),
    "reindex": _reindex,
    "bind": _bind,
    "inline": at(LetStmt, lambda draw, path: Inline(path)),
    "rewrite": _rewrite,
    "introduce": _introduce,
    "decide": at(If, lambda draw, path: moves.decide(path, draw(st.booleans()))),
    "merge": at(If, lambda draw, path: moves.merge(path)),
    "hoist": at(For, lambda draw, path: moves.hoist(path)),
    "sink": at(If, lambda draw, path: moves.sink(path)),
    "reshape": at(If, lambda draw, path: moves.reshape(path, one_of(draw, "nest", "unnest", "negate"))),
    "insert": _insert,
    "erase": _erase,
    "allocate": at(
        Stmt,
        lambda draw, path: Declare(path, Buffer.declare("u", (draw(st.integers(-1, 2)),), "int32")),
    ),
    "drop": at(Allocate, lambda draw, path: Drop(path)),
    "move": _move,
    "storage": _storage,
    "compact": _compact,
    "relayout": _relayout,
    "kind": _kind,
}
"""For each rule, an application of it to a program; ``None`` where the program has no place for it."""


def application(draw: Draw, name: str, func: PrimFunc) -> Rule | RuleBuilder | None:
    """A random application of a rule, or ``None`` if none was found (or it would be ill-typed)."""
    try:
        return RULES[name](draw, func)
    except IRError:
        return None
