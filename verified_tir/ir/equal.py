"""Structural equality modulo the names of bound variables.

Two statements are equal when they differ only in the variables that they bind.  Whole functions also match their
parameters, shape symbols and buffers position by position.  Names never matter, types and extents always do.
"""

from __future__ import annotations

from dataclasses import replace

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import VOID, PointerType
from verified_tir.ir.expr import Var
from verified_tir.ir.func import IRModule, PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.stmt import Block
from verified_tir.ir.visit import bound_vars, nodes_of, rewrite, substitute


def structural_equal(a: Node, b: Node, *, map_free: bool = False) -> bool:
    """Whether the trees are equal modulo the names of bound variables.

    ``map_free`` also lets free variables correspond (one to one); functions and modules always do that, since their
    parameters and shape symbols are bound by the function.

    Both trees are equal to one with numbers for variables, so each is the other with its variables replaced, one for
    one; those that are not bound must be the same.
    """
    (form, variables), (other, others) = _numbered(a), _numbered(b)
    if form is not other or map_free or isinstance(a, (PrimFunc, IRModule)):
        return form is other
    bound = {*bound_vars(a)}  # for which stand those that the other one binds
    return all(x is y or x in bound for x, y in zip(variables, others, strict=True))


def _numbered(node: Node) -> tuple[Node, tuple[Var, ...]]:
    """The tree without names, its variables numbered in the order of their first occurrence; and these variables.

    What a pointer points to is said by the buffers over it.
    """
    unnamed = rewrite(node, lambda n: replace(n, name="") if isinstance(n, (Buffer, PrimFunc, Block)) else None)
    variables = nodes_of(unnamed, Var)
    numbers = {}
    for k, v in enumerate(variables):
        numbers[v] = Var("", PointerType(VOID, v.type.scope) if isinstance(v.type, PointerType) else v.type, k)
    return substitute(unnamed, numbers), variables
