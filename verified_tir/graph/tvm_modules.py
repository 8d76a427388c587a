"""Functions of Relax as graphs: printed by TVM, read by our parser.

TVM's objects are taken as they are; TVM itself is not needed, except by who has such an object.
"""

from __future__ import annotations

import sys
from typing import Any

from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import Array, Graph
from verified_tir.graph.text import parse_graph


def graph_of(module: Any, name: str = "main") -> Graph:
    """A function of Relax in a ``tvm.IRModule``, with the PrimFuncs that it calls and its constants.

    :raises GraphError: if there is no such function, or something in it that a graph cannot have: control flow, a call
        of another function of Relax, a type that is not a tensor.
    """
    functions = {g: f for g, f in module.functions.items() if type(f).__name__ == "PrimFunc"}
    found = next(((g, f) for g, f in module.functions.items() if g.name_hint == name), None)
    if found is None or type(found[1]).__name__ != "Function":
        have = ", ".join(g.name_hint for g, f in module.functions.items() if type(f).__name__ == "Function")
        raise GraphError(f"the module has no function of Relax called {name}; it has {have or 'none'}")
    functions[found[0]] = found[1]
    return parse_graph(type(module)(functions).script(), _constants(found[1]), name, name=name)


def _constants(function: Any) -> dict[str, Array]:
    """The arrays of a function's constants, as its text numbers those that it does not write out."""
    found: list[Any] = []

    def visit(e: Any) -> None:
        is_large = type(e).__name__ == "GenericConst" and e.value.ndim > 0
        if is_large and not any(e.same_as(c) for c in found):
            found.append(e)

    sys.modules["tvm"].relax.analysis.post_order_visit(function, visit)
    return {f"metadata[{k}]": c.value.numpy() for k, c in enumerate(found)}
