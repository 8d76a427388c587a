"""Graphs as text (``graph.text``): writing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from verified_tir.graph.names import Names, identifier
from verified_tir.graph.sizes import dim_text
from verified_tir.index.map import IndexMap
from verified_tir.ir.expr import Expr
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import script

if TYPE_CHECKING:
    from verified_tir.graph.ir import Array, Graph, Node, Value

SMALL = 16
"""Constants of so many elements are written out."""


def graph_text(graph: Graph) -> str:
    """The graph as text; equal PrimFuncs are written once."""
    values = names_of(graph)
    name = identifier(graph.name)
    functions, names = _functions(graph, {*values.values(), name})
    lines = [f"{script(f).partition(chr(10) * 2)[2]}\n\n" for f in functions]
    lines += ["@R.function", f"def {name}({', '.join(f'{values[v]}: {v.type}' for v in graph.inputs)}):"]
    if graph.zero_with:
        lines.append(f'    R.func_attr({{"zero_with": {_attribute(graph.zero_with)}}})')
    lines += [f"    {values[v]} = {_constant(v, array)}" for v, array in graph.constants.items()]
    lines += [f"    {_node(n, names, values)}" for n in graph.nodes]
    results = ", ".join(values[v] for v in graph.outputs)
    lines.append(f"    return {results if len(graph.outputs) == 1 else f'({results})'}")
    return "\n".join(lines)


def names_of(graph: Graph) -> dict[Value, str]:
    """The names of values in the text: their own, where these can be written and differ."""
    names = Names()
    return {v: names.fresh(identifier(v.name)) for v in graph.values()}


def _functions(graph: Graph, taken: Iterable[str]) -> tuple[list[PrimFunc], dict[PrimFunc, str]]:
    """The PrimFuncs under names that differ from each other and from the values."""
    fresh = Names(taken).fresh
    functions = dict.fromkeys(n.func for n in graph.nodes if n.func is not None)
    names = {f: fresh(identifier(f.name)) for f in functions}
    return [PrimFunc(name, f.params, f.buffer_map, f.body, f.attrs, f.ret_type) for f, name in names.items()], names


def is_written(array: Array) -> bool:
    """Whether the elements of a constant stand in the text."""
    return array.size <= SMALL and array.dtype.kind in "biuf" and bool(np.isfinite(array).all())


def _constant(v: Value, array: Array) -> str:
    if is_written(array):
        if array.size == 0 and array.ndim > 1:  # a list does not say how long the rows are that there are none of
            return f"R.const([], {v.type})"
        return f'R.const({array.tolist()}, "{v.dtype}")'
    return f"R.constant({v.type})"


def _node(n: Node, names: Mapping[PrimFunc, str], values: Mapping[Value, str]) -> str:
    results = ", ".join(values[v] for v in n.outputs)
    inputs = ", ".join(values[v] for v in n.inputs)
    if n.func is not None:
        types = ", ".join(str(v.type) for v in n.outputs)
        types = types if len(n.outputs) == 1 else f"[{types}]"
        tuple_ = f"({inputs},)" if len(n.inputs) == 1 else f"({inputs})"
        return f"{results} = R.call_tir({names[n.func]}, {tuple_}, out_sinfo={types})"
    attrs = [f"{k}={_attribute(v)}" for k, v in n.attrs.items()]
    return f"{results} = R.{n.op}({', '.join([*([inputs] if inputs else []), *attrs])})"


def _attribute(value: Any) -> str:
    if isinstance(value, IndexMap):
        return str(value)
    if isinstance(value, Expr):
        return dim_text(value)
    if isinstance(value, np.generic):
        return _attribute(value.item())
    if isinstance(value, (list, tuple)):
        inner = ", ".join(map(_attribute, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, float) and not np.isfinite(value):
        return f'float("{value}")'
    return repr(value)
