"""LoopPartition: a loop is cut where a condition in it changes its mind, so that most of it runs without.

    for i in range((n + 3) // 4):                 for i in range(n // 4):
        for j in range(4):                            for j in range(4):
            if i * 4 + j < n:            ⟶                B[i * 4 + j] = 0
                B[i * 4 + j] = 0                  for i in range(n // 4, (n + 3) // 4):
                                                      for j in range(4):
                                                          if i * 4 + j < n:
                                                              B[i * 4 + j] = 0

A condition is read as ``p >= 0`` or ``p == 0`` for a polynomial p that is linear in the loop's variable; inner loop
variables are put at the value that makes p smallest.  Conditions are those of branches, and those of choices in
expressions (``if_then_else``, ``select``) that are marked ``likely``, or in a loop that is marked itself.  The cut is a
``partition``, after which branches are decided under each part.  A cut after which no comparison less is made in either
part is undone, and so is one that cuts off nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from verified_tir.ir.expr import Binary, Call, Expr, IfThenElse, Not, Select, Var
from verified_tir.ir.find import loop_path
from verified_tir.ir.node import Node
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Annotations, For, If, Stmt
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import nodes_of, sub_statements
from verified_tir.kernel.rules.rewrite import expressions
from verified_tir.lower.passes import Lowering, Pass
from verified_tir.schedule import codes
from verified_tir.schedule.edits import rewritten
from verified_tir.schedule.rule_builders import annotated
from verified_tir.schedule.session import Session, TacticFailed, fail
from verified_tir.schedule.tactics.boundaries import changes, clamped
from verified_tir.schedule.tactics.branches import drop_conjuncts
from verified_tir.schedule.tactics.loops import cut
from verified_tir.schedule.tactics.simplify import simplify, unhinted
from verified_tir.schedule.tactics.tidy import remove_empty

HINT = "pragma_loop_partition_hint"
"""The annotation of a loop that is to be cut (TVM's name)."""


@final
@dataclass(frozen=True, repr=False)
class LoopPartition(Pass):
    """Cut serial and parallel loops at the boundaries of their guards.

    :ivar only_hinted: cut only loops annotated with ``pragma_loop_partition_hint``; the hints are removed.
    :ivar max_cuts: how often the program is cut at most.
    """

    only_hinted: bool = False
    max_cuts: int = 32

    def lower(self, work: Lowering) -> None:
        session = work.session
        hinted = {s.var for _, s in session.find(For, _is_hinted)}
        work.each(For, lambda path, s: session.apply(annotated(path, _without_hint(s))), _is_hinted)
        once: dict[Var, Var] = {}  # the loop that a part was cut from, as it was in the beginning
        tried: set[tuple[Var, Expr]] = set()
        cuts = 0
        while cuts < self.max_cuts:
            found = next(_cuts(session, hinted if self.only_hinted else None, once, tried), None)
            if found is None:
                break
            path, loop, change = found
            tried.add((loop.var, change))
            root = once.get(loop.var, loop.var)
            for mid in clamped(loop, change):
                try:
                    with session.atomic():
                        parts = _partition(session, path, mid)
                except TacticFailed:
                    continue
                tried.add((root, change))
                once.update(dict.fromkeys(parts, root))
                if loop.var in hinted:
                    hinted.update(parts)
                cuts += 1
                break
        else:
            work.note(f"stopped after {cuts} cuts (max_cuts)")
        remove_empty(work.session)


def _partition(session: Session, path: Path, mid: Expr) -> list[Var]:
    """Cut the loop at ``path``, and simplify both parts; gives their variables.

    :raises TacticFailed: if there is nothing to be simplified, or one part never runs.
    """
    tests, of_loop = _tests(session.func.body), _tests(session.stmt(path))
    parts = [s.var for p in cut(session, path, mid) if isinstance(s := session.stmt(p), For)]
    for var in parts:
        place = loop_path(session.func, var)
        if place is None:
            continue
        if session.attempt(rewritten(place, (1,), const(0, var.dtype))):
            raise fail("one part is empty", place, code=codes.NOTHING_TO_CHANGE)
        drop_conjuncts(session, place)
        simplify(session, place)
    if _tests(session.func.body) >= tests + of_loop:
        raise fail("the cut decides no condition", path, code=codes.NOTHING_TO_CHANGE)
    return parts


def _tests(stmt: Stmt) -> int:
    """How many comparisons the branches of a statement make, and its choices."""
    choices: list[If | IfThenElse | Select] = [*nodes_of(stmt, If), *_chosen(stmt)]
    return sum(len(list(_leaves(n.condition))) for n in choices)


def _leaves(condition: Expr) -> Iterator[Expr]:
    """What a condition is made of by ``and``, ``or``, ``not`` and ``likely``."""
    match condition:
        case Binary(op="and" | "or", a=a, b=b):
            yield from _leaves(a)
            yield from _leaves(b)
        case Not(a=a):
            yield from _leaves(a)
        case Call(op="likely", args=(a,)):
            yield from _leaves(a)
        case _:
            yield condition


def _is_hinted(loop: For) -> bool:
    return HINT in dict(loop.annotations)


def _without_hint(loop: For) -> Annotations:
    return tuple((key, value) for key, value in loop.annotations if key != HINT)


def _cuts(
    session: Session, only: set[Var] | None, once: dict[Var, Var], tried: set[tuple[Var, Expr]]
) -> Iterator[tuple[Path, For, Expr]]:
    """Loops, outermost first, with places where a condition in them may change."""
    for path, loop in session.find(For):
        if loop.kind not in ("serial", "parallel") or (only is not None and loop.var not in only):
            continue
        chosen = _choices(loop.body, (), every=loop.var in (only or ()))
        for condition, inner in (*_conditions(loop.body, ()), *chosen):
            for mid in changes(loop, condition, inner):
                if not {(loop.var, mid), (once.get(loop.var, loop.var), mid)} & tried:
                    yield path, loop, mid


def _conditions(stmt: Stmt, inner: tuple[For, ...]) -> Iterator[tuple[Expr, tuple[For, ...]]]:
    """Parts of the conditions of branches below, each with the loops between."""
    if isinstance(stmt, If):
        yield from ((c, inner) for c in _leaves(stmt.condition))
    below = (*inner, stmt) if isinstance(stmt, For) else inner
    for sub in sub_statements(stmt):
        yield from _conditions(sub, below)


def _chosen(node: Node) -> list[IfThenElse | Select]:
    return [*nodes_of(node, IfThenElse), *nodes_of(node, Select)]


def _choices(stmt: Stmt, inner: tuple[For, ...], *, every: bool) -> Iterator[tuple[Expr, tuple[For, ...]]]:
    """Parts of the conditions of choices in expressions that are ``likely``, or of all, each with the loops between."""
    for e in expressions(stmt):
        for n in _chosen(e):
            if every or unhinted(n.condition) is not n.condition:
                yield from ((c, inner) for c in _leaves(n.condition))
    below = (*inner, stmt) if isinstance(stmt, For) else inner
    for sub in sub_statements(stmt):
        yield from _choices(sub, below, every=every)
