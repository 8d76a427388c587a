"""Nodes that an external function computes (BYOC): it accepts certain layouts, and the planner chooses among them.

The program of the node says what the function computes, on tensors as their indices say; in other layouts, the program
that is proved to compute the same says it.  That the function does so is nobody's to prove: each plan lists it among
its assumptions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from verified_tir.graph.ir import Node
from verified_tir.graph.layouts import Layout
from verified_tir.ir.func import PrimFunc

if TYPE_CHECKING:
    from verified_tir.graph.options import Option, Options


@final
@dataclass(frozen=True, slots=True, eq=False)
class External:
    """An external function, and the layouts that it accepts: pairs (of operands, of results), one at least.

    :param functions: for a node whose program is opaque itself: a program for each of ``accepts``, ``None`` for the
        node's own.  Nothing can be proved of these, and they are listed among the assumptions.
    """

    name: str
    accepts: Sequence[tuple[Sequence[Layout], Sequence[Layout]]]
    functions: Sequence[PrimFunc | None] = field(default=())

    def function(self, options: Options, node: Node, option: Option) -> PrimFunc | None:
        """The opaque program for an option of a node, if one was given."""
        for layouts, func in zip(self.accepts, self.functions, strict=False):
            if func is not None and options.option(node, *layouts) == option:
                return func
        return None
