"""Blocks mean what they expand to."""

from __future__ import annotations

from verified_tir.ir.expr import TRUE, Binary, Expr, Load
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node, once
from verified_tir.ir.stmt import Allocate, Block, If, LetStmt, Stmt, seq
from verified_tir.ir.sugar import all_of
from verified_tir.ir.visit import map_children, substitute, walk


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
    lets = [iv for iv in block.iter_vars if any(isinstance(n, Load) for n in walk(iv.value))]
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
