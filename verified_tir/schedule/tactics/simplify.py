"""Simplify: expressions to shorter ones, decided branches, loops that run once or never.

The simplifier is untrusted; each expression that it changes is a ``rewrite`` of the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator

from verified_tir.ir.expr import Expr, IntImm, Load, Var
from verified_tir.ir.paths import Path, places
from verified_tir.ir.stmt import SKIP, Allocate, Block, For, If, LetStmt, Seq, Stmt
from verified_tir.ir.visit import sub_statements
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.rewrite import ExprPath, Rewrite, expressions
from verified_tir.kernel.rules.unit import Unit
from verified_tir.schedule.bounds import Bounds
from verified_tir.schedule.session import Session
from verified_tir.schedule.simplify_index import Simplifier
from verified_tir.schedule.tactics.branches import decide_branches

Ranges = dict[Var, tuple[Expr, Expr]]


def simplify(session: Session, under: Path = ()) -> int:
    """Simplify everything at or below a place; gives how many changes were made."""
    changed = simplify_expressions(session, under)
    changed += decide_branches(session)
    changed += _trivial_loops(session)
    return changed


def simplify_expressions(session: Session, under: Path = ()) -> int:
    """Replace index expressions and conditions by simpler ones, outermost first."""
    changed = 0
    for path, where, new in list(_proposals(session.stmt(under), under, _ranges_to(session, under))):
        if session.attempt(Rewrite(path, where, new)):
            changed += 1
    return changed


def _ranges_to(session: Session, path: Path) -> Ranges:
    found: Ranges = {}
    stmt: Stmt = session.func.body
    for step in path:
        if isinstance(stmt, For):
            found[stmt.var] = (stmt.min, stmt.extent)
        stmt = sub_statements(stmt)[step]
    return found


def _proposals(stmt: Stmt, path: Path, ranges: Ranges) -> Iterator[tuple[Path, ExprPath, Expr]]:
    if not isinstance(stmt, (Allocate, Block, Seq)):
        simplifier = Simplifier(Bounds(ranges))
        for k, e in enumerate(expressions(stmt)):
            yield from ((path, where, new) for where, new in _simpler(e, (k,), simplifier))
    inner = {**ranges, stmt.var: (stmt.min, stmt.extent)} if isinstance(stmt, For) else ranges
    for k, sub in enumerate(sub_statements(stmt)):
        yield from _proposals(sub, (*path, k), inner)


def _simpler(e: Expr, where: ExprPath, simplifier: Simplifier) -> Iterator[tuple[ExprPath, Expr]]:
    """Proposals for the largest subexpressions that are index arithmetic or conditions."""
    if (e.dtype.is_int or e.dtype.is_bool) and not isinstance(e, (Var, IntImm, Load)):
        new = simplifier.expr(e)
        if new is not e and new.dtype is e.dtype:
            yield where, new
            return
    for k, sub in enumerate(expressions(e)):
        yield from _simpler(sub, (*where, k), simplifier)


def _trivial_loops(session: Session) -> int:
    """Loops of extent one become their body; loops of extent zero and empty branches go."""
    changed = 0
    skipped: set[Stmt] = set()
    while True:
        found = next(iter(places(session.func.body, lambda s: s not in skipped and _trivial(s))), None)
        if found is None:
            return changed
        path, stmt = found
        once = isinstance(stmt, For) and isinstance(stmt.extent, IntImm) and stmt.extent.value == 1
        if session.attempt(Unit(path) if once else Erase(path)):
            changed += 1
        else:
            skipped.add(stmt)


def _trivial(stmt: Stmt) -> bool:
    match stmt:
        case For(extent=IntImm(value=n), kind=kind):
            return n <= 0 or (n == 1 and kind != "thread_binding")
        case For(body=body) | LetStmt(body=body):
            return body is SKIP
        case If(then_body=body, else_body=other):
            return body is SKIP and (other is None or other is SKIP)
        case _:
            return False
