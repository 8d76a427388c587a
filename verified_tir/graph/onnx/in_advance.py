"""Nodes whose operands are constants, and which are not known here, are computed when the model is read.

The evaluator of the ``onnx`` package does so, where it is known to be right: where ONNX's own tests and onnxruntime
agree with it (``tests/graph/test_onnx_in_advance.py``).  What is known here is computed by what it means here
(``graph.constants``), so that it does not matter whether operands are constants.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import Array
from verified_tir.graph.onnx.schema import Shape
from verified_tir.graph.sizes import Dim

if TYPE_CHECKING:
    from verified_tir.graph.onnx.converter import Converter

MOST: Final = 2**26
"""Results with more elements are not computed in advance."""

MOVING: Final[Mapping[str, tuple[int, ...]]] = {
    "BitCast": (26,), "Constant": (1, 9, 11, 12, 13, 19, 21, 23, 24, 25), "NonZero": (9, 13), "TensorScatter": (24,),
    "Unique": (11, 28),
}  # fmt: skip
"""Versions of operators that are computed in advance, of elements of all types."""

COMPUTING: Final[Mapping[str, tuple[int, ...]]] = {
    "Col2Im": (18,), "CumProd": (26,), "DFT": (17, 20), "DeformConv": (19, 22), "Det": (11, 22),
    "GridSample": (20, 22), "LpNormalization": (1, 22), "LpPool": (2, 11, 18, 22), "MaxUnpool": (9, 11, 22),
    "MelWeightMatrix": (17,), "NonMaxSuppression": (10, 11), "RoiAlign": (16, 22),
}  # fmt: skip
"""Versions of operators that are, of integers and floats of 32 and 64 bits."""


def computed(
    c: Converter, arrays: Mapping[str, Array], imports: Sequence[Any], wanted: Mapping[str, tuple[str, Shape]]
) -> list[Array] | None:
    """The results of a node whose operands are all in ``arrays``; ``None`` for operators that are not known here.

    :param imports: the opsets of the model.
    :param wanted: element type and shape of each result, as far as its schema says.
    :raises GraphError: if it fails, the results are not of these types, or the evaluator is wrong about such nodes.
    """
    node, op = c.node, c.node.op_type
    if node.domain not in ("", "ai.onnx") or c.schema.since_version not in {**MOVING, **COMPUTING}.get(op, ()):
        return None
    if why := _besides(c, op, [arrays[n] if n else None for n in node.input]):
        raise GraphError(f"{why} is not known here, also not of constants")
    sizes = [math.prod(e or 0 for e in shape) for _, shape in wanted.values() if shape is not None]
    if any(n > MOST for n in sizes):
        raise GraphError(f"it computes {max(sizes)} elements of constants; {MOST} is the most here")
    results = evaluated(node, arrays, imports)
    return [_tensor(n, a, *wanted.get(n, ("", None))) for n, a in results.items()]


def evaluated(node: Any, arrays: Mapping[str, Array], imports: Sequence[Any]) -> dict[str, Any]:
    """The results of a node by name, as ONNX's evaluator computes them from operands in ``arrays``.

    :raises GraphError: if it fails.
    """
    from onnx import TypeProto, helper
    from onnx.reference import ReferenceEvaluator

    operands, names = [n for n in node.input if n], [n for n in node.output if n]
    inputs, outputs = ([helper.make_value_info(n, TypeProto()) for n in some] for some in (operands, names))
    model = helper.make_model(helper.make_graph([node], "folded", inputs, outputs), opset_imports=imports)
    try:
        with np.errstate(all="ignore"):
            results = ReferenceEvaluator(model).run(None, {n: arrays[n] for n in operands})
    except Exception as problem:  # whatever the evaluator raises, it is about this node
        raise GraphError(str(problem)) from None
    return dict(zip(names, results, strict=True))


def _besides(c: Converter, op: str, operands: Sequence[Array | None]) -> str:
    """Of what the evaluator computes something else than the specification says, or what nobody confirms."""
    a = c.attributes
    x = operands[0] if operands else None
    if op in COMPUTING:
        for y in operands:
            if y is not None and (y.dtype.kind not in "iuf" or (y.dtype.kind == "f" and y.dtype.itemsize < 4)):
                return f"{op} of {y.dtype}"
    match op:
        case "LpNormalization" if a["p"] != 2:
            return "p other than 2"
        case "LpPool" if a.get("ceil_mode", False):
            return "ceil_mode"
        case "MaxUnpool" if len(operands) > 2 and operands[2] is not None:
            return "output_shape"
        case "Unique" if x is not None and bool(np.not_equal(x, x).any()):
            return "Unique with NaN"
        case "GridSample" if x is not None and x.dtype.kind != "f":
            return f"GridSample of {x.dtype}"
        case "GridSample" if x is not None and a["mode"] == "cubic" and (a["padding_mode"] == "border" or x.ndim != 4):
            return "cubic with the border repeated, or of other than two dimensions,"
    return ""


def _tensor(name: str, array: Any, dtype: str, shape: Shape) -> Array:
    """A result, which is what the schema says."""
    if not isinstance(array, (np.ndarray, np.generic)):
        raise GraphError(f"its result {name} is not a tensor, but a {type(array).__name__}")
    found = np.asarray(array)
    if dtype and str(found.dtype) != dtype:
        raise GraphError(f"computed in advance, its result {name} is {found.dtype}, and not {dtype}")
    if shape is not None and not fits(found.shape, shape):
        raise GraphError(f"computed in advance, its result {name} has shape {list(found.shape)}, not {list(shape)}")
    return found


def fits(shape: Sequence[Dim], wanted: Sequence[int | None]) -> bool:
    """Whether a shape is one that was inferred, in which some extents may be open."""
    return len(shape) == len(wanted) and all(w is None or n == w for n, w in zip(shape, wanted, strict=True))
