"""What passes share: removing what holds nothing, asking whether something occurs."""

from __future__ import annotations

from verified_tir.ir.paths import Path, places
from verified_tir.ir.stmt import SKIP, Allocate, AttrStmt, Block, DeclBuffer, For, If, LetStmt, Stmt
from verified_tir.kernel.rules.erase import Erase
from verified_tir.lower.passes import Lowering


def is_empty(stmt: Stmt) -> bool:
    """Whether a statement holds nothing (sequences of nothing are nothing already)."""
    match stmt:
        case (
            For(body=body) | LetStmt(body=body) | Allocate(body=body) | DeclBuffer(body=body) | Block(body=body)
            | AttrStmt(body=body)
        ):  # fmt: skip
            return body is SKIP
        case If(then_body=body, else_body=other):
            return body is SKIP and (other is None or other is SKIP)
    return False


def remove_empty(work: Lowering) -> None:
    """Erase loops, branches, lets, labels and allocations around nothing, from the inside out.

    One that may not be erased (its condition is an opaque call) stays.
    """
    kept: set[Path] = set()
    while True:
        found = [p for p, _ in places(work.session.func.body, is_empty) if p not in kept]
        if not found:
            return
        if not work.session.attempt(Erase(found[-1])):
            kept.add(found[-1])
