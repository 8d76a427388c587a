"""Simplify: shorter index arithmetic, decided branches, loops that run once or never.

The simplifier of the schedule layer, run until nothing changes any more (at most :data:`ROUNDS` times: each round
leaves a program that is shorter or has fewer branches).

What is known of memory is used: ``A[0] = 3; B[0] = A[0] + 1`` stores 4 (RFC 77: "padding values may be used in later
simplifications").  A store of what was just read, ``A[i] = A[i]``, goes.

With ``canonical``, index arithmetic is also brought to one form, ``4 * i + j`` for ``i * 4 + j`` and ``j + i * 4``,
even where that is not shorter: what is equal then looks equal, and is computed once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import final

from verified_tir.index.bounds import Bounds
from verified_tir.index.fold import size
from verified_tir.index.simplify import Simplifier
from verified_tir.ir.expr import Expr, IntImm, Load, Var
from verified_tir.ir.index_arith import is_index
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Allocate, Block, For, Seq, Stmt, Store
from verified_tir.ir.visit import sub_statements
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.rewrite import ExprPath, Rewrite, expressions
from verified_tir.lower.passes import Lowering, Pass
from verified_tir.schedule.edits import rewritten
from verified_tir.schedule.session import Session
from verified_tir.schedule.tactics.contextual import contextual_rewrites
from verified_tir.schedule.tactics.propagate import propagate_values
from verified_tir.schedule.tactics.simplify import attempt_all, simplify
from verified_tir.schedule.tactics.tidy import remove_empty
from verified_tir.schedule.tactics.view_offsets import shorten_views

ROUNDS = 4
GROWTH = 2
"""A canonical form that is so many times as long is not taken."""


@final
@dataclass(frozen=True, repr=False)
class Simplify(Pass):
    """Simplify the program.

    :ivar canonical: whether to bring index arithmetic to one form, too.
    """

    canonical: bool = False

    def lower(self, work: Lowering) -> None:
        for _ in range(ROUNDS):
            before = work.session.func
            attempt_all(work.session, contextual_rewrites(work.session))
            shorten_views(work.session)
            _store_back(work.session)
            propagate_values(work.session)
            simplify(work.session)
            remove_empty(work.session)
            if work.session.func is before:
                break
        if self.canonical:
            attempt_all(work.session, list(_canonical(work.session.func.body, (), {})))


def _store_back(session: Session) -> None:
    """Erase stores of what an element holds already, ``A[i] = A[i]``."""

    def is_back(s: Store) -> bool:
        return s.value is Load(s.buffer, s.indices, s.predicate)

    work = session.find(Store, is_back)
    for path, _ in reversed(work):
        session.attempt(Erase(path))


def _canonical(stmt: Stmt, path: Path, ranges: Mapping[Var, tuple[Expr, Expr]]) -> Iterator[Rewrite]:
    """Index arithmetic that is not in its normal form, at or below a statement."""
    if not isinstance(stmt, (Allocate, Block, Seq, For)):
        simplifier = Simplifier(Bounds(ranges))
        for k, e in enumerate(expressions(stmt)):
            yield from (rewritten(path, where, new) for where, new in _normal(e, (k,), simplifier))
    inner = {**ranges, stmt.var: (stmt.min, stmt.extent)} if isinstance(stmt, For) else ranges
    for k, sub in enumerate(sub_statements(stmt)):
        yield from _canonical(sub, (*path, k), inner)


def _normal(e: Expr, where: ExprPath, simplifier: Simplifier) -> Iterator[tuple[ExprPath, Expr]]:
    """The normal forms of the largest parts that are integer index arithmetic."""
    if e.dtype.is_int and e.dtype.lanes == 1 and not isinstance(e, (Var, IntImm, Load)) and is_index(e):
        new = simplifier.expr(e)
        if new is not e and new.dtype is e.dtype and size(new) <= GROWTH * size(e):
            yield where, new
        return
    for k, sub in enumerate(expressions(e)):
        yield from _normal(sub, (*where, k), simplifier)
