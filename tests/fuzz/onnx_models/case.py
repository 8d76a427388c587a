"""ONNX models as cases of tests: nodes, inputs with their elements, constants; as a protocol buffer, and as source.

The results of all nodes are outputs, unless it is asked for less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, final

import ml_dtypes
import numpy as np

from tests.parts.literals import argument_text
from verified_tir.graph.element_types import SMALL
from verified_tir.graph.ir import Array

IR_VERSION = 10
"""What onnxruntime reads, whatever the package ``onnx`` writes."""


@final
@dataclass(frozen=True)
class OnnxNode:
    """A node: an operator, names of operands (empty where one is left out) and of results, attributes."""

    op: str
    operands: tuple[str, ...]
    results: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)


@final
@dataclass(frozen=True, eq=False)
class OnnxModel:
    """A model and what it is run on.

    :ivar types: the element type of each result, by name.
    :ivar layout: which layout convolutions and pools shall have when the graph is planned, as in ``NCHW4c``.
    :ivar pad: which dimensions are padded then; ``fuse``: whether rewrites are put into programs beside them.
    """

    opset: int
    nodes: tuple[OnnxNode, ...]
    inputs: Mapping[str, Array]
    constants: Mapping[str, Array]
    types: Mapping[str, str]
    layout: str = "NCHW4c"
    pad: str = "always"
    fuse: bool = False

    def without(self, k: int) -> OnnxModel:
        """The model without its k-th node, and without those that need its results."""
        gone = set(self.nodes[k].results) - {""}
        kept = list(self.nodes[:k])
        for node in self.nodes[k + 1 :]:
            if gone.isdisjoint(node.operands):
                kept.append(node)
            else:
                gone |= set(node.results) - {""}
        return replace(self, nodes=tuple(kept))

    def results(self) -> list[str]:
        """The names of all results."""
        return [r for n in self.nodes for r in n.results if r]

    def unused(self) -> list[str]:
        """The names of results that no node takes."""
        taken = {o for n in self.nodes for o in n.operands}
        return [r for r in self.results() if r not in taken]

    def used_inputs(self) -> dict[str, Array]:
        """The inputs that a node takes."""
        taken = {o for n in self.nodes for o in n.operands}
        return {n: a for n, a in self.inputs.items() if n in taken}

    def proto(self, outputs: Sequence[str] | None = None, values: Mapping[str, Array] | None = None) -> Any:
        """The model (``onnx.ModelProto``), in which the k-th node is called ``n<k>``.

        :param outputs: names of results; all of them unless given.
        :param values: arrays whose shapes the results are to have.
        """
        shapes = {} if values is None else {n: a.shape for n, a in values.items()}
        from onnx import helper, numpy_helper

        taken = {o for n in self.nodes for o in n.operands}
        graph = helper.make_graph(
            [node_proto(n, k, self.opset) for k, n in enumerate(self.nodes)],
            "model",
            [helper.make_tensor_value_info(n, element(a.dtype), a.shape) for n, a in self.used_inputs().items()],
            [
                helper.make_tensor_value_info(n, element(self.types[n]), shapes.get(n))
                for n in (self.results() if outputs is None else outputs)
            ],
            [numpy_helper.from_array(a, n) for n, a in self.constants.items() if n in taken],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])
        model.ir_version = IR_VERSION
        return model


def element(dtype: Any) -> int:
    """The number that ONNX has for an element type, given by its name or NumPy's type."""
    from onnx import helper

    return int(helper.np_dtype_to_tensor_dtype(numpy_type(str(dtype))))


def numpy_type(name: str) -> np.dtype[Any]:
    """NumPy's type of a name."""
    return np.dtype(getattr(ml_dtypes, name)) if name in SMALL or name == "bfloat16" else np.dtype(name)


def single(node: OnnxNode, model: OnnxModel, values: Mapping[str, Array]) -> OnnxModel:
    """The model of one node of a model: operands that are constants there are here, the others are inputs."""
    names = [n for n in node.operands if n]
    return OnnxModel(
        model.opset, (node,), {n: values[n] for n in names if n not in model.constants},
        {n: model.constants[n] for n in names if n in model.constants}, {r: model.types[r] for r in node.results if r},
        model.layout, model.pad, model.fuse,
    )  # fmt: skip


def node_proto(node: OnnxNode, k: int, opset: int) -> Any:
    """The k-th node of a model (``onnx.NodeProto``)."""
    from onnx import defs, helper, numpy_helper

    made = helper.make_node(node.op, list(node.operands), list(node.results), name=f"n{k}")
    for name, value in node.attributes.items():
        kind = None
        if isinstance(value, (list, tuple)) and not value:  # of which type an empty list is, the schema says
            known: Any = defs.get_schema(node.op, opset, "").attributes
            kind = int(known[name].type.value) if name in known else None
        given = numpy_helper.from_array(value) if isinstance(value, np.ndarray) else value
        made.attribute.append(helper.make_attribute(name, given, attr_type=kind))
    return made


# -- source ------------------------------------------------------------------------------------------------------------


def array_text(array: Array) -> str:
    """The source of an array, for which ``array_of`` and ``small_of`` must be known."""
    if str(array.dtype) not in SMALL:
        return argument_text(array)
    return f'small_of("{array.dtype}", {array.shape!r}, "{array.astype(array.dtype).tobytes().hex()}")'


def small_of(dtype: str, shape: Sequence[int], text: str) -> Array:
    """An array of floats of 8 bits and less, or of integers of less, from a byte for each element in hexadecimal."""
    return np.frombuffer(bytearray.fromhex(text), numpy_type(dtype)).reshape(tuple(shape))


def model_text(model: OnnxModel) -> str:
    """The source of a model."""

    def arrays(of: Mapping[str, Array]) -> str:
        return (
            "{" + "".join(f"\n        {n!r}: {array_text(a)}," for n, a in of.items()) + ("\n    " if of else "") + "}"
        )

    taken = {o for n in model.nodes for o in n.operands}
    nodes = "".join(
        f"\n        OnnxNode({n.op!r}, {n.operands!r}, {n.results!r}, {_attributes(n.attributes)}),"
        for n in model.nodes
    )
    types = {r: model.types[r] for r in model.results()}
    return (
        f"OnnxModel(\n    {model.opset},\n    ({nodes}\n    ),\n    {arrays(model.used_inputs())},\n"
        f"    {arrays({n: a for n, a in model.constants.items() if n in taken})},\n    {types!r},\n"
        f"    layout={model.layout!r}, pad={model.pad!r}, fuse={model.fuse!r},\n)"
    )


def _attributes(given: Mapping[str, Any]) -> str:
    return "{" + ", ".join(f"{k!r}: {v!r}" for k, v in given.items()) + "}"


__all__ = [
    "OnnxModel",
    "OnnxNode",
    "array_text",
    "element",
    "model_text",
    "node_proto",
    "numpy_type",
    "single",
    "small_of",
]
