"""What ONNX's own schemas say of a node: whether it is legal, and what types its results have.

The package ``onnx`` knows the operators of each opset: how many operands they take and of which types, their
attributes, and what the types of the results are.  Each node is checked against that before anything is made of it, and
what is made of it has the types that its schema infers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import Array
from verified_tir.graph.sizes import Dim
from verified_tir.ir.expr import Expr, Var

OLDEST: Final = 7
"""Operators of older opsets broadcast in other ways."""

SMALL: Final = 4096
"""Constants of at most so many elements may be shapes, axes or counts, on which types depend."""

FLAGS: Final = (
    "align_corners", "allowzero", "antialias", "ceil_mode", "count_include_pad", "detect_negative", "detect_positive",
    "exclude_outside", "exclusive", "fmod", "input_forget", "interleaved", "inverse", "is_causal", "keepdims",
    "largest", "layout", "linear_before_reset", "noop_with_empty_axes", "onesided", "periodic", "reverse", "saturate",
    "select_last_index", "sorted", "spatial", "storage_order", "training_mode", "transA", "transB", "upper",
)  # fmt: skip
"""Attributes that say yes or no: 1 or 0, and what other numbers would mean is not defined."""

LARGE: Final = ("end", "ends", "pool_int64s", "start", "starts", "value_int", "value_ints")
"""Attributes that may be integers beyond int32.  Others count dimensions or elements, and ONNX's shape inference ends
the process for some that do not fit."""

WORDS: Final = {
    ("Gelu", "approximate"): ("none", "tanh"),
    **{(op, "reduction"): ("none", "mean", "sum") for op in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")},
}
"""What attributes may say that decide among definitions by other operators; where there is none, the conversion says
so."""

Shape: TypeAlias = "tuple[int | None, ...] | None"


def opset_of(model: Any) -> int:
    """The version of ONNX's operators that a model uses.

    :raises GraphError: if there is none, or it is not known here.
    """
    from onnx import defs

    versions = {i.version for i in model.opset_import if i.domain in ("", "ai.onnx")}
    newest = defs.onnx_opset_version()
    if not versions:
        raise GraphError("the model does not say which opset its operators are of")
    if len(versions) > 1:
        raise GraphError(f"the model says that its operators are of several opsets: {sorted(versions)}")
    if not 1 <= max(versions) <= newest:
        raise GraphError(f"opset {max(versions)} is not known here; {OLDEST} to {newest} are")
    return int(max(versions))


def signature(node: Any, opset: int) -> Any:
    """The schema of a node that has the operands, results and attributes that its schema says.

    :raises GraphError: if it has not; the message does not name it.
    """
    from onnx import defs

    try:
        schema = defs.get_schema(node.op_type, opset, node.domain)
    except defs.SchemaError:
        where = f"the domain {node.domain}" if node.domain else f"opset {opset}"
        raise GraphError(f"there is no operator {node.op_type} in {where}") from None
    if schema.deprecated:
        raise GraphError(f"{node.op_type} is no longer an operator of opset {opset}")
    if opset < OLDEST and defs.get_schema(node.op_type, OLDEST, node.domain).since_version != schema.since_version:
        raise GraphError(f"{node.op_type} means something else in opset {opset} than from opset {OLDEST} on")
    for problem in _signature(node, schema):
        raise GraphError(problem)
    return schema


def inferred(
    node: Any, schema: Any, types: Mapping[str, Any], constants: Mapping[str, Array], imports: Any
) -> dict[str, tuple[str, Shape]]:
    """Element type (empty if it is not known) and shape of each result of a node that has the signature of its schema.

    :param types: ``onnx.TypeProto`` of each operand.
    :param constants: the operands that are known.
    :param imports: the opsets of the model.
    :raises GraphError: if the node is not legal; the message does not name it.
    """
    from onnx import checker, helper, numpy_helper, shape_inference

    for problem in _element_types(node, schema, types):
        raise GraphError(problem)
    small = {
        n: numpy_helper.from_array(constants[n], n)
        for n in node.input if n in constants and constants[n].size <= SMALL and constants[n].dtype != object
    }  # fmt: skip
    try:
        found = shape_inference.infer_node_outputs(schema, node, dict(types), small, opset_imports=list(imports))
    except (shape_inference.InferenceError, checker.ValidationError, RuntimeError, ValueError) as problem:
        raise GraphError(_first_line(problem)) from None
    results: dict[str, tuple[str, Shape]] = {}
    for name, t in found.items():
        if t.HasField("tensor_type"):
            element = t.tensor_type.elem_type
            dtype = str(helper.tensor_dtype_to_np_dtype(element)) if element else ""
            results[name] = dtype, _shape(t.tensor_type)
    return results


def type_of(dtype: Any, shape: Sequence[Dim]) -> Any:
    """The type of a tensor, as ONNX writes it: symbols by name, and nothing for what is made of them."""
    from onnx import helper

    dims = [e.name if isinstance(e, Var) else None if isinstance(e, Expr) else e for e in shape]
    return helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), dims)


def _shape(t: Any) -> Shape:
    if not t.HasField("shape"):
        return None
    return tuple(d.dim_value if d.HasField("dim_value") else None for d in t.shape.dim)


def _first_line(problem: Exception) -> str:
    """What the package says, without the place in its own sources."""
    text = str(problem).strip().split("\n")[0]
    return text.rpartition("] ")[2].removeprefix("Inference error(s): ").rstrip(".") or type(problem).__name__


def _signature(node: Any, schema: Any) -> Iterator[str]:
    """What is wrong with the number of operands and results, or with the attributes."""

    def count(n: int, least: int, most: int, what: str) -> Iterator[str]:
        if not least <= n <= most:
            wanted = f"{least}" if least == most else f"{least} to {most}" if most < 2**31 - 1 else f"{least} or more"
            yield f"it has {n} {what}; {node.op_type} has {wanted}"

    yield from count(len(node.input), schema.min_input, schema.max_input, "operands")
    yield from count(len(node.output), schema.min_output, schema.max_output, "results")
    for k, formal in enumerate(schema.inputs):
        if str(formal.option).endswith("Single") and (k >= len(node.input) or not node.input[k]):
            yield f"its operand {formal.name} is missing"
    given = [a.name for a in node.attribute]
    for a in node.attribute:
        said = a.s.decode(errors="replace")
        words = WORDS.get((node.op_type, a.name), (said,))
        if a.ref_attr_name:
            yield f"the attribute {a.name} is that of a function, {a.ref_attr_name}, and there is none around it"
        elif given.count(a.name) > 1:
            yield f"the attribute {a.name} stands twice"
        elif a.name not in schema.attributes:
            known = ", ".join(sorted(schema.attributes)) or "none"
            yield f"there is no attribute {a.name} in opset {schema.since_version}; it has {known}"
        elif int(a.type) != int(schema.attributes[a.name].type.value):
            wanted = str(schema.attributes[a.name].type).rpartition(".")[2]
            yield f"the attribute {a.name} is not of type {wanted}"
        elif a.name in FLAGS and a.i not in (0, 1):
            yield f"the attribute {a.name} is 0 or 1, not {a.i}"
        elif a.name not in LARGE and any(not -(2**31) < n < 2**31 for n in (a.i, *a.ints)):
            yield f"the attribute {a.name} is beyond int32"
        elif a.name == "num_outputs" and a.i != len(node.output):  # ONNX's shape inference would end the process
            yield f"it has {len(node.output)} results, and num_outputs is {a.i}"
        elif said not in words:
            yield f"the attribute {a.name} is one of {', '.join(words)}, not {said!r}"
    for name, wanted in schema.attributes.items():
        if wanted.required and name not in given:
            yield f"the attribute {name} is missing"


def _element_types(node: Any, schema: Any, types: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the operands' types: each is one that is allowed, and those of one letter are the same."""
    from onnx import TensorProto

    allowed = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
    bound: dict[str, str] = {}
    for k, name in enumerate(node.input):
        formal = schema.inputs[min(k, len(schema.inputs) - 1)]
        if not name or not types[name].HasField("tensor_type"):
            continue
        element = TensorProto.DataType.Name(types[name].tensor_type.elem_type).lower()
        text = f"tensor({element})"
        letter = formal.type_str
        if text not in allowed.get(letter, {letter}):
            yield f"its operand {formal.name} is {element}, which {node.op_type} does not take"
        elif letter in allowed and formal.is_homogeneous and bound.setdefault(letter, element) != element:
            yield f"its operand {formal.name} is {element}, and the one before {bound[letter]}"
