"""InjectDoubleBuffer: a buffer that each iteration fills anew gets two halves, used in turn (RFC 63, pass checklist).

    for i in range(n):                                      t = T.alloc_buffer((2, 8), "float32")
        t = T.alloc_buffer((8,), "float32",                 for i in range(n):
            annotations={"double_buffer_scope": 1})  ⟶          for j in range(8):
        for j in range(8):                                          t[i % 2, j] = A[i, j]
            t[j] = A[i, j]                                      … t[i % 2, j] …
        … t[j] …

So an iteration no longer overwrites what the one before may still be reading: filling the one half may run ahead.  The
buffer is marked by the annotation above, or by ``T.attr(t.data, "double_buffer_scope", 1)``, as TVM does.  The chain is
``couple`` (with i in the map) and ``hoist``; an allocation that stands outside of the loop is sunk into it first.  The
buffer keeps its other dimensions, so the pass runs before buffers are flattened.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir.ir.expr import Var
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Allocate, AttrStmt, Block, For, Seq
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import mentions
from verified_tir.kernel.rules.couple import Couple
from verified_tir.lower.passes import Lowering, Pass
from verified_tir.schedule.rule_builders import annotated, moved, unwrapped
from verified_tir.schedule.session import Session, fail
from verified_tir.schedule.tactics.layout import one_of_several

MARK = "double_buffer_scope"
"""The annotation of an allocation, and the key of an attribute (TVM's name)."""


@final
@dataclass(frozen=True, repr=False)
class InjectDoubleBuffer(Pass):
    """Give two halves to every local buffer that is marked.

    A marked buffer that no loop stands around, or of which an iteration reads what another one wrote, is refused.
    """

    def lower(self, work: Lowering) -> None:
        session = work.session
        marked = {s.node for _, s in session.find(AttrStmt, _is_mark)}
        work.each(AttrStmt, lambda path, _: session.apply(unwrapped(path)), _is_mark)
        marked |= {s.buffer.data for _, s in session.find(Allocate, lambda s: MARK in dict(s.annotations))}
        for data in sorted((d for d in marked if isinstance(d, Var)), key=lambda v: v.uid):
            _double(session, data)


def _is_mark(stmt: AttrStmt) -> bool:
    return stmt.key == MARK


def _place(session: Session, data: Var) -> tuple[Path, Allocate]:
    found = session.find(Allocate, lambda s: s.buffer.data is data)
    if not found:
        raise fail(f"{data.name} is marked {MARK}, but it is not a local buffer")
    return found[0]


def _double(session: Session, data: Var) -> None:
    path, allocation = _place(session, data)
    buffer = allocation.buffer
    rest = tuple(pair for pair in allocation.annotations if pair[0] != MARK)
    if rest != allocation.annotations:
        session.apply(annotated(path, rest))
    path, loop = _into_the_loop(session, path, data)
    dtype = loop.var.dtype if not buffer.shape else buffer.shape[0].dtype
    if loop.var.dtype is not dtype:
        raise fail(f"{buffer.name} has extents of type {dtype}, the loop over {loop.var.name} another one", path)
    session.apply(Couple(path, one_of_several(buffer, loop.var % 2, const(2, dtype))))
    while isinstance(session.stmt(path[:-1]), (Block, AttrStmt)):
        session.apply(unwrapped(path[:-1]))
        path = path[:-1]
    session.apply(moved(path[:-1], "hoist"))


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
                        f"{data.name} is marked {MARK}, but is used by several statements outside of a loop", path
                    )
                session.apply(moved(path, "narrow"))
                path, _ = _place(session, data)  # the sequence may have become part of the one around it
            case _:
                if isinstance(parent, For):
                    return path, parent
                raise fail(f"{data.name} is marked {MARK}, but no loop stands around its uses", path)
