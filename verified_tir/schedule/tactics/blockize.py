"""blockize: the nest under a loop gets a name, and the regions that it reads and writes.

A block is a label here, so nothing changes.  The regions stand in the label's annotations, as text, ``reads`` and
``writes``.  They are those of ``regions``; each was proved to cover what the nest touches, or is the whole buffer.
"""

from __future__ import annotations

from collections.abc import Sequence

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, Load, Var
from verified_tir.ir.paths import Path
from verified_tir.ir.script import script
from verified_tir.ir.stmt import Allocate, Block, Stmt, Store
from verified_tir.ir.visit import free_vars, nodes_of
from verified_tir.kernel.region import instance
from verified_tir.logic import formula as f
from verified_tir.logic.verdict import Proved
from verified_tir.schedule import codes
from verified_tir.schedule.rule_builders import annotated, labelled
from verified_tir.schedule.session import Handle, Session, fail
from verified_tir.schedule.tactics.regions import box_of
from verified_tir.schedule.tactics.staging import Span, span_around

Region = list[tuple[Expr, Expr]]
"""Start and extent in each dimension."""


def blockize(session: Session, place: Handle | Sequence[str], name: str = "") -> str:
    """Label the nest of a loop, or the statements of some blocks with what stands between them; gives the label:
    ``<block>_o`` unless named, after the first block in the nest, or ``outer_<block>_<block>_`` as in TVM."""
    if isinstance(place, (str, Var)):
        span, otherwise = Span(session.loop(place)[0]), ""
    else:
        if not place:
            raise fail("blockize takes a loop, or the names of blocks", code=codes.WRONG_ARGUMENT)
        span = span_around(session, [session.block(b)[0] for b in place])
        otherwise = f"outer_{'_'.join(place)}_"
    inside = [n.name for stmt in span.stmts(session) for n in nodes_of(stmt, Block)]
    if not name and not inside:
        raise fail("no block stands in the nest to name it after; give a name", span.path, code=codes.NAME_IS_TAKEN)
    called = name or otherwise or f"{inside[0]}_o"
    if session.has_block(called):
        raise fail(
            f"there is a block called {called!r} already; give another name", span.path, code=codes.NAME_IS_TAKEN
        )
    session.apply(labelled(span.path, called, span.count))
    reads, writes = regions(session, span.path)
    session.apply(annotated(span.path, (("reads", reads), ("writes", writes))))
    return called


def regions(session: Session, path: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the statement at a place reads and writes of the buffers from outside, as text."""
    nest = session.stmt(path)
    local = {n.buffer.data for n in nodes_of(nest, Allocate)}
    reads, writes = ([b for b in dict.fromkeys(n.buffer for n in found) if b.data not in local]
                     for found in (nodes_of(nest, Load), nodes_of(nest, Store)))  # fmt: skip
    return (
        tuple(_text(b, _region(session, path, nest, b, write=False)) for b in reads),
        tuple(_text(b, _region(session, path, nest, b, write=True)) for b in writes),
    )


def _region(session: Session, path: Path, nest: Stmt, buffer: Buffer, *, write: bool) -> Region | None:
    """The region, if it was proved to hold all that the statement reads or writes of the buffer."""
    box = box_of(nest, buffer, session.ranges(path), reads=not write, writes=write)
    if box is None:
        return None
    region = [(s.start, s.extent) for s in box.sides]
    context = session.context(path)
    if any(v not in context.env for side in region for e in side for v in free_vars(e)):
        return None  # it says where in terms of what the statement binds itself
    encoder = context.encoder()
    run = instance(context, nest)
    for a in run.outer():
        if a.buffer is not buffer or a.write is not write:
            continue
        inside = [
            f.between(encoder.value(low), x, f.add(encoder.value(low), encoder.value(extent)))
            for x, (low, extent) in zip(a.indices, region, strict=True)
        ]
        verdict, _ = session.prover.prove(run.context, a.given, f.and_(*inside))
        if not isinstance(verdict, Proved):
            return None
    return region


def _text(buffer: Buffer, region: Region | None) -> str:
    if region is None:
        region = [(e * 0, e) for e in buffer.shape]
    return f"{buffer.name}[{', '.join(f'{script(low)}:{script(low + extent)}' for low, extent in region)}]"


__all__ = ["blockize", "regions"]
