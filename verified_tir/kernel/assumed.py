"""Assumptions about results of float reductions, which forbid reassociation.

A float reduction that is summed in another order may give other bits.  Everything that a program does is proved safe
whatever the bits of floats are, except where an ``assume`` says what they are: it could be false of the new bits, and
what was proved from it (an index in bounds) with it.  So no reduction is reassociated in a program that assumes
something of what it computed.  What a buffer held before anything was stored to it is not a result: an assumption about
that may stand in front.

Nor of anything after an assertion or a ``while`` loop that depends on what was computed: in one order the run may end
there, or never get past it, and in another one reach an assumption that is false.
"""

from __future__ import annotations

from collections.abc import Iterator

from verified_tir import ir
from verified_tir.kernel.effects import EVERYTHING, written_blocks


def of_results(func: ir.PrimFunc) -> ir.Expr | None:
    """What ``func`` assumes that reads, or stands under a bound, a condition or a let that reads, what ``func`` may
    have written."""
    written = written_blocks(func.body)
    return next(_dependent(func.body, written if EVERYTHING in written else set()), None)  # a call may come at any time


def _dependent(stmt: ir.Stmt, written: set[ir.Var]) -> Iterator[ir.Expr]:
    """What a statement assumes that depends on a block that may have been written.

    :param written: blocks that may have been written when it begins.
    """
    if isinstance(stmt, (ir.For, ir.While)):  # by an earlier iteration, too
        written = _after(stmt, written)
    evaluated = {n for e in ir.children(stmt) if isinstance(e, ir.Expr) for n in ir.walk(e)}
    if EVERYTHING in written or evaluated & written:
        yield from (n.condition for n in ir.nodes_of(stmt, ir.Assume))
    for s in ir.sub_statements(stmt):
        yield from _dependent(s, written)
        if not isinstance(stmt, ir.If):
            written = _after(s, written)


def _after(stmt: ir.Stmt, written: set[ir.Var]) -> set[ir.Var]:
    """Blocks that may have been written when a statement has run; all, if it may have ended the run for their sake."""
    written = written | written_blocks(stmt)
    stops = any(isinstance(n, (ir.Assert, ir.While)) for n in ir.walk(stmt))
    return {EVERYTHING} if stops and written & {*ir.walk(stmt)} else written
