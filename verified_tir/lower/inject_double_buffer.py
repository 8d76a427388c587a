"""InjectDoubleBuffer: a buffer that each iteration fills anew gets two halves, used in turn (RFC 63, pass checklist).

    for i in range(n):                                      t = T.alloc_buffer((2, 8), "float32")
        t = T.alloc_buffer((8,), "float32",                 for i in range(n):
            annotations={"double_buffer_scope": 1})  ⟶          for j in range(8):
        for j in range(8):                                          t[i % 2, j] = A[i, j]
            t[j] = A[i, j]                                      … t[i % 2, j] …
        … t[j] …

So an iteration no longer overwrites what the one before may still be reading: filling the one half may run ahead.  With
``prefetch`` it does, as in TVM::

    t = T.alloc_buffer((2, 8), "float32")
    for j in range(8):
        t[0, j] = A[0, j]
    for i in range(n):
        if i + 1 < n:
            for j in range(8):
                t[(i + 1) % 2, j] = A[i + 1, j]
        … t[i % 2, j] …

The buffer is marked by the annotation above, or by ``T.attr(t.data, "double_buffer_scope", 1)``, as TVM does.  The
chain is ``couple`` (with i in the map), ``hoist`` and ``reorder``; an allocation that stands outside of the loop is
sunk into it first.  The buffer keeps its other dimensions, so the pass runs before buffers are flattened.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

from verified_tir.ir.expr import Var
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Allocate, AttrStmt, Block, Evaluate, For, If, Seq, Stmt
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import mentions
from verified_tir.kernel.effects import written_blocks
from verified_tir.kernel.rules.couple import Couple
from verified_tir.kernel.rules.reorder import Link, Reorder
from verified_tir.lower.passes import Lowering, Pass
from verified_tir.schedule import codes
from verified_tir.schedule.moves import builder
from verified_tir.schedule.rule_builders import annotated, moved, unwrapped
from verified_tir.schedule.session import Session, fail
from verified_tir.schedule.tactics.branches import decide_branches
from verified_tir.schedule.tactics.layout import one_of_several
from verified_tir.schedule.tactics.loops import pair_at
from verified_tir.schedule.tactics.simplify import simplify

MARK = "double_buffer_scope"
"""The annotation of an allocation, and the key of an attribute (TVM's name)."""


@final
@dataclass(frozen=True, repr=False)
class InjectDoubleBuffer(Pass):
    """Give two halves to every local buffer that is marked.

    A marked buffer that no loop stands around, or of which an iteration reads what another one wrote, is refused; with
    ``prefetch`` also one that is not filled by the first statements of the loop's body, or whose filling needs what the
    rest of an iteration computes.

    :ivar prefetch: fill the half for the next iteration before the current one is used.
    """

    prefetch: bool = False

    def lower(self, work: Lowering) -> None:
        session = work.session
        marked = {s.node for _, s in session.find(AttrStmt, _is_mark)}
        work.each(AttrStmt, lambda path, _: session.apply(unwrapped(path)), _is_mark)
        marked |= {s.buffer.data for _, s in session.find(Allocate, lambda s: MARK in dict(s.annotations))}
        for data in sorted((d for d in marked if isinstance(d, Var)), key=lambda v: v.uid):
            path = _double(session, data)
            if self.prefetch:
                _ahead(session, path, session.at(path[:-1], Allocate).buffer.data)


def _is_mark(stmt: AttrStmt) -> bool:
    return stmt.key == MARK


def _place(session: Session, data: Var) -> tuple[Path, Allocate]:
    found = session.find(Allocate, lambda s: s.buffer.data is data)
    if not found:
        raise fail(f"{data.name} is marked {MARK}, but it is not a local buffer", code=codes.A_PARAMETER)
    return found[0]


def _double(session: Session, data: Var) -> Path:
    """Give two halves to a buffer; gives the place of the loop that alternates."""
    path, allocation = _place(session, data)
    buffer = allocation.buffer
    rest = tuple(pair for pair in allocation.annotations if pair[0] != MARK)
    if rest != allocation.annotations:
        session.apply(annotated(path, rest))
    path, loop = _into_the_loop(session, path, data)
    dtype = loop.var.dtype if not buffer.shape else buffer.shape[0].dtype
    if loop.var.dtype is not dtype:
        raise fail(
            f"{buffer.name} has extents of type {dtype}, the loop over {loop.var.name} another one",
            path,
            code=codes.TYPES_DIFFER,
        )
    session.apply(Couple(path, one_of_several(buffer, loop.var % 2, const(2, dtype))))
    while isinstance(session.stmt(path[:-1]), (Block, AttrStmt)):
        session.apply(unwrapped(path[:-1]))
        path = path[:-1]
    session.apply(moved(path[:-1], "hoist"))
    return path


def _ahead(session: Session, path: Path, data: Var) -> None:
    """Run the statements that fill the buffer one iteration ahead in the loop at ``path``.

    :raises TacticFailed: if they do not come first, or may not run earlier.
    """
    loop = session.at(path, For)
    stmts = loop.body.stmts if isinstance(loop.body, Seq) else (loop.body,)
    filling = [k for k, s in enumerate(stmts) if data in written_blocks(s)]
    if not filling or filling[-1] + 1 == len(stmts):
        raise fail(f"nothing in the loop over {loop.var.name} comes after the filling of {data.name}", path)
    session.apply(_run_ahead(path, filling[-1] + 1))
    head, rest = pair_at(session, path)
    simplify(session, rest)
    if isinstance(session.stmt(head), If):
        decide_branches(session, head)
    simplify(session, head)


@builder
def _run_ahead(stmt: Stmt, path: Path, count: int) -> Reorder | str:
    """``for i in [a, b): A(i); B(i)`` ⟶ ``if a < b: A(a)`` then ``for i in [a, b): if i + 1 < b: A(i + 1); B(i)``."""
    if not (isinstance(stmt, For) and isinstance(stmt.body, Seq)):
        return "not a loop over a sequence"
    i, low, end = stmt.var, stmt.min, stmt.min + stmt.extent
    p = Var.fresh(i.name, i.type)
    first, ahead, now = (Evaluate(const(k)) for k in range(3))
    body = Seq((If(p + 1 < end, ahead), now))
    new = Seq((If(low < end, first), replace(stmt, var=p, body=body)))
    links = (Link(0, 0, (low,), ()), Link(0, 1, (p + 1,), (i - 1,)), Link(1, 2, (p,), (i,)))
    leaves = ((0, 0), count), ((0, count), len(stmt.body.stmts) - count)
    return Reorder(path, 1, leaves, new, links)


def _into_the_loop(session: Session, path: Path, data: Var) -> tuple[Path, For]:
    """The allocation as the body of the loop that is to alternate: the innermost around it, or the one right below."""
    while True:
        stmt = session.at(path, Allocate)
        above = path
        while above and isinstance(session.stmt(above[:-1]), (Block, AttrStmt)):
            above = above[:-1]
        parent = session.stmt(above[:-1]) if above else None
        match stmt.body:
            case For() as loop if not isinstance(parent, For):
                session.apply(moved(path, "sink"))
                return (*path, 0), loop
            case Seq(stmts=stmts) if not isinstance(parent, For):
                used = [k for k, s in enumerate(stmts) if mentions(s, frozenset({data}))]
                if len(used) != 1:
                    raise fail(
                        f"{data.name} is marked {MARK}, but is used by several statements outside of a loop",
                        path,
                        code=codes.STANDS_ELSEWHERE,
                    )
                session.apply(moved(path, "narrow"))
                path, _ = _place(session, data)  # the sequence may have become part of the one around it
            case _:
                if isinstance(parent, For):
                    return path, parent
                raise fail(
                    f"{data.name} is marked {MARK}, but no loop stands around its uses",
                    path,
                    code=codes.STANDS_ELSEWHERE,
                )
