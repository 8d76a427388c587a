"""Make the two arms of a branch equal, where one is a simplified form of the other (RFC 77, "Remove Branching Through
Overcompute").

    if 4 * i + j < 14:                     if 4 * i + j < 14:
        B[i, j] = A[i, j] * 2      ⟶           B[i, j] = A[i, j] * 2         A[i, j] is 0 where 4 * i + j >= 14
    else:                                  else:
        B[i, j] = 0                            B[i, j] = A[i, j] * 2

The condition is false in the else arm, and what is known of memory there may make its statements those of the first
arm; or the other way round.  If the two differ in expressions only, these are rewritten one by one.  Else the
statements of one arm are inserted behind those of the other, where they change nothing, and then what they overwrite is
erased.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from verified_tir.ir.equal import structural_equal
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Block, For, If, LetStmt, Seq, Stmt, Store
from verified_tir.ir.visit import sub_statements, substitute
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.rewrite import ExprPath, expressions
from verified_tir.schedule import codes
from verified_tir.schedule.edits import rewritten
from verified_tir.schedule.session import Session, fail
from verified_tir.schedule.tactics.no_op import erase


def make_equal(session: Session, path: Path) -> None:
    """Give both arms of the branch at ``path`` the same statements.

    :raises TacticFailed: if neither arm can be turned into the other; with what is against it.
    """
    branch = session.at(path, If)
    assert branch.else_body is not None
    arms = (branch.then_body, branch.else_body)

    def made(change: Callable[[Session, Path, Stmt], None], k: int) -> None:
        change(session, (*path, k), arms[1 - k])
        now = session.at(path, If)
        if now.else_body is None or not structural_equal(now.then_body, now.else_body):
            raise fail("the branch does something else where its condition is false", path, code=codes.NOT_OF_THIS_FORM)

    session.first_of(partial(made, change, k) for change in (_rewritten, _replaced) for k in (1, 0))


def _rewritten(session: Session, path: Path, wanted: Stmt) -> None:
    """Rewrite the expressions of the statement at ``path`` to those of one of the same form."""
    found = _differences(session.stmt(path), wanted, (), {})
    if found is None:
        raise fail(
            "the branch does something else where its condition is false", path[:-1], code=codes.NOT_OF_THIS_FORM
        )
    for below, where, new in found:
        session.apply(rewritten((*path, *below), where, new))


def _differences(old: Stmt, new: Stmt, path: Path, names: dict[Var, Expr]) -> list[tuple[Path, ExprPath, Expr]] | None:
    """The expressions in which two statements of one form differ, in the names of the first; ``None`` if the form
    differs."""
    match old, new:
        case (Store(buffer=a), Store(buffer=b)) if a is b and old.predicate is new.predicate is None:
            pass
        case (For(var=v, kind=one), For(var=w, kind=other)) if one == other and v.dtype is w.dtype:
            names = {**names, w: v}
        case (LetStmt(var=v), LetStmt(var=w)) if v.dtype is w.dtype:
            names = {**names, w: v}
        case (Seq(stmts=a), Seq(stmts=b)) if len(a) == len(b):
            pass
        case (If(else_body=a), If(else_body=b)) if (a is None) == (b is None):
            pass
        case (Block(is_label=True), Block(is_label=True)):
            pass
        case _:
            return [] if structural_equal(old, substitute(new, names)) else None
    found: list[tuple[Path, ExprPath, Expr]] = []
    wanted = [substitute(e, names) for e in expressions(new)]
    for k, (x, y) in enumerate(zip(expressions(old), wanted, strict=True)):
        if x.dtype is not y.dtype:
            return None
        if x is not y:
            found.append((path, (k,), y))
    for k, (s, t) in enumerate(zip(sub_statements(old), sub_statements(new), strict=True)):
        inner = _differences(s, t, (*path, k), names)
        if inner is None:
            return None
        found.extend(inner)
    return found


def _replaced(session: Session, path: Path, wanted: Stmt) -> None:
    """Insert a statement behind the one at ``path``, and erase what was there before."""
    old = session.stmt(path)
    count = len(old.stmts) if isinstance(old, Seq) else 1
    session.apply(Insert((*path, count - 1) if isinstance(old, Seq) and count else path, wanted, "after"))
    for k in range(count - 1, -1, -1):
        if not erase(session, (*path, k)):
            raise fail(
                "the branch does something else where its condition is false", path[:-1], code=codes.NOT_OF_THIS_FORM
            )
