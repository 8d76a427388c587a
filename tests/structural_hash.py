"""A hash of programs that agrees with their structural equality."""

from __future__ import annotations

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType, PointerType
from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.stmt import Block


def structural_hash(node: Node) -> int:
    """A hash that agrees with ``structural_equal(…, map_free=True)``: variables count by first occurrence."""
    order: dict[Var, int] = {}
    memo: dict[Node, int] = {}  # once a node's variables are numbered, it hashes the same wherever it occurs again

    def go(value: object) -> int:
        if isinstance(value, Var):
            return hash(("var", order.setdefault(value, len(order))))
        if isinstance(value, (DType, PointerType)):
            return hash(str(value.element) if isinstance(value, PointerType) else str(value))
        if isinstance(value, Node):
            if value not in memo:
                skip = {"name"} if isinstance(value, (Buffer, PrimFunc, Block)) else set()
                fields = [go(getattr(value, f)) for f in value.__match_args__ if f not in skip]
                memo[value] = hash((type(value).__name__, *fields))
            return memo[value]
        if type(value) is tuple:
            return hash(tuple([go(v) for v in value]))
        if type(value) is float:
            return hash(float.hex(value))
        return hash(value)

    return go(node)
