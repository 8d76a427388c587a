"""Structural equality and hashing modulo the names of bound variables.

Two statements are equal when they differ only in the variables that they bind.  Whole functions also match their
parameters, shape symbols and buffers position by position.  Names never matter, types and extents always do.
"""

from __future__ import annotations

from typing import TypeVar

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType, PointerType
from verified_tir.ir.expr import Var
from verified_tir.ir.func import IRModule, PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.stmt import Block
from verified_tir.ir.visit import bound_vars

T = TypeVar("T")


class _Matcher:
    """A bijection between variables, grown while two trees are compared in step."""

    def __init__(self, bindable_a: set[Var] | None, bindable_b: set[Var] | None) -> None:
        self.forward: dict[Var, Var] = {}
        self.backward: dict[Var, Var] = {}
        self.bindable_a = bindable_a
        self.bindable_b = bindable_b
        self.equal: set[tuple[Node, Node]] = set()

    def var(self, a: Var, b: Var) -> bool:
        if a in self.forward or b in self.backward:
            return self.forward.get(a) is b and self.backward.get(b) is a
        may_bind = (self.bindable_a is None or a in self.bindable_a) and (
            self.bindable_b is None or b in self.bindable_b
        )
        if not may_bind:
            return a is b
        if a.type is not b.type:
            if not (isinstance(a.type, PointerType) and isinstance(b.type, PointerType)):
                return False
            if a.type.scope != b.type.scope:
                return False
        self.forward[a], self.backward[b] = b, a
        return True

    def value(self, a: object, b: object) -> bool:
        if isinstance(a, Node) and isinstance(b, Node):
            return self.node(a, b)
        if type(a) is tuple and type(b) is tuple:
            return len(a) == len(b) and all(self.value(x, y) for x, y in zip(a, b, strict=True))
        if type(a) is not type(b):
            return False
        if type(a) is float and type(b) is float:
            return float.hex(a) == float.hex(b)
        return a == b

    def node(self, a: Node, b: Node) -> bool:
        if type(a) is not type(b):
            return False
        if isinstance(a, (DType, PointerType)):
            return a is b
        if isinstance(a, Var) and isinstance(b, Var):
            return self.var(a, b)
        if (a, b) in self.equal:
            return True
        skip = {"name"} if isinstance(a, (Buffer, PrimFunc, Block)) else set()
        for field in a.__match_args__:
            if field not in skip and not self.value(getattr(a, field), getattr(b, field)):
                return False
        self.equal.add((a, b))
        return True


def structural_equal(a: Node, b: Node, *, map_free: bool = False) -> bool:
    """Whether the trees are equal modulo the names of bound variables.

    ``map_free`` also lets free variables correspond (one to one); functions and modules always do that, since their
    parameters and shape symbols are bound by the function.
    """
    if map_free or isinstance(a, (PrimFunc, IRModule)):
        return _Matcher(None, None).node(a, b)
    return _Matcher(set(bound_vars(a)), set(bound_vars(b))).node(a, b)
