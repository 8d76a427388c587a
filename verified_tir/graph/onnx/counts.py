"""Integers that a model computes of shapes that are open, as exporters write it: Shape, Gather, Concat, Reshape.

Nothing of that is left to be computed when the graph runs: elements are sizes (``graph.sizes``), and operators on them
are carried out here, as far as their results are sizes again, whatever the symbols are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias, final

import numpy as np

from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import Array
from verified_tir.graph.onnx.in_advance import computed
from verified_tir.graph.operators.shape import axis_of
from verified_tir.graph.sizes import (
    Dim,
    always_apart,
    divided,
    greater,
    never_negative,
    normal,
    same,
    smaller,
)
from verified_tir.ir.expr import Expr
from verified_tir.ir.sugar import binary


@final
@dataclass(frozen=True, slots=True)
class Counts:
    """Sizes in an array of objects, and the element type that they have in the model."""

    array: Array
    dtype: str

    @property
    def known(self) -> Array | None:
        """The numbers, if they are numbers."""
        if any(isinstance(e, Expr) for e in self.array.flat):
            return None
        return self.array.astype(self.dtype)


def counts(sizes: Sequence[Dim]) -> Counts:
    """Sizes side by side."""
    return Counts(_objects(sizes, (len(sizes),)), "int64")


def _objects(elements: Sequence[Any], shape: tuple[int, ...]) -> Array:
    found = np.empty(len(elements), object)
    found[:] = elements
    return found.reshape(shape)


class _Unknown(Exception):
    """The result is not a size, or which one it is depends on the symbols."""


Attributes: TypeAlias = "Mapping[str, Any]"
Fold: TypeAlias = "Callable[[Attributes, Sequence[Array | None]], Array]"


def counted(op: str, attributes: Attributes, operands: Sequence[Array | None]) -> Array | None:
    """The result of an operator that computes with sizes; ``None`` if it is not known here.

    :param operands: arrays of objects, ``None`` for those that are left out.
    :raises GraphError: if the operator does not take them.
    """
    try:
        return _FOLDS[op](attributes, operands) if op in _FOLDS else None
    except _Unknown:
        return None


def _given(operands: Sequence[Array | None], k: int) -> Array:
    found = operands[k]
    assert found is not None  # the schema says so
    return found


# -- moving ------------------------------------------------------------------------------------------------------------

MOVED: Final[dict[str, slice]] = {
    **dict.fromkeys(("Identity", "Gather", "Slice", "Squeeze", "Unsqueeze", "Reshape"), slice(1)),
    "Concat": slice(None), "Where": slice(1, 3),
}  # fmt: skip
"""Operators that move elements, and the operands of which they are."""


def moved(node: Any, operands: Sequence[Array | None], imports: Sequence[Any]) -> Array | None:
    """The result of a node that moves sizes, as ``counted``; the evaluator of ``onnx`` does so with their numbers.

    :param imports: the opsets of the model.
    """
    these = [*range(len(operands))][MOVED[node.op_type]]
    elements: list[Any] = []
    arrays: dict[str, Array] = {}
    for k, (name, array) in enumerate(zip(node.input, operands, strict=True)):
        if array is None:
            continue
        if k in these:
            arrays[name] = np.arange(len(elements), len(elements) + array.size).reshape(array.shape)
            elements += array.flat
        elif any(isinstance(e, Expr) for e in array.flat):
            return None
        else:
            arrays[name] = array.astype(bool if node.op_type == "Where" else np.int64)
    found = computed(node, arrays, imports, {})
    return None if found is None else _objects([elements[k] for k in found[0].flat], found[0].shape)


def _cast(attributes: Attributes, operands: Sequence[Array | None]) -> Array:
    from onnx import TensorProto

    if attributes["to"] not in (TensorProto.INT64, TensorProto.INT32):
        raise _Unknown
    return _given(operands, 0)


# -- arithmetic --------------------------------------------------------------------------------------------------------


def _each(function: Callable[..., Any], _: Attributes, operands: Sequence[Array | None]) -> Array:
    """A function of elements, with numpy's broadcasting, for two operands after the other."""
    arrays = [_given(operands, k) for k in range(len(operands))]
    found = arrays[0]
    for other in arrays[1:]:
        left, right = np.broadcast_arrays(found, other)
        made = [function(a, b) for a, b in zip(left.flat, right.flat, strict=True)]
        found = _objects(made, left.shape)
    return found


def _quotient(a: Dim, b: Dim) -> Dim:
    """a / b rounded towards zero, where that is known to be a size."""
    if isinstance(a, int) and isinstance(b, int):
        if b == 0:
            raise _Unknown
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    exact = divided(a, b)
    if exact is not None:
        return exact
    if not never_negative(a) or not isinstance(b, int) or b < 1:
        raise _Unknown
    return normal(binary("floordiv", a, b))


def _remainder(a: Dim, b: Dim) -> Dim:
    if not isinstance(b, int) or b < 1 or not never_negative(a):
        raise _Unknown
    return a % b if isinstance(a, int) else normal(a % b)


def _compared(equal: bool, a: Dim, b: Dim) -> bool:
    if isinstance(a, bool) or isinstance(b, bool):
        raise _Unknown
    if same(a, b):
        return equal
    if always_apart(a, b):
        return not equal
    raise _Unknown


def _below(a: Dim, b: Dim) -> bool:
    if never_negative(normal(b - a - 1)):
        return True
    if never_negative(normal(a - b)):
        return False
    raise _Unknown


def _reduced(product: bool, attributes: Attributes, operands: Sequence[Array | None]) -> Array:
    """The sum or product of all elements."""
    axes, x = attributes.get("axes", operands[1] if len(operands) > 1 else None), _given(operands, 0)
    if axes is not None:
        these = list(np.asarray(axes, object).flat)
        if any(isinstance(a, Expr) for a in these) or sorted(axis_of(a, x.ndim) for a in these) != [*range(x.ndim)]:
            raise _Unknown
    elements = list(x.flat)
    found: Dim = normal(math.prod(elements) if product else sum(elements))
    return _objects([found], (1,) * x.ndim if attributes.get("keepdims", 1) else ())


def _negative(_: Attributes, operands: Sequence[Array | None]) -> Array:
    x = _given(operands, 0)
    return _objects([normal(0 - e) for e in x.flat], x.shape)


_FOLDS: Final[dict[str, Fold]] = {
    "Cast": _cast, "Neg": _negative,
    "Add": partial(_each, lambda a, b: normal(a + b)), "Sub": partial(_each, lambda a, b: normal(a - b)),
    "Mul": partial(_each, lambda a, b: normal(a * b)), "Div": partial(_each, _quotient),
    "Mod": partial(_each, _remainder), "Max": partial(_each, greater), "Min": partial(_each, smaller),
    "Equal": partial(_each, partial(_compared, True)), "Less": partial(_each, _below),
    "Greater": partial(_each, lambda a, b: _below(b, a)), "ReduceProd": partial(_reduced, True),
    "ReduceSum": partial(_reduced, False),
}  # fmt: skip


def listed(array: Array | Counts, what: str) -> list[Dim]:
    """Sizes one after the other, of an array of numbers or of sizes.

    :raises GraphError: if there are no integers in it.
    """
    if isinstance(array, Counts):
        return list(array.array.flat)
    if array.dtype.kind not in "iu":
        raise GraphError(f"its {what} is {array.dtype}, and no integers")
    return [int(n) for n in array.flat]
