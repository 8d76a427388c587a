"""Small repairs of the text that a step leaves: constants folded, nested guards joined.

Each change is a ``rewrite`` of the kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from verified_tir.index.conditions import conjuncts
from verified_tir.index.fold import folded
from verified_tir.ir.expr import Binary, Expr, IntImm, Load, Var
from verified_tir.ir.node import Node
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import SKIP, Allocate, AttrStmt, Block, DeclBuffer, For, If, LetStmt, Seq, Stmt
from verified_tir.ir.visit import sub_statements, substitute, walk
from verified_tir.kernel.rules.rewrite import ExprPath, expressions
from verified_tir.schedule import moves, rule_builders
from verified_tir.schedule.edits import rewritten
from verified_tir.schedule.session import Session


def fold_at(session: Session, *paths: Path) -> None:
    """Fold constants in everything at or below the places."""
    for path in paths:
        for where, at, new in list(_proposals(session.stmt(path), path)):
            session.attempt(rewritten(where, at, new))


def fold_bounds(session: Session, path: Path) -> None:
    """Fold constants in the bounds of one loop."""
    loop = session.at(path, For)
    for _, where, new in list(_bounds(loop, path)):
        session.attempt(rewritten(path, where, new))


def _proposals(stmt: Stmt, path: Path) -> Iterator[tuple[Path, ExprPath, Expr]]:
    if isinstance(stmt, For):
        yield from _bounds(stmt, path)
    elif not isinstance(stmt, (Allocate, Block, Seq)):
        for k, e in enumerate(expressions(stmt)):
            yield from ((path, where, new) for where, new in _shorter(e, (k,)))
    for k, sub in enumerate(sub_statements(stmt)):
        yield from _proposals(sub, (*path, k))


def _bounds(loop: For, path: Path) -> Iterator[tuple[Path, ExprPath, Expr]]:
    for k, e in enumerate((loop.min, loop.extent)):
        new = folded(e)
        if new is not e:
            yield path, (k,), new


def _shorter(e: Expr, where: ExprPath) -> Iterator[tuple[ExprPath, Expr]]:
    """The largest subexpressions that are index arithmetic or conditions and can be folded."""
    if (e.dtype.is_int or e.dtype.is_bool) and not isinstance(e, (Var, IntImm, Load)):
        new = folded(e)
        if new is not e:
            yield where, new
            return
    for k, sub in enumerate(expressions(e)):
        yield from _shorter(sub, (*where, k))


def run_once(session: Session, path: Path) -> int:
    """Replace a loop of one iteration by its body, constants folded; gives how many statements stand there now."""
    loop = session.at(path, For)
    session.apply(rule_builders.run_once(path))
    spliced = isinstance(loop.body, Seq) and bool(path) and isinstance(session.stmt(path[:-1]), Seq)
    count = len(loop.body.stmts) if spliced and isinstance(loop.body, Seq) else 1
    if mentions(loop.body, loop.var):
        fold_at(session, *[(*path[:-1], path[-1] + k) for k in range(count)] if path else [path])
    return count


def join_guards(session: Session, path: Path) -> None:
    """``if a: if b: S`` ⟶ ``if a and b: S`` at the place and in the loops and guards right below it."""
    while True:
        match session.stmt(path):
            case If(then_body=If(else_body=None), else_body=None):
                flatten_guard(session, (*path, 0))
                session.apply(moves.reshape(path, "unnest"))
            case If(else_body=None) | For():
                path = (*path, 0)
            case _:
                return


def flatten_guard(session: Session, path: Path) -> None:
    """``if (a and b) and c`` ⟶ ``if a: if b: if c``, so that joining it to another guard needs no brackets."""
    while isinstance(stmt := session.stmt(path), If) and isinstance(stmt.condition, Binary):
        if stmt.condition.op != "and":
            return
        session.apply(moves.reshape(path, "nest"))


def guards_of(chain: Iterable[Stmt], mapping: Mapping[Var, Expr]) -> tuple[Expr, ...]:
    """The conditions of the guards of a nest, outermost first, one by one, under a substitution."""
    found = [substitute(s.condition, mapping) for s in chain if isinstance(s, If)]
    return tuple(c for condition in found for c in conjuncts(condition))


def mentions(e: Node, var: Var) -> bool:
    """Whether a variable occurs below a node."""
    return any(n is var for n in walk(e))


def is_empty(stmt: Stmt) -> bool:
    """Whether a statement holds nothing (sequences of nothing are nothing already)."""
    match stmt:
        case (
            For(body=body) | LetStmt(body=body) | Allocate(body=body) | DeclBuffer(body=body) | Block(body=body)
            | AttrStmt(body=body)
        ):  # fmt: skip
            return body is SKIP
        case If(then_body=body, else_body=other):
            return body is SKIP and (other is None or other is SKIP)
    return False
