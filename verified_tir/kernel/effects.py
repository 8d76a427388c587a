"""Effects of statements and expressions: which blocks they may read and write, and whose address escapes."""

from __future__ import annotations

from verified_tir import ir

EVERYTHING = ir.Var.fresh("every block in reach of an opaque call", ir.HANDLE)


def written_blocks(node: ir.Node) -> set[ir.Var]:
    """The blocks that a statement or an expression may write: those stored to, and all in reach of an opaque call."""
    return {*effects(node)[1]}


def read_blocks(*nodes: ir.Node) -> set[ir.Var]:
    """Blocks that statements or expressions may read."""
    return {block for n in nodes for block in effects(n)[0]}


def opaque_calls(*nodes: ir.Node) -> bool:
    """Whether one of some statements or expressions contains an opaque call."""
    return any(EVERYTHING in effects(n)[1] for n in nodes)


def address_taken(block: ir.Var, *nodes: ir.Node) -> bool:
    """Whether the address of a block is taken: its pointer is mentioned itself, and not only as that of a buffer, so
    that a call may get it, through a let or a choice perhaps."""
    return any(block in ir.children(n) for root in nodes for n in ir.walk(root) if not isinstance(n, ir.Buffer))


def escapes(block: ir.Var, *nodes: ir.Node) -> bool:
    """Whether the address of a block may escape to an opaque call: it is taken, or the call may take that of an
    element."""
    calls = [call for root in nodes for call in ir.nodes_of(root, ir.Call) if not ir.is_pure(call.op)]
    return address_taken(block, *nodes) or any(block in ir.walk(call) for call in calls)


@ir.once
def assumes(stmt: ir.Stmt) -> bool:
    """Whether a statement contains an assumption or an assertion: then it leaves a fact about memory."""
    return bool(ir.nodes_of(stmt, ir.Assume) or ir.nodes_of(stmt, ir.Assert))


@ir.once
def effects(node: ir.Node) -> tuple[tuple[ir.Var, ...], tuple[ir.Var, ...]]:
    """The blocks that a statement or an expression may read, and those that it may write, in the order of the
    program."""
    reads, writes = list[ir.Var](), list[ir.Var]()
    match node:
        case ir.Load(buffer=b):
            reads.append(b.data)
        case ir.Store(buffer=b):
            writes.append(b.data)
        case ir.Call(op=op) if not ir.is_pure(op):
            reads, writes = [EVERYTHING], [EVERYTHING]
    for part in ir.children(node):
        of_reads, of_writes = effects(part)
        reads += of_reads
        writes += of_writes
    return tuple(dict.fromkeys(reads)), tuple(dict.fromkeys(writes))
