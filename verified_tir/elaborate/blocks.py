"""Blocks mean what they expand to."""

from __future__ import annotations

from verified_tir.ir.expr import TRUE, Binary, Expr, Load
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node, once
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Allocate, Block, If, IterVar, LetStmt, Seq, Stmt, seq
from verified_tir.ir.sugar import all_of
from verified_tir.ir.visit import map_children, sub_statements, substitute, walk


def expand_blocks(func: PrimFunc) -> PrimFunc:
    """The function with every block replaced by what it means."""
    return func.with_body(expand(func.body))


@once
def expand(stmt: Stmt) -> Stmt:
    """The statement with every block in it replaced by what it means."""

    def visit(child: Node) -> Node:
        return expand(child) if isinstance(child, Stmt) else child

    inner = map_children(stmt, visit)
    return expand_block(inner) if isinstance(inner, Block) and not inner.is_label else inner


def expand_block(block: Block) -> Stmt:
    """Bindings substituted (or bound, if they read memory), ``init`` run at the start of the reduction."""
    body = block.body
    if block.init is not None:
        conditions = starts(block)
        body = seq(If(all_of(conditions), block.init) if conditions else block.init, body)
    for b in reversed(block.alloc_buffers):
        body = Allocate(b, body)
    condition = block.predicate
    lets = _bound_by_lets(block)
    plain = {iv.var: iv.value for iv in block.iter_vars if iv not in lets}
    body, condition = substitute(body, plain), substitute(condition, plain)
    body = Block.label(block.name, body, block.annotations)
    if condition is not TRUE:
        body = If(condition, body)
    for iv in reversed(lets):
        body = LetStmt(iv.var, iv.value, body)
    return body


def starts(block: Block) -> list[Expr]:
    """The conditions under which an instance of a block is the first of its reduction."""
    return [Binary("eq", iv.var, iv.min) for iv in block.iter_vars if iv.kind == "reduce"]


def place_as_written(stmt: Stmt, path: Path) -> Path:
    """Where a statement of the expansion of ``stmt`` stands in ``stmt``; what a block adds is the block's own."""
    if not path:
        return ()
    if not isinstance(stmt, Block) or stmt.is_label:
        k, *rest = path
        return (k, *place_as_written(sub_statements(stmt)[k], tuple(rest)))
    around = len(_bound_by_lets(stmt)) + (stmt.predicate is not TRUE) + 1 + len(stmt.alloc_buffers)
    inside = path[around:]
    if not inside:
        return ()
    if stmt.init is None:
        return (0, *place_as_written(stmt.body, inside))
    k, *rest = inside
    guarded = bool(starts(stmt))
    first = 1 if guarded else _length(stmt.init)
    if k >= first:
        return (1, *place_as_written(stmt.body, (k - first, *rest) if isinstance(stmt.body, Seq) else tuple(rest)))
    if guarded:
        return (0, *place_as_written(stmt.init, tuple(rest[1:])))
    return (0, *place_as_written(stmt.init, inside if isinstance(stmt.init, Seq) else tuple(rest)))


def _length(stmt: Stmt) -> int:
    """How many statements a statement is in a sequence that it becomes part of."""
    return len(stmt.stmts) if isinstance(stmt, Seq) else 1


def _bound_by_lets(block: Block) -> list[IterVar]:
    """The iteration variables whose values read memory."""
    return [iv for iv in block.iter_vars if any(isinstance(n, Load) for n in walk(iv.value))]
