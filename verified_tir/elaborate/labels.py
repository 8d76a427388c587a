"""Labels, which mean nothing."""

from __future__ import annotations

from verified_tir.ir.node import Node
from verified_tir.ir.stmt import Block, Seq, Stmt, seq
from verified_tir.ir.visit import rewrite


def without_labels(stmt: Stmt) -> Stmt:
    """The statement without the labels in it."""

    def visit(n: Node) -> Node | None:
        match n:
            case Block(is_label=True, body=body):
                return body
            case Seq(stmts=stmts):
                return seq(*stmts)
        return None

    return rewrite(stmt, visit)


__all__ = ["without_labels"]
