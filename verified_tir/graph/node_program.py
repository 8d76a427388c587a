"""What a node computes, as a program, and which nodes compute the same."""

from __future__ import annotations

from verified_tir.graph.ir import Node
from verified_tir.graph.operators import legalize
from verified_tir.ir.func import PrimFunc


def program_of(node: Node) -> PrimFunc:
    """What a node computes, results last among its parameters.

    :raises GraphError: if its operator is not known or does not take its operands.
    """
    if node.func is not None:
        return node.func
    return legalize(node.op, [v.type for v in node.inputs], node.attrs, str(node))


def program_key(node: Node) -> object:
    """The same for nodes with one program."""
    if node.func is not None:
        return node.func
    return node.op, repr(sorted(node.attrs.items())), tuple(v.type for v in node.inputs)
