"""Programs as nested Python literals, which neither the printer nor the parser of TVMScript has touched.

``tree(node)`` is a list of the class's name and its fields; ``from_tree`` builds the node again.  A failure of printing
or parsing is written down in this form, because in TVMScript it could not be.

    ["Binary", "add", ["Var", "i", ["DType", "int32"], 0], ["IntImm", ["DType", "int32"], 1]]

Tuples stand for tuples, so lists are nodes.  Variables are numbered by their first occurrence.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

from verified_tir.ir import buffer, expr, func, stmt
from verified_tir.ir.dtype import DType, PointerType
from verified_tir.ir.expr import Var
from verified_tir.ir.node import Node

_CLASSES: dict[str, Any] = {
    name: found
    for module in (expr, stmt, buffer, func)
    for name, found in vars(module).items()
    if isinstance(found, type) and issubclass(found, Node) and dataclasses.is_dataclass(found)
}


def tree(node: Node) -> list[Any]:
    """A node as nested lists, tuples, strings and numbers: a Python literal."""
    numbers: dict[Var, int] = {}

    def go(value: object) -> Any:
        match value:
            case DType():
                return ["DType", str(value)]
            case PointerType():
                return ["PointerType", *(go(getattr(value, f.name)) for f in dataclasses.fields(value))]
            case Var(name=name, type=type_):
                return ["Var", name, go(type_), numbers.setdefault(value, len(numbers))]
            case Node():
                fields = dataclasses.fields(value)  # type: ignore[arg-type]
                return [type(value).__name__, *(go(getattr(value, f.name)) for f in fields)]
            case tuple():
                return tuple(go(v) for v in value)
            case float():
                return ["float", value.hex()]
        return value

    found = go(node)
    assert isinstance(found, list)
    return found


def from_tree(literal: list[Any]) -> Any:
    """The node that a tree stands for, with fresh variables.

    :raises ValueError: if a list begins with no class of the IR.
    :raises IRError: if the IR refuses a node.
    """
    variables: dict[int, Var] = {}

    def go(value: Any) -> Any:
        match value:
            case ["DType", name]:
                return DType.parse(name)
            case ["PointerType", *parts]:
                return PointerType(*map(go, parts))
            case ["float", text]:
                return float.fromhex(text)
            case ["Var", name, type_, int(number)]:
                if number not in variables:
                    variables[number] = Var.fresh(name, go(type_))
                return variables[number]
            case [str(name), *parts] if isinstance(value, list):
                if name not in _CLASSES:
                    raise ValueError(f"{name} is not a class of the IR")
                return _CLASSES[name](*map(go, parts))
            case tuple():
                return tuple(map(go, value))
        return value

    return go(literal)


def tree_text(node: Node, width: int = 110) -> str:
    """The tree of a node as Python source, wrapped into lines."""
    return "\n".join(_lines(tree(node), width, ""))


def _lines(value: Any, width: int, tail: str) -> Iterator[str]:
    flat = repr(value) + tail
    if len(flat) <= width or not isinstance(value, (list, tuple)) or not value:
        yield flat
        return
    opening, closing = ("[", "]") if isinstance(value, list) else ("(", ")")
    heads = list(itertools.takewhile(lambda v: not isinstance(v, (list, tuple)), value))
    yield opening + "".join(f"{v!r}, " for v in heads).rstrip()
    for part in value[len(heads) :]:
        yield from ("  " + line for line in _lines(part, width - 2, ","))
    yield closing + tail
