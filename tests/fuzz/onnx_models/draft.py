"""An ONNX model in the making: values that nodes may take, and new inputs and constants when none fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias, final

import numpy as np

from tests.fuzz.onnx_models.case import OnnxNode, element, node_proto, numpy_type
from verified_tir.graph.element_types import INTEGERS, SMALL
from verified_tir.graph.ir import Array
from verified_tir.ir.dtype import DType
from verified_tir.testing.arrays import array
from verified_tir.testing.drawing import Picker

Shape: TypeAlias = tuple[int, ...]

MOST_ELEMENTS = 600
"""Results that are larger are not taken as operands: most of the time would go to them."""


@final
@dataclass(frozen=True)
class Operand:
    """A value of the model whose type and shape are known."""

    name: str
    dtype: str
    shape: Shape

    @property
    def rank(self) -> int:
        return len(self.shape)


@cache
def types_of(op: str, opset: int, k: int) -> tuple[str, ...]:
    """The element types that the k-th operand may have, the most usual first; none of texts or complex numbers."""
    from onnx import TensorProto, defs, helper

    schema = defs.get_schema(op, opset, "")
    formal = schema.inputs[min(k, len(schema.inputs) - 1)]
    letters: dict[str, list[str]] = {c.type_param_str: list(c.allowed_type_strs) for c in schema.type_constraints}
    texts = letters.get(formal.type_str, [formal.type_str])
    found = []
    for t in texts:
        name = t.removeprefix("tensor(").removesuffix(")")
        if t.startswith("tensor(") and name != "string" and not name.startswith("complex"):
            found.append(str(helper.tensor_dtype_to_np_dtype(TensorProto.DataType.Value(name.upper()))))
    usual = ("float32", "int64", "float16", "int32", "uint8", "bool", "float64", "int8")
    return tuple(sorted(found, key=lambda t: (usual.index(t) if t in usual else len(usual), t)))


@final
class Draft:
    """What is drawn so far.

    :param pick: draws.
    :param opset: of all nodes.
    """

    def __init__(self, pick: Picker, opset: int) -> None:
        self.pick = pick
        self.opset = opset
        self.inputs: dict[str, Array] = {}
        self.constants: dict[str, Array] = {}
        self.nodes: list[OnnxNode] = []
        self.types: dict[str, str] = {}
        self.values: list[Operand] = []
        self.count = 0
        self.constant = pick.rarely(8)
        """Whether all new values are constants, of which whole nodes are computed when a model is read."""

    # -- numbers -------------------------------------------------------------------------------------------------------

    def extent(self) -> int:
        """Of a dimension: small, seldom 0."""
        return 0 if self.pick.rarely(30) else self.pick.one(2, 3, 1, 4, 5, 1)

    def shape(self, least: int = 0, most: int = 4) -> Shape:
        return tuple(self.extent() for _ in range(self.pick.integer(least, most)))

    def axis(self, rank: int) -> int:
        """One of a tensor's axes, from the front or from behind."""
        return self.pick.integer(-rank, rank - 1) if rank else 0

    def axes(self, rank: int, least: int = 0) -> list[int]:
        """Some of a tensor's axes, each once, in any order."""
        left = list(range(rank))
        found: list[int] = []
        for _ in range(self.pick.integer(min(least, rank), rank)):
            a = left.pop(self.pick.integer(0, len(left) - 1))
            found.append(a - rank if self.pick.rarely(3) else a)
        return found

    def dtype(self, types: Sequence[str]) -> str:
        """One of some types, the first ones more often."""
        return types[0] if self.pick.flip() else self.pick.among(types)

    # -- values --------------------------------------------------------------------------------------------------------

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def new(
        self, dtype: str, shape: Sequence[int], bounds: tuple[int, int] | None = None, constant: bool | None = None
    ) -> Operand:
        """A new input, or constant.

        :param bounds: of the elements, for integers.
        :param constant: seldom, unless given.
        """
        known = (self.constant or self.pick.rarely(4)) if constant is None else constant
        return self.given(self.elements(dtype, tuple(shape), bounds), known)

    def given(self, elements: Any, constant: bool = True) -> Operand:
        """A constant (or an input) with these elements."""
        elements = np.asarray(elements)
        name = self.fresh("c" if constant else "x")
        (self.constants if constant else self.inputs)[name] = elements
        found = Operand(name, str(elements.dtype), elements.shape)
        self.values.append(found)
        return found

    def integers(self, values: Sequence[int], dtype: str = "int64") -> str:
        """A constant vector."""
        return self.given(np.array(values, dtype)).name

    def elements(self, dtype: str, shape: Shape, bounds: tuple[int, int] | None = None) -> Array:
        """Elements of any type."""
        if dtype not in SMALL:
            if bounds is not None and numpy_type(dtype).kind not in "iu":
                return array(self.pick, DType.parse("int32"), shape, bounds).astype(numpy_type(dtype))
            if numpy_type(dtype).kind not in "iub" and self.pick.flip():
                return self.moderate(dtype, shape)
            return array(self.pick, DType.parse(dtype), shape, bounds)
        if dtype in INTEGERS:
            low = 0 if dtype.startswith("u") else -(1 << INTEGERS[dtype] - 1)
            most = low + (1 << INTEGERS[dtype]) - 1
            return array(self.pick, DType.parse("int8"), shape, bounds or (low, most)).astype(numpy_type(dtype))
        bits = array(self.pick, DType.parse("uint8"), shape, (0, 15) if dtype.startswith("float4") else None)
        return bits.view(numpy_type(dtype))

    def moderate(self, dtype: str, shape: Shape) -> Array:
        """Halves and quarters between -4 and 4, of which sums and products are exact; at most one is special."""
        made = (array(self.pick, DType.parse("int32"), shape, (-16, 16)) / 4).astype(numpy_type(dtype))
        if made.size and self.pick.rarely(3):
            special = self.pick.one(-0.0, float("inf"), float("nan"), float("-inf"))
            made.reshape(-1)[self.pick.integer(0, made.size - 1)] = special
        return made

    def some(
        self, types: Sequence[str], fits: Callable[[Operand], bool] | None = None,
        shape: Callable[[], Sequence[int]] | None = None,
    ) -> Operand:  # fmt: skip
        """A value that there is, one of the latest most likely, or a new one.

        :param fits: what is asked of a value.
        :param shape: draws the shape of a new one.
        """
        found = [v for v in reversed(self.values) if v.dtype in types and (fits is None or fits(v))]
        results = [v for v in found if v.name in self.types]
        if results and not self.pick.rarely(6):
            return results[min(self.pick.integer(0, len(results) - 1), self.pick.integer(0, len(results) - 1))]
        if found and self.pick.rarely(2):
            return self.pick.among(found)
        return self.new(self.dtype(types), shape() if shape is not None else self.shape())

    def like(self, dtype: str, shape: Sequence[int], bounds: tuple[int, int] | None = None) -> Operand:
        """A value of this type and shape."""
        wanted = tuple(shape)
        found = [v for v in reversed(self.values) if v.dtype == dtype and v.shape == wanted]
        if found and bounds is None and self.pick.rarely(2):
            return self.pick.among(found)
        return self.new(dtype, wanted, bounds)

    def broadcast(self, shape: Shape) -> Shape:
        """A shape that can be broadcast to this one; often this one."""
        if self.pick.flip():
            return shape
        less = shape[self.pick.integer(0, len(shape)) :]
        return tuple(1 if self.pick.rarely(3) else n for n in less)

    # -- nodes ---------------------------------------------------------------------------------------------------------

    def add(self, op: str, operands: Sequence[str], attributes: dict[str, Any], results: int = 1) -> None:
        """A node; its results can be taken if shape inference knows them."""
        names = list(operands)
        while names and not names[-1]:
            names.pop()
        made = OnnxNode(op, tuple(names), tuple(self.fresh("y") for _ in range(results)), attributes)
        found = inferred(self, made)
        self.nodes.append(made)
        for name in made.results:
            dtype, shape = found.get(name, ("bool" if op == "Dropout" and self.opset >= 10 else "float32", None))
            self.types[name] = dtype
            if shape is not None and np.prod(shape) <= MOST_ELEMENTS:
                self.values.append(Operand(name, dtype, shape))


def inferred(draft: Draft, node: OnnxNode) -> dict[str, tuple[str, Shape | None]]:
    """Type and shape of each result, as the package ``onnx`` infers them; nothing if it does not."""
    from onnx import defs, helper, numpy_helper, shape_inference

    if node.attributes.get("num_outputs", len(node.results)) != len(node.results):
        return {}  # the package would end the process
    known = {v.name: v for v in draft.values}
    types = {n: helper.make_tensor_type_proto(element(known[n].dtype), known[n].shape)
             for n in node.operands if n in known}  # fmt: skip
    data = {n: numpy_helper.from_array(draft.constants[n], n) for n in node.operands if n in draft.constants}
    try:
        schema = defs.get_schema(node.op, draft.opset, "")
        found = shape_inference.infer_node_outputs(
            schema, node_proto(node, 0, draft.opset), types, data, opset_imports=[helper.make_opsetid("", draft.opset)]
        )
    except Exception:  # a node that is not legal has no types
        return {}
    results: dict[str, tuple[str, Shape | None]] = {}
    for name, t in found.items():
        if not t.tensor_type.elem_type:
            continue
        dims = t.tensor_type.shape.dim if t.tensor_type.HasField("shape") else None
        closed = dims is not None and all(d.HasField("dim_value") and d.dim_value >= 0 for d in dims)
        shape = tuple(int(d.dim_value) for d in dims) if closed and dims is not None else None
        results[name] = str(helper.tensor_dtype_to_np_dtype(t.tensor_type.elem_type)), shape
    return results


__all__ = ["Draft", "Operand", "Shape", "inferred", "types_of"]
