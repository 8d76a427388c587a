"""What passes are for, in numbers: the fewer, the better.  For ``tvm_passes.py``."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from verified_tir.ir.expr import Binary, Expr, IfThenElse, IntImm, LetExpr, Load, Select
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.stmt import (
    Allocate,
    AttrStmt,
    Block,
    DeclBuffer,
    For,
    If,
    LetStmt,
    Seq,
    Stmt,
    Store,
    While,
)  # fmt: skip
from verified_tir.ir.visit import children, nodes_of

SYMBOL = 8
"""What an extent counts for that is not a constant."""
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


def _extent(e: Expr) -> int:
    return e.value if isinstance(e, IntImm) else SYMBOL


def _count(kind: type[Node], wanted: Callable[[Node], bool] = lambda _: True) -> Callable[[PrimFunc], float]:
    def count(func: PrimFunc) -> float:
        return sum(wanted(n) for n in nodes_of(func.body, kind))

    return count


def _comparisons(node: Node) -> int:
    return sum(b.op in COMPARISONS for b in nodes_of(node, Binary))


def conditions(func: PrimFunc) -> float:
    """Branches and choices, and the comparisons that they make."""
    choices = [*nodes_of(func.body, If), *nodes_of(func.body, IfThenElse), *nodes_of(func.body, Select)]
    return len(choices) + _comparisons(func.body)


def decisions(func: PrimFunc) -> float:
    """About how many comparisons are made when the program runs."""

    def of(node: Node, times: float) -> float:
        found = 0.0
        match node:
            case For(extent=extent):
                times *= max(_extent(extent), 0)
            case If(condition=c):
                found = times * max(_comparisons(c), 1)
            case IfThenElse(condition=c) | Select(condition=c):
                found = times * max(_comparisons(c), 1)
        return found + sum(of(n, times) for n in children(node))

    return of(func.body, 1.0)


def allocated(func: PrimFunc) -> float:
    """Bytes of all blocks of memory."""
    buffers = [s.buffer for s in nodes_of(func.body, Allocate)]
    buffers += [b for s in nodes_of(func.body, Block) for b in s.alloc_buffers]
    return sum(b.dtype.nbytes * prod(_extent(e) for e in b.shape) for b in buffers)


def dimensions(func: PrimFunc) -> float:
    """The most indices that an access has."""
    accesses = [*nodes_of(func.body, Load), *nodes_of(func.body, Store)]
    return max((len(a.indices) for a in accesses), default=0)


def size(func: PrimFunc) -> float:
    """Nodes of all expressions."""

    def of(node: Node) -> int:
        return isinstance(node, Expr) + sum(map(of, children(node)))

    return of(func.body)


MEASURES: dict[str, Callable[[PrimFunc], float]] = {
    "conditions": conditions,
    "decisions": decisions,
    "bytes": allocated,
    "dimensions": dimensions,
    "size": size,
    "statements": _count(Stmt, lambda s: not isinstance(s, (Seq, Block, DeclBuffer))),
    "loads": _count(Load),
    "stores": _count(Store),
    "loops": lambda func: len(nodes_of(func.body, For)) + len(nodes_of(func.body, While)),
    "lets": lambda func: len(nodes_of(func.body, LetExpr)) + len(nodes_of(func.body, LetStmt)),
    "marked": _count(For, lambda s: isinstance(s, For) and s.kind == "vectorized"),
    "marks": lambda func: (
        len(nodes_of(func.body, AttrStmt))
        + sum(len(s.annotations) for s in nodes_of(func.body, For))
        + sum(len(s.annotations) for s in nodes_of(func.body, Allocate))
    ),
}
"""By what a table calls them."""
