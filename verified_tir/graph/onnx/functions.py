"""Operators that are defined by other operators: the nodes of their definitions take their place.

The definitions are those of the package ``onnx``, of which some depend on the attributes and types of a node (there is
no other here for these operators), or functions of the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from verified_tir.graph.errors import GraphError
from verified_tir.graph.onnx.control import free_names, graphs_in, rename
from verified_tir.graph.onnx.schema import opset_of

Key: TypeAlias = "tuple[str, str, str]"
"""Domain, name and overload of a function."""


def definition(node: Any, opset: int, types: Mapping[str, Any], prefix: str) -> tuple[list[Any], int] | None:
    """The nodes that do what a node does, with values of the same names outside and new names inside, and the opset
    that they are of; ``None`` if its schema has no definition.

    An operator that did not change may have been defined in a later opset only: that definition is taken.

    :param types: ``onnx.TypeProto`` of each operand.
    :param prefix: what new names begin with.
    """
    import onnx
    from onnx import defs

    schema: Any = defs.get_schema(node.op_type, opset, node.domain)
    body: Any = None
    versions = schema.function_opset_versions
    dependent = schema.context_dependent_function_opset_versions
    if versions:
        body = _parsed(onnx.FunctionProto(), schema.get_function_with_opset_version(_version(versions, opset)))
    elif dependent:
        operands = [types[n].SerializeToString() if n else b"" for n in node.input]
        text = schema.get_context_dependent_function_with_opset_version(
            _version(dependent, opset), node.SerializeToString(), operands
        )
        body = _parsed(onnx.FunctionProto(), text) if text else None
    if body is None:
        return None
    defaults = {n: a.default_value for n, a in schema.attributes.items() if a.default_value.name}
    nodes = _instance(node, body, defaults | {a.name: a for a in body.attribute_proto}, prefix)
    return nodes, opset_in(body, opset)


def _version(versions: Sequence[int], opset: int) -> int:
    """Of the opsets in which an operator was defined anew, the last one that the model knows, or the first."""
    return max((v for v in versions if v <= opset), default=min(versions))


def opset_in(body: Any, opset: int) -> int:
    """The opset that the nodes of a function are of; that of the model if it does not say."""
    return opset_of(body) if any(i.domain in ("", "ai.onnx") for i in body.opset_import) else opset


def _parsed(made: Any, text: Any) -> Any:
    if not isinstance(text, bytes):
        return text
    made.ParseFromString(text)
    return made


def local_functions(model: Any) -> dict[Key, Any]:
    """The functions of a model (``onnx.FunctionProto``).

    :raises GraphError: if it is not clear which of two is meant.
    """
    from onnx import defs

    found: dict[Key, Any] = {}
    for f in model.functions:
        key = "" if f.domain == "ai.onnx" else f.domain, f.name, f.overload
        if key in found:
            raise GraphError(f"there are two functions {f.name} in the domain {f.domain}")
        if not key[0] and defs.has(f.name):
            raise GraphError(f"the function {f.name} is named like an operator of ONNX; which is meant is not defined")
        found[key] = f
    return found


def key_of(node: Any) -> Key:
    """By what a node says which function it calls."""
    return "" if node.domain == "ai.onnx" else node.domain, node.op_type, node.overload


def called(node: Any, body: Any, prefix: str) -> list[Any]:
    """The nodes of a function of the model that a node calls.

    :raises GraphError: if the node does not have the operands, results and attributes that the function has.
    """
    for what, here, there in (("operands", node.input, body.input), ("results", node.output, body.output)):
        if len(here) > len(there):
            raise GraphError(f"it has {len(here)} {what}; the function has {len(there)}")
        if len(set(there)) != len(there):
            raise GraphError(f"the {what} of the function have one name twice")
    defaults = {a.name: a for a in body.attribute_proto}
    outside = free_names(node)[sum(map(bool, node.input)) :]
    if outside:  # in the function that name is another one's
        raise GraphError(f"a graph that it hands to the function takes {outside[0]} from outside")
    given = [a.name for a in node.attribute]
    for name in given:
        if name not in body.attribute and name not in defaults:
            raise GraphError(f"the function has no attribute {name}")
        if given.count(name) > 1:
            raise GraphError(f"the attribute {name} stands twice")
    for name in body.attribute:
        if name not in given:
            raise GraphError(f"the attribute {name} is missing")
    computed = {n for inner in body.node for n in inner.output} | {*body.input}
    for n in body.output:
        if n not in computed:
            raise GraphError(f"the result {n} of the function is computed nowhere")
    return _instance(node, body, defaults, prefix)


def _instance(node: Any, body: Any, defaults: Mapping[str, Any], prefix: str) -> list[Any]:
    """The nodes of a definition with the node's operands, results and attributes."""
    import onnx

    names = dict.fromkeys(body.input, "") | dict(zip(body.input, node.input, strict=False))
    passed = [(k, v) for k, v in zip(body.output, node.output, strict=False) if v and k in names]
    names |= {k: v for k, v in zip(body.output, node.output, strict=False) if v and k not in names}
    attributes = {**defaults, **{a.name: a for a in node.attribute}}

    def renamed(name: str) -> str:
        return names.setdefault(name, f"{prefix}{name}") if name else ""

    found: list[Any] = []
    for inner in body.node:
        made = onnx.NodeProto()
        made.CopyFrom(inner)
        _fill(made, attributes)
        rename(made, renamed)
        for k, n in enumerate(inner.output):
            made.output[k] = renamed(n)
        made.name = f"{node.name or node.op_type}/{inner.name or inner.op_type}"
        found.append(made)
    found += [onnx.helper.make_node("Identity", [names[k]], [v], name=node.name) for k, v in passed]
    return found


def _fill(node: Any, attributes: Mapping[str, Any]) -> None:
    """Put attributes in the place of references to them, also in graphs in a node; those that are not given go."""
    every = list(node.attribute)
    del node.attribute[:]
    for a in every:
        source = attributes.get(a.ref_attr_name) if a.ref_attr_name else a
        if source is None:
            continue
        kept = node.attribute.add()
        kept.CopyFrom(source)
        kept.name, kept.ref_attr_name = a.name, ""
        for graph in graphs_in(kept):
            for inner in graph.node:
                _fill(inner, attributes)
