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
    """The result of an operator on arrays of sizes; ``None`` if it is not known here.

    :param operands: arrays of objects, ``None`` for those that are left out.
    :raises GraphError: if the operator does not take them.
    """
    if op not in _FOLDS:
        return None
    try:
        return _FOLDS[op](attributes, operands)
    except _Unknown:
        return None


def _given(operands: Sequence[Array | None], k: int) -> Array:
    found = operands[k]
    assert found is not None  # the schema says so
    return found


def _numbers(attributes: Attributes, name: str, operands: Sequence[Array | None], k: int) -> list[int] | None:
    """Integers that are an attribute in older models, and an operand in newer ones."""
    if name in attributes:
        return [int(n) for n in attributes[name]]
    if k >= len(operands) or operands[k] is None:
        return None
    elements = list(_given(operands, k).flat)
    if any(isinstance(e, Expr) for e in elements):
        raise _Unknown
    return [int(e) for e in elements]


# -- moving ------------------------------------------------------------------------------------------------------------


def _identity(_: Attributes, operands: Sequence[Array | None]) -> Array:
    return _given(operands, 0)


def _cast(attributes: Attributes, operands: Sequence[Array | None]) -> Array:
    from onnx import TensorProto

    if attributes["to"] not in (TensorProto.INT64, TensorProto.INT32):
        raise _Unknown
    return _given(operands, 0)


def _gather(attributes: Attributes, operands: Sequence[Array | None]) -> Array:
    places = _numbers({}, "", operands, 1)
    at = np.array(places, np.int64).reshape(_given(operands, 1).shape)
    return np.asarray(np.take(_given(operands, 0), at, axis=attributes.get("axis", 0)), object)


def _concat(attributes: Attributes, operands: Sequence[Array | None]) -> Array:
    return np.concatenate([_given(operands, k) for k in range(len(operands))], attributes["axis"])


def _slice(attributes: Attributes, operands: Sequence[Array | None]) -> Array:
    x = _given(operands, 0)
    starts, ends = (_numbers(attributes, n, operands, k) or [] for k, n in ((1, "starts"), (2, "ends")))
    axes = _numbers(attributes, "axes", operands, 3) or list(range(len(starts)))
    steps = _numbers(attributes, "steps", operands, 4) or [1] * len(starts)
    parts = [slice(None)] * x.ndim
    for first, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if step < 0:
            raise _Unknown
        parts[axis_of(axis, x.ndim)] = slice(first, end, step)
    return x[tuple(parts)]


def _unsqueeze(attributes: Attributes, operands: Sequence[Array | None]) -> Array:
    return np.expand_dims(_given(operands, 0), tuple(_numbers(attributes, "axes", operands, 1) or ()))


def _squeeze(attributes: Attributes, operands: Sequence[Array | None]) -> Array:
    axes = _numbers(attributes, "axes", operands, 1)
    return np.squeeze(_given(operands, 0), None if axes is None else tuple(axes))


def _reshape(attributes: Attributes, operands: Sequence[Array | None]) -> Array:
    shape = _numbers({}, "", operands, 1) or []
    if 0 in shape:
        raise _Unknown
    return _given(operands, 0).reshape(shape)


def _where(_: Attributes, operands: Sequence[Array | None]) -> Array:
    chosen = [bool(e) for e in _given(operands, 0).flat]
    condition = np.array(chosen).reshape(_given(operands, 0).shape)
    return np.where(condition, _given(operands, 1), _given(operands, 2))


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
    axes = _numbers(attributes, "axes", operands, 1)
    x = _given(operands, 0)
    if axes is not None and sorted(axis_of(a, x.ndim) for a in axes) != list(range(x.ndim)):
        raise _Unknown
    elements = list(x.flat)
    found: Dim = normal(math.prod(elements) if product else sum(elements))
    return _objects([found], (1,) * x.ndim if attributes.get("keepdims", 1) else ())


def _negative(_: Attributes, operands: Sequence[Array | None]) -> Array:
    x = _given(operands, 0)
    return _objects([normal(0 - e) for e in x.flat], x.shape)


_FOLDS: Final[dict[str, Fold]] = {
    "Identity": _identity, "Cast": _cast, "Gather": _gather, "Concat": _concat, "Slice": _slice, "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze, "Reshape": _reshape, "Where": _where, "Neg": _negative,
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
