"""What statements may read and write."""

from __future__ import annotations

from verified_tir.ir.calls import is_pure
from verified_tir.ir.dtype import HANDLE
from verified_tir.ir.expr import Call, Load, Var
from verified_tir.ir.node import Node, once
from verified_tir.ir.stmt import Assert, Assume, Stmt, Store
from verified_tir.ir.visit import children, walk

EVERYTHING = Var.fresh("every block in reach of an opaque call", HANDLE)


def written_blocks(node: Node) -> set[Var]:
    """Blocks that a statement or an expression may write: stores, and everything in reach of an opaque call."""
    return {*effects(node)[1]}


def read_blocks(*nodes: Node) -> set[Var]:
    """Blocks that statements or expressions may read."""
    return {block for n in nodes for block in effects(n)[0]}


def opaque_calls(*nodes: Node) -> bool:
    """Whether an opaque call stands in one of some statements or expressions."""
    return any(EVERYTHING in effects(n)[1] for n in nodes)


@once
def assumes(stmt: Stmt) -> bool:
    """Whether something is known of memory where a statement has ended: an assumption stands in it."""
    return any(isinstance(n, (Assume, Assert)) for n in walk(stmt))


@once
def effects(node: Node) -> tuple[tuple[Var, ...], tuple[Var, ...]]:
    """What a statement or an expression may read and write, in the order of the program."""
    reads: dict[Var, None] = {}
    writes: dict[Var, None] = {}
    match node:
        case Load(buffer=b):
            reads[b.data] = None
        case Store(buffer=b):
            writes[b.data] = None
        case Call(op=op) if not is_pure(op):
            reads[EVERYTHING] = writes[EVERYTHING] = None
        case _:
            pass
    for part in children(node):
        of_reads, of_writes = effects(part)
        reads.update(dict.fromkeys(of_reads))
        writes.update(dict.fromkeys(of_writes))
    return tuple(reads), tuple(writes)
