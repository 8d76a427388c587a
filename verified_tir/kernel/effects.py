"""What statements may read and write."""

from __future__ import annotations

from verified_tir.ir.calls import is_pure
from verified_tir.ir.dtype import HANDLE
from verified_tir.ir.expr import Call, Load, Var
from verified_tir.ir.node import once
from verified_tir.ir.stmt import (
    Assert,
    Assume,
    Stmt,
    Store,
)  # fmt: skip
from verified_tir.ir.visit import children, walk

EVERYTHING = Var.fresh("every block in reach of an opaque call", HANDLE)


def written_blocks(stmt: Stmt) -> set[Var]:
    """Blocks that a statement may write: stores, and everything in reach of an opaque call (``reachable``)."""
    return {*effects(stmt)[1]}


def read_blocks(stmt: Stmt) -> set[Var]:
    """Blocks that a statement may read."""
    return {*effects(stmt)[0]}


@once
def assumes(stmt: Stmt) -> bool:
    """Whether something is known of memory where a statement has ended: an assumption stands in it."""
    return any(isinstance(n, (Assume, Assert)) for n in walk(stmt))


@once
def effects(stmt: Stmt) -> tuple[tuple[Var, ...], tuple[Var, ...]]:
    """What a statement may read and write, in the order of the program."""
    reads: dict[Var, None] = {}
    writes: dict[Var, None] = {}
    if isinstance(stmt, Store):
        writes[stmt.buffer.data] = None
    for part in children(stmt):
        if isinstance(part, Stmt):  # what statements in it do is known, or known from now on
            of_reads, of_writes = effects(part)
            reads.update(dict.fromkeys(of_reads))
            writes.update(dict.fromkeys(of_writes))
            continue
        for n in walk(part):
            if isinstance(n, Load):
                reads[n.buffer.data] = None
            elif isinstance(n, Call) and not is_pure(n.op):
                reads[EVERYTHING] = writes[EVERYTHING] = None
    return tuple(reads), tuple(writes)


def opaque_calls(node: Stmt) -> bool:
    """Whether an opaque call stands in a statement."""
    return EVERYTHING in effects(node)[1]
