"""Assumptions about results.

A float reduction that is summed in another order may give other bits.  Everything that a program does is proved safe
whatever the bits of floats are, except where an ``assume`` says what they are: it could be false of the new bits, and
what was proved from it (an index in bounds) with it.  So no reduction is reassociated in a program that assumes
something of what it computed.  What a buffer held before anything was stored to it is no result: an assumption about
that may stand in front.
"""

from __future__ import annotations

from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.stmt import Assume, Block, For, If, LetStmt, Seq, Stmt, While
from verified_tir.ir.visit import sub_statements, walk
from verified_tir.kernel.effects import EVERYTHING, written_blocks


def of_results(func: PrimFunc) -> Expr | None:
    """What ``func`` assumes that reads, or stands under a condition that reads, what ``func`` may have written."""
    if not any(isinstance(n, Assume) for n in walk(func.body)):
        return None
    written = written_blocks(func.body)
    return _find(func.body, written if EVERYTHING in written else set(), frozenset())  # a call may come at any time


def _find(stmt: Stmt, written: set[Var], computed: frozenset[Var]) -> Expr | None:
    """The same in a statement.

    :param written: blocks that may have been written when it begins.
    :param computed: variables bound to what was read of those.
    """

    def reads(*exprs: Expr) -> bool:
        nodes: list[Node] = [n for e in exprs for n in walk(e)]
        return any(n in written or n in computed for n in nodes) or EVERYTHING in written

    if isinstance(stmt, (For, While)):  # by an earlier iteration, too
        written = written | written_blocks(stmt)
    match stmt:
        case Assume(condition=c) if reads(c):
            return c
        case LetStmt(var=v, value=value) if reads(value):
            computed |= {v}
        case If(condition=c) | While(condition=c) if reads(c):
            return _any_in(stmt)
        case For(min=low, extent=extent) if reads(low, extent):
            return _any_in(stmt)
        case _:
            pass
    for s in sub_statements(stmt):
        found = _find(s, written, computed)
        if found is not None:
            return found
        if isinstance(stmt, (Seq, Block)):
            written = written | written_blocks(s)
    return None


def _any_in(stmt: Stmt) -> Expr | None:
    return next((n.condition for n in walk(stmt) if isinstance(n, Assume)), None)
