"""Functions of Relax as graphs, and graphs as modules of Relax: printed by the one, read by the other."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax

from verified_tir.graph.ir import Array, Graph
from verified_tir.graph.text import parse_graph
from verified_tir.graph.write_relax import large_constants, relax_text


def graph_of(module: Any, name: str = "main") -> Graph:
    """A function of a ``tvm.IRModule``, with the PrimFuncs that it calls.

    :param name: the function of Relax.
    :raises GraphError: if there is something in it that a graph cannot have: control flow, another function of Relax,
        a type that is not a tensor.
    """
    function = module[name]
    others = {g: f for g, f in module.functions.items() if not isinstance(f, relax.Function)}
    text = tvm.IRModule({**others, function_name(module, name): function}).script()
    return parse_graph(text, _constants(function), name, name=name)


def function_name(module: Any, name: str) -> Any:
    """The global variable of a function."""
    return module.get_global_var(name)


def module_of(graph: Graph) -> tuple[Any, dict[str, Array]]:
    """The graph as a ``tvm.IRModule``, and the arrays of the parameters that are its large constants."""
    return tvm.script.from_source(relax_text(graph)), large_constants(graph)


def _constants(function: Any) -> dict[str, Array]:
    """The arrays of a function's constants as its text numbers those that it does not write out."""
    found: list[Any] = []

    def visit(e: Any) -> None:
        is_large = isinstance(e, tvm.ir.GenericConst) and e.value.numpy().ndim > 0
        if is_large and not any(e.same_as(c) for c in found):
            found.append(e)

    relax.analysis.post_order_visit(function, visit)
    return {f"metadata[{k}]": c.value.numpy() for k, c in enumerate(found)}
