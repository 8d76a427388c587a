"""Nodes whose operands are constants, and which are not known here, are computed when the model is read.

The evaluator of the ``onnx`` package does so.  What is known here is computed by what it means here
(``graph.constants``), so that it does not matter whether operands are constants.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import Array
from verified_tir.graph.onnx.schema import Shape
from verified_tir.graph.sizes import Dim

MOST: Final = 2**26
"""Results with more elements are not computed in advance."""


def computed(
    node: Any, arrays: Mapping[str, Array], imports: Sequence[Any], wanted: Mapping[str, tuple[str, Shape]]
) -> list[Array] | None:
    """The results of a node whose operands are all in ``arrays``; ``None`` if the evaluator does not know its version.

    :param imports: the opsets of the model.
    :param wanted: element type and shape of each result, as far as its schema says.
    :raises GraphError: if it fails, or the results are not of these types.
    """
    from onnx import TypeProto, helper
    from onnx.reference import ReferenceEvaluator

    sizes = [math.prod(e or 0 for e in shape) for _, shape in wanted.values() if shape is not None]
    if any(n > MOST for n in sizes):
        raise GraphError(f"it computes {max(sizes)} elements of constants; {MOST} is the most here")
    operands, names = [n for n in node.input if n], [n for n in node.output if n]
    inputs, outputs = ([helper.make_value_info(n, TypeProto()) for n in some] for some in (operands, names))
    model = helper.make_model(helper.make_graph([node], "folded", inputs, outputs), opset_imports=imports)
    try:
        evaluator = ReferenceEvaluator(model)
    except Exception:  # of several kinds: there is no implementation of the node's version
        return None
    try:
        results = evaluator.run(None, {n: arrays[n] for n in operands})
    except Exception as problem:  # whatever the evaluator raises, it is about this node
        raise GraphError(str(problem)) from None
    return [_tensor(n, a, *wanted.get(n, ("", None))) for n, a in zip(names, results, strict=True)]


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
