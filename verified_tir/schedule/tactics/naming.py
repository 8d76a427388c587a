"""An expression gets a name, or a temporary buffer, and names give their values back.

    bind_expr:    S[e]           ⟶      let x = e in S[x]        or        x = alloc(1); x[0] = e; S[x[0]]
    inline_let:   the other way round

Where nothing in S writes what e reads, one rule does it all (``bind``).  Otherwise the name comes first, and takes the
place of each occurrence by itself (``rewrite``): the kernel proves that e has the same value there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, LetExpr, Load, Var, const
from verified_tir.ir.node import Node
from verified_tir.ir.paths import Path, places
from verified_tir.ir.script import script
from verified_tir.ir.stmt import LetStmt, Stmt, Store
from verified_tir.ir.visit import bound_vars, free_vars, sub_statements, substitute, walk
from verified_tir.kernel.rules.annotate import Label
from verified_tir.kernel.rules.bind import Bind, Inline
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.rewrite import ExprPath, expressions
from verified_tir.kernel.rules.scope import AllocateBuffer
from verified_tir.schedule.session import Session, fail
from verified_tir.schedule.tactics.inline import expression_at, replace_with


def bind_expr(session: Session, block: str, expression: str, name: str, scope: str | None = None) -> Var | Buffer:
    """Name an expression by its text, for all its occurrences in a block; gives the variable, or the buffer.

    :param scope: keep the value in a local buffer of one element in this memory scope; without it a let binds it.
    """
    label, _ = session.block(block)
    value = _expression(session, (*label, 0), expression)
    path = _place(session, (*label, 0), value)
    if scope is None:
        var = Var.fresh(name, value.dtype)
        if not session.attempt(Bind(path, var, value)):
            session.apply(Bind(path, var, value, replace=False))
            _put_in(session, (*path, 0), value, var)
        return var
    if value.dtype.lanes > 1:
        raise fail(f"{expression} has {value.dtype.lanes} lanes; a buffer keeps a scalar", path)
    buffer = Buffer.declare(name, (1,), value.dtype, scope=scope)
    zero = (const(0),)
    session.apply(AllocateBuffer(path, buffer))
    session.apply(Insert((*path, 0), Store(buffer, value, zero)))
    session.apply(Label((*path, 0, 0), name))
    _put_in(session, (*path, 0), value, Load(buffer, zero), first=1)
    return buffer


def inline_let(session: Session, name: str) -> None:
    """Put the value of the let of a name back wherever the name occurs; the let goes."""
    found = [(p, e) for p, e in _lets(session.func.body) if e.var.name == name]
    if len(found) != 1:
        raise fail(f"there {'is no let' if not found else f'are {len(found)} lets'} called {name!r}")
    (path, where), let = found[0]
    if isinstance(let, LetExpr):
        replace_with(session, path, where, substitute(let.body, {let.var: let.value}))
        return
    if session.attempt(Inline(path)):
        return
    _put_in(session, (*path, 0), let.var, let.value)
    session.apply(Inline(path))


def _lets(root: Stmt) -> Iterator[tuple[tuple[Path, ExprPath], LetStmt | LetExpr]]:
    for path, stmt in places(root, lambda s: True):
        if isinstance(stmt, LetStmt):
            yield (path, ()), stmt
        for where, e in _below(stmt, ()):
            if isinstance(e, LetExpr):
                yield (path, where), e


def _below(node: Node, where: ExprPath) -> Iterator[tuple[ExprPath, Expr]]:
    """The expressions of a statement or expression with their positions, the larger ones first."""
    for k, e in enumerate(expressions(node)):
        yield (*where, k), e
        yield from _below(e, (*where, k))


def _put_in(session: Session, path: Path, old: Expr, new: Expr, first: int = 0) -> None:
    """Rewrite every occurrence of an expression at or below a place.

    :param first: the statement of the sequence there to begin with.
    :raises TacticFailed: if it has another value at one of them.
    """
    while True:
        found = next(
            (
                (where, at)
                for where, stmt in places(session.stmt(path), lambda s: True)
                if not where or where[0] >= first
                for at, e in _below(stmt, ())
                if e is old
            ),
            None,
        )
        if found is None:
            return
        where, at = found
        replace_with(session, (*path, *where), at, new)


def _expression(session: Session, path: Path, text: str) -> Expr:
    """The expression of a text at or below a place.

    :raises TacticFailed: if there is none, or different ones (their variables have one name, but are others).
    """
    wanted = _plain(text)
    found: dict[Expr, None] = {}
    others: dict[str, None] = {}
    for where, stmt in places(session.stmt(path), lambda s: True):
        for at, e in _below(stmt, ()):
            shown = script(e)
            if _plain(shown) == wanted:
                found[expression_at(session.stmt((*path, *where)), at)] = None
            others[shown] = None
    if not found:
        raise fail(f"there is no expression {text} in the block; there are {', '.join(list(others)[:8])}", path)
    if len(found) > 1:
        raise fail(f"{text} stands there for {len(found)} expressions of different variables", path)
    return next(iter(found))


def _plain(text: str) -> str:
    """A text without what people leave out: blanks, the types of constants, brackets around the whole."""
    text = re.sub(r"T\.(?:b?float|u?int)\d+\((-?[\d.e+-]+)\)", r"\1", re.sub(r"\s+", "", text))
    while text.startswith("(") and _closes(text) == len(text) - 1:
        text = text[1:-1]
    return text


def _closes(text: str) -> int:
    """Where the bracket that opens a text closes."""
    depth = 0
    for k, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if not depth:
            return k
    return -1


def _place(session: Session, path: Path, value: Expr) -> Path:
    """The outermost statement at or below a place that holds all occurrences of a value and binds none of its
    variables."""
    wanted = set(free_vars(value))
    while True:
        stmt = session.stmt(path)
        holding = [k for k, sub in enumerate(sub_statements(stmt)) if any(n is value for n in walk(sub))]
        if not wanted & set(bound_vars(stmt)):
            return path
        if len(holding) != 1:
            raise fail("the expression stands in several statements, each of which binds a variable of its own", path)
        path = (*path, holding[0])
