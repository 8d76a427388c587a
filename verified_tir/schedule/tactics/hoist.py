"""Conditions and let bindings move out of loops (RFC 77, "New Transform - Hoist Expression").

    for i in range(4):                            if n > 0:
        for j in range(4):                            for i, j in T.grid(4, 4):
            if n > 0 and j < m:           ⟶               if j < m:
                S                                             S

The outermost loop out of which the condition may go is put under it (``introduce``); then every place where the
condition stands is decided on both sides, and loops around nothing go.  A let is named again outside (``bind``) and the
inner one put back (``inline``).  A condition that mentions a let of the loop's body moves only if the let does: the
case that TVM's HoistIfThenElse gets wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import IntFlag
from functools import partial

from verified_tir.index.conditions import choose, junction, negate
from verified_tir.ir.dtype import BOOL
from verified_tir.ir.expr import Binary, Expr, IfThenElse, IntImm, LetExpr, Load, Not, Select, Var
from verified_tir.ir.find import places_of
from verified_tir.ir.paths import Path, places
from verified_tir.ir.stmt import SKIP, Assume, For, If, LetStmt, Stmt
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import bound_vars, free_vars, map_children, nodes_of, substitute, walk
from verified_tir.kernel.effects import EVERYTHING, written_blocks
from verified_tir.kernel.rules.bind import Bind, Inline
from verified_tir.kernel.rules.rewrite import ExprPath, expressions
from verified_tir.schedule import moves
from verified_tir.schedule.edits import narrowed, rewritten
from verified_tir.schedule.session import Session
from verified_tir.schedule.tactics.conditionals import trim
from verified_tir.schedule.tactics.tidy import remove_empty

MOST = 64
"""How often something is hoisted at most: each condition doubles what it is hoisted over."""


class HoistConditional(IntFlag):
    """Which conditions move."""

    NONE = 0
    IF_ELSE_STMT = 1
    """Conditions of ``if`` statements."""
    IF_ELSE_EXPR = 2
    """Conditions of ``T.if_then_else``."""
    BOOLEAN_EXPRESSION = 4
    """Any expression of type bool."""
    ALL = 7


class HoistLetBinding(IntFlag):
    """Which let bindings move."""

    NONE = 0
    REQUIRED_BY_CONDITION = 1
    """Those that a condition needs in order to move."""
    LET_STMT = 2
    """All made by a statement."""
    LET_EXPR = 4
    """All made within an expression."""
    ALL = 7


def hoist_expression(
    session: Session,
    conditionals: HoistConditional = HoistConditional.IF_ELSE_STMT,
    lets: HoistLetBinding = HoistLetBinding.REQUIRED_BY_CONDITION,
    under: Path = (),
) -> int:
    """Move conditions and lets at or below a place out of as many loops as they may leave; gives how many moved."""
    moved = 0
    tried: set[tuple[Var, Expr]] = set()
    while moved < MOST:
        found = next((c for c in _candidates(session.left(under), conditionals, lets) if c[1:] not in tried), None)
        if found is None:
            break
        where, var, expr = found
        tried.add((var, expr))
        if session.succeeds(partial(_hoist, session, (*under, *where), expr, conditionals, lets)):
            moved += 1
            tried.clear()  # under a new condition more may be safe
    return moved


def _candidates(root: Stmt, conditionals: HoistConditional, lets: HoistLetBinding) -> Iterator[tuple[Path, Var, Expr]]:
    """Loops, outermost first, each with the values of lets and the conditions that may leave it."""
    for path, loop in places_of(root, For, lambda _: True):
        inside = set(bound_vars(loop))
        for let in _lets(loop, lets):
            if _may_leave(let.value, loop, inside):
                yield path, loop.var, let.value
        needed = {n.var: n.value for n in nodes_of(loop.body, LetStmt)}
        for c in dict.fromkeys(_conditions(loop.body, conditionals)):
            for e in _parts(c, conditionals):
                if _may_leave(e, loop, inside):
                    yield path, loop.var, e
                    break
                if HoistLetBinding.REQUIRED_BY_CONDITION in lets:
                    yield from ((path, loop.var, v) for v in _required(e, loop, inside, needed))


def _lets(loop: For, wanted: HoistLetBinding) -> Iterator[LetStmt | LetExpr]:
    for n in walk(loop.body):
        if isinstance(n, LetStmt) and HoistLetBinding.LET_STMT in wanted:
            yield n
        if isinstance(n, LetExpr) and HoistLetBinding.LET_EXPR in wanted:
            yield n


def _conditions(stmt: Stmt, wanted: HoistConditional) -> Iterator[Expr]:
    """The conditions in a statement, but for those of assumptions: nobody evaluates them."""
    assumed = {n for assume in nodes_of(stmt, Assume) for n in walk(assume)}
    for n in walk(stmt):
        if n in assumed:
            continue
        match n:
            case If(condition=c) if HoistConditional.IF_ELSE_STMT in wanted:
                yield c
            case IfThenElse(condition=c) if HoistConditional.IF_ELSE_EXPR in wanted:
                yield c
            case Expr() if n.dtype is BOOL and HoistConditional.BOOLEAN_EXPRESSION in wanted:
                yield n


def _parts(condition: Expr, wanted: HoistConditional) -> Iterator[Expr]:
    """A condition, and where any boolean expression may go, what it is a conjunction or disjunction of."""
    yield condition
    if HoistConditional.BOOLEAN_EXPRESSION in wanted:
        match condition:
            case Binary(op="and" | "or", a=a, b=b):
                yield from (*_parts(a, wanted), *_parts(b, wanted))
            case Not(a=a):
                yield from _parts(a, wanted)


def _may_leave(e: Expr, loop: For, inside: set[Var]) -> bool:
    """Whether a value depends on nothing that the loop binds or writes."""
    if isinstance(e, IntImm) or any(v in inside for v in free_vars(e)):
        return False
    read = {n.buffer.data for n in nodes_of(e, Load)}
    written = written_blocks(loop)
    return not read or (EVERYTHING not in written and not read & written)


def _required(condition: Expr, loop: For, inside: set[Var], lets: dict[Var, Expr]) -> Iterator[Expr]:
    """The values of lets that a condition needs, if with them it could leave the loop."""
    within = [v for v in free_vars(condition) if v in inside]
    values = [lets[v] for v in within if v in lets]
    if len(values) == len(within) and all(_may_leave(v, loop, inside) for v in values):
        yield from values


# ------------------------------------------------------------------------------------------------------- moving


def _hoist(session: Session, path: Path, expr: Expr, conditionals: HoistConditional, lets: HoistLetBinding) -> None:
    loop = session.stmt(path)
    named = [n for n in walk(loop) if isinstance(n, (LetStmt, LetExpr)) and n.value is expr]
    if named and (HoistLetBinding.ALL & lets) and not _is_condition(loop, expr, conditionals):
        _hoist_let(session, path, expr, named[0].var)
        return
    session.apply(moves.introduce(path, expr))
    for arm, holds in ((0, True), (1, False)):
        _settle(session, (*path, arm), expr, holds)
    for arm in (0, 1):
        remove_empty(session, (*path, arm))
    if isinstance(session.stmt(path), If):
        trim(session, path)


def _is_condition(loop: Stmt, expr: Expr, conditionals: HoistConditional) -> bool:
    return any(expr is e for c in _conditions(loop, conditionals) for e in _parts(c, conditionals))


def _hoist_let(session: Session, path: Path, value: Expr, like: Var) -> None:
    """Name a value above a loop, and put the names within back."""
    outer = Var.fresh(like.name, like.dtype)
    session.apply(Bind(path, outer, value))
    while inner := session.find(LetStmt, lambda s: s.value is outer, under=(*path, 0)):
        session.apply(Inline(inner[0][0]))

    def inlined(e: Expr) -> Expr:
        e = map_children(e, lambda n: inlined(n) if isinstance(n, Expr) else n)
        return substitute(e.body, {e.var: outer}) if isinstance(e, LetExpr) and e.value is outer else e

    _replace_everywhere(session, (*path, 0), inlined)


def _settle(session: Session, path: Path, condition: Expr, holds: bool) -> None:
    """Decide a condition wherever it stands, now that its value is known.

    :raises TacticFailed: if the kernel does not agree: something in between may change it.
    """
    value = const(holds, BOOL)
    _replace_everywhere(session, path, lambda e: _folded(e, condition, value))


def _folded(e: Expr, condition: Expr, value: Expr) -> Expr:
    """``e`` with the value for the condition, and what follows from that."""
    if e is condition:
        return value
    e = map_children(e, lambda n: _folded(n, condition, value) if isinstance(n, Expr) else n)
    match e:
        case Binary(op="and" | "or" as op, a=a, b=b) if isinstance(a, IntImm) or isinstance(b, IntImm):
            return junction(op, [a, b])
        case Not(a=IntImm() as known):
            return negate(known)
        case IfThenElse(condition=c, true_value=a, false_value=b) | Select(condition=c, true_value=a, false_value=b):
            return choose(type(e), c, a, b) if isinstance(c, IntImm) else e
    return e


def _replace_everywhere(session: Session, path: Path, new: Callable[[Expr], Expr]) -> None:
    """Rewrite every expression at or below a place for which ``new`` gives another one."""
    while True:
        found = next(_first_change(session.stmt(path), new), None)
        if found is None:
            return
        where, at_expr, replacement = found
        stmt = session.stmt((*path, *where))
        if isinstance(stmt, If) and at_expr == (0,) and isinstance(replacement, IntImm):
            session.apply(moves.decide((*path, *where), bool(replacement.value)))
            continue
        session.apply(rewritten((*path, *where), *narrowed(stmt, at_expr, replacement)))


def _first_change(root: Stmt, new: Callable[[Expr], Expr]) -> Iterator[tuple[Path, ExprPath, Expr]]:
    for where, stmt in places(root, lambda s: not isinstance(s, type(SKIP))):
        for k, e in enumerate(expressions(stmt)):
            changed = new(e)
            if changed is not e:
                yield where, (k,), changed
