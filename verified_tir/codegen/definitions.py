"""What the names of a program are bound to, and what is stored where."""

from __future__ import annotations

from typing import Final, final

from verified_tir.ir.expr import (
    Binary,
    Broadcast,
    Call,
    Cast,
    Expr,
    FloatImm,
    IfThenElse,
    IntImm,
    LetExpr,
    Load,
    Select,
    Shuffle,
    Var,
)
from verified_tir.ir.node import Node
from verified_tir.ir.stmt import LetStmt, Stmt, Store
from verified_tir.ir.visit import children, walk

ORDERS: Final = ("lt", "le", "gt", "ge")
"""The comparisons that choose the smaller or the larger one."""


def is_order(e: Binary) -> bool:
    """Whether an operator chooses or tells the smaller or the larger one of two floats."""
    return (e.op in ORDERS or e.op in ("min", "max")) and e.a.dtype.is_float


def is_literal(e: Expr) -> bool:
    """Whether an expression is a number, or one in all lanes."""
    return isinstance(e, (FloatImm, IntImm)) or (isinstance(e, Broadcast) and is_literal(e.value))


@final
class Definitions:
    """What names are bound to, and what is stored to each block of memory.

    :ivar stored: the stores to a block, by its data variable.
    """

    def __init__(self, body: Stmt) -> None:
        self._bound: dict[Var, Expr] = {}
        self._constant: dict[Expr, bool] = {}
        self.stored: dict[Expr, list[Store]] = {}
        for n in walk(body):
            if isinstance(n, (LetStmt, LetExpr)):
                self._bound[n.var] = n.value
            elif isinstance(n, Store):
                self.stored.setdefault(n.buffer.data, []).append(n)

    def get(self, e: Expr) -> Expr:
        """An expression, or what the name that it is stands for."""
        while isinstance(e, Var) and e in self._bound:
            e = self._bound[e]
        return e

    def place(self, e: Expr) -> Node:
        """What names a value: the memory of a load, else the expression.  (What is computed has many names.)"""
        e = self.get(e)
        return e.buffer.data if isinstance(e, Load) else e

    def constant(self, e: Expr) -> bool:
        """Whether LLVM might find an expression to be constant, from what it is made of alone."""
        e = self.get(e)
        if not e.dtype.is_float:
            return True
        found = self._constant.get(e)
        if found is None:
            match e:
                case Load(buffer=buffer):
                    found = buffer.data in self.stored
                case Binary() | Cast() | Call() | Select() | IfThenElse() | Broadcast() | LetExpr() | Shuffle():
                    found = any(self.constant(child) for child in children(e) if isinstance(child, Expr))
                case _:
                    found = not isinstance(e, Var)
            self._constant[e] = found
        return found


__all__ = ["ORDERS", "Definitions", "is_literal", "is_order"]
