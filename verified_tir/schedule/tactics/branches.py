"""Branches whose condition, or a part of it, is decided."""

from __future__ import annotations

import numpy as np

from verified_tir.index.conditions import conjuncts
from verified_tir.index.evaluate import Grid, NotEvaluable, UnsafeIndex, evaluate
from verified_tir.ir.expr import Expr, IntImm, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Allocate, Assert, Assume, AttrStmt, Block, DeclBuffer, For, If, Seq, Stmt, While
from verified_tir.ir.sugar import all_of
from verified_tir.ir.visit import free_vars, sub_statements, walk
from verified_tir.schedule import moves
from verified_tir.schedule.edits import rewritten
from verified_tir.schedule.session import Session

MOST_VARIABLES = 6
"""So many loops around a branch are looked at, in four iterations each."""


def decide_branches(session: Session, under: Path = ()) -> int:
    """Replace branches whose condition is provably constant by the side taken; gives how many went."""

    def decide(path: Path, stmt: If) -> int:
        taken = sides_taken(session.func, path, stmt.condition)
        return int(
            (False not in taken and session.attempt(moves.decide(path, True)))
            or (True not in taken and session.attempt(moves.decide(path, False)))
        )

    return session.each(If, decide, under=under)


def drop_conjuncts(session: Session, under: Path = ()) -> int:
    """Take parts out of conjunctions that are always true where they stand; gives how many went."""

    def drop(path: Path, stmt: If) -> int:
        parts = conjuncts(stmt.condition)
        left = list(parts)
        for part in parts:
            others = [c for c in left if c is not part]
            if others and False not in sides_taken(session.func, path, part):
                left = others if session.attempt(rewritten(path, (0,), all_of(others))) else left
        return len(parts) - len(left)

    return session.each(If, drop, under=under)


def sides_taken(func: PrimFunc, path: Path, condition: Expr) -> set[bool]:
    """Values that a branch's condition has in some iterations of the loops around it, as far as a few of them tell.

    The kernel cannot prove that it never has such a value, and need not be asked.  Nothing is said of a branch that
    other things decide than loops of constant ranges.
    """
    if any(isinstance(n, (Assume, Assert, While)) for n in walk(func.body)):
        return set()  # not all iterations need be reached
    loops: dict[Var, tuple[int, int]] = {}
    guards: list[tuple[Expr, bool]] = []
    stmt: Stmt = func.body
    for step in path:
        match stmt:
            case For(var=v, min=IntImm(value=low), extent=IntImm(value=n)) if n > 0:
                loops[v] = low, n
            case If(condition=c):
                guards.append((c, step == 0))
            case Allocate() | AttrStmt() | Block() | DeclBuffer() | Seq():
                pass
            case _:
                return set()
        stmt = sub_statements(stmt)[step]
    used = list(dict.fromkeys(v for c in (condition, *(g for g, _ in guards)) for v in free_vars(c)))
    if len(used) > MOST_VARIABLES or any(v not in loops for v in used):
        return set()
    points = np.meshgrid(*(_some(*loops[v]) for v in used), indexing="ij", sparse=True)
    try:
        return _values(condition, guards, dict(zip(used, points, strict=True)))
    except (NotEvaluable, UnsafeIndex):
        return set()


def _some(low: int, extent: int) -> Grid:
    """A few iterations of a loop, the first and the last among them."""
    return np.unique(np.array([low, low + min(1, extent - 1), low + extent // 2, low + extent - 1], dtype=np.int64))


def _values(condition: Expr, guards: list[tuple[Expr, bool]], at: dict[Var, Grid]) -> set[bool]:
    value, *held = evaluate([condition, *(g for g, _ in guards)], at)
    reached = np.asarray(True)
    for holds, (_, wanted) in zip(held, guards, strict=True):
        reached = reached & (holds == wanted)
    return {v for v in (True, False) if bool(np.any((value == v) & reached))}


__all__ = ["decide_branches", "drop_conjuncts", "sides_taken"]
