"""Operators that ONNX defines by other operators: the nodes of their definitions take their place.

The definitions are those of the package ``onnx``; there is no other here for these operators.  Some depend on the
attributes and types of a node.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verified_tir.graph.onnx.control import rename


def definition(node: Any, opset: int, types: Mapping[str, Any], prefix: str) -> list[Any] | None:
    """The nodes that do what a node does, with values of the same names outside and new names inside; ``None`` if its
    schema has no definition.

    :param types: ``onnx.TypeProto`` of each operand.
    :param prefix: what new names begin with.
    """
    import onnx
    from onnx import defs

    schema: Any = defs.get_schema(node.op_type, opset, node.domain)
    body: Any = None
    versions = [v for v in schema.function_opset_versions if v <= opset]
    dependent = [v for v in schema.context_dependent_function_opset_versions if v <= opset]
    if versions:
        body = _parsed(onnx.FunctionProto(), schema.get_function_with_opset_version(max(versions)))
    elif dependent:
        operands = [types[n].SerializeToString() if n else b"" for n in node.input]
        text = schema.get_context_dependent_function_with_opset_version(
            max(dependent), node.SerializeToString(), operands
        )
        body = _parsed(onnx.FunctionProto(), text) if text else None
    return None if body is None else _instance(node, body, schema, prefix)


def _parsed(made: Any, text: Any) -> Any:
    if not isinstance(text, bytes):
        return text
    made.ParseFromString(text)
    return made


def _instance(node: Any, body: Any, schema: Any, prefix: str) -> list[Any]:
    """The nodes of a definition with the node's operands, results and attributes."""
    import onnx

    names = dict.fromkeys(body.input, "") | dict(zip(body.input, node.input, strict=False))
    names |= {k: v for k, v in zip(body.output, node.output, strict=False) if v}
    given = {a.name: a for a in node.attribute}
    defaults = {a.name: a for a in body.attribute_proto}
    defaults |= {n: a.default_value for n, a in schema.attributes.items() if a.default_value.name}

    def renamed(name: str) -> str:
        return names.setdefault(name, f"{prefix}{name}") if name else ""

    found: list[Any] = []
    for inner in body.node:
        made = onnx.NodeProto()
        made.CopyFrom(inner)
        del made.output[:], made.attribute[:]
        made.output.extend(renamed(n) for n in inner.output)
        made.name = f"{node.name or node.op_type}/{inner.name or inner.op_type}"
        for a in inner.attribute:
            source = (given.get(a.ref_attr_name) or defaults.get(a.ref_attr_name)) if a.ref_attr_name else a
            if source is not None:
                kept = made.attribute.add()
                kept.CopyFrom(source)
                kept.name = a.name
                kept.ref_attr_name = ""
        rename(made, renamed)  # operands, and names from outside in the graphs of its attributes
        found.append(made)
    return found


__all__ = ["definition"]
