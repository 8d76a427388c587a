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
from verified_tir.ir.calls import is_pure
from verified_tir.ir.expr import Call, StringImm
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Evaluate, Seq

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


_BY_NAME = frozenset({
    "call_extern", "call_pure_extern", "call_packed", "call_cpacked", "tvm_call_packed", "tvm_call_cpacked",
})  # fmt: skip
"""Calls whose first argument is the name of the function."""


def called_outside(func: PrimFunc) -> str | None:
    """The name of the function from outside that a program calls, if the call is all that the program does."""
    call = _only_call(func)
    if call is None:
        return None
    first = call.args[0] if call.args else None
    return first.value if call.op in _BY_NAME and isinstance(first, StringImm) else call.op


def passed_outside(func: PrimFunc) -> list[int]:
    """Which parameters that call passes, by number; what is no parameter is not passed on."""
    call = _only_call(func)
    data = [b.data for b in func.buffers]
    return [data.index(a) for a in call.args if a in data] if call is not None else []


def _only_call(func: PrimFunc) -> Call | None:
    body = func.body.stmts[0] if isinstance(func.body, Seq) and len(func.body.stmts) == 1 else func.body
    value = body.value if isinstance(body, Evaluate) else None
    return value if isinstance(value, Call) and not is_pure(value.op) else None
