"""Attributes, and versions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from onnx import AttributeProto, helper, numpy_helper

from tests.graph.malformed.case import Case, changed, nodes_of

_NUMBERS = (-1, 0, 7, 2**31, -(2**63), 2**63 - 1)


def attributes() -> Iterator[Case]:
    """Each attribute of each operator: gone, twice, of another type, with other values."""
    for base in ("operators", "control", "functions"):
        for k, n in enumerate(nodes_of(base)):
            for j, a in enumerate(n.attribute):
                where = f"attribute: {a.name} of {n.name}"

                def change(what: str, f: Callable[[Any], Any], k: int = k, j: int = j, where: str = where,
                           base: str = base, node: str = n.name) -> Case:  # fmt: skip
                    return changed(f"{where} {what}", base, lambda m: f(m.graph.node[k].attribute[j]), node)

                def other(what: str, f: Callable[[Any], Any], change: Any = change) -> Case:
                    """The node may be legal as it is then, and its result not fit into another one."""
                    return change(what, f, node="node ")

                yield changed(
                    f"{where} is missing", base, lambda m, k=k, j=j: m.graph.node[k].attribute.pop(j), "node "
                )
                yield changed(f"{where} stands twice", base, lambda m, k=k, j=j: _twice(m.graph.node[k], j), n.name)
                yield change("is a string", lambda a: _attribute(a, "one"))
                yield change("is a tensor", lambda a: _attribute(a, numpy_helper.from_array(np.ones(1, np.float32))))
                yield change("has no type", lambda a: a.ClearField("type"))
                yield change("is another's", lambda a: setattr(a, "ref_attr_name", "outer"))
                yield change("has another name", lambda a: setattr(a, "name", "Other"))
                if a.type == AttributeProto.INT:
                    for v in _NUMBERS:
                        yield other(f"is {v}", lambda a, v=v: setattr(a, "i", v))
                elif a.type == AttributeProto.INTS:
                    yield other("is empty", lambda a: a.ClearField("ints"))
                    yield other("has one number more", lambda a: a.ints.append(1))
                    for v in _NUMBERS:
                        yield other(f"begins with {v}", lambda a, v=v: a.ints.__setitem__(0, v))
                elif a.type == AttributeProto.FLOAT and n.op_type != "LRN":  # onnxruntime takes others than ONNX does
                    for x in (float("nan"), float("inf"), 0.0):
                        yield other(f"is {x}", lambda a, x=x: setattr(a, "f", x))
                elif a.type == AttributeProto.STRING:
                    for s in (b"", b"\xff\xfe", b"OTHER" * 1000):
                        yield other(f"is {len(s)} bytes", lambda a, s=s: setattr(a, "s", s))


def _twice(node: Any, j: int) -> None:
    node.attribute.append(node.attribute[j])


def _attribute(a: Any, value: Any) -> None:
    new = helper.make_attribute(a.name, value)
    a.CopyFrom(new)


def versions() -> Iterator[Case]:
    """Opsets and versions of the format."""
    for version in (0, -1, 1, 6, 999, 2**62):
        yield changed(
            f"version: opset {version}", "operators", lambda m, v=version: setattr(m.opset_import[0], "version", v)
        )
    for version in (0, -1, 2, 99, 2**62):
        yield changed(
            f"version: of the format {version}", "operators", lambda m, v=version: setattr(m, "ir_version", v)
        )
    yield changed("version: no opset", "operators", lambda m: m.ClearField("opset_import"))
    yield changed("version: no format", "operators", lambda m: m.ClearField("ir_version"))
    yield changed("version: two opsets", "operators", lambda m: m.opset_import.add(domain="", version=11))
    yield changed(
        "version: two names of one domain", "operators", lambda m: m.opset_import.add(domain="ai.onnx", version=11)
    )
    yield changed("version: another domain's only", "operators", lambda m: setattr(m.opset_import[0], "domain", "ours"))
    yield changed("version: of a function, none", "functions", lambda m: m.functions[0].ClearField("opset_import"))
    yield changed(
        "version: of a function, older", "functions", lambda m: setattr(m.functions[0].opset_import[0], "version", 6)
    )
    yield changed(
        "version: of a function, unknown",
        "functions",
        lambda m: setattr(m.functions[0].opset_import[0], "version", 999),
    )
