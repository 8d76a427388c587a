"""How TVM's ``transform_layout`` moves parameters, as correspondences that the validator understands.

TVM's index maps are evaluated here, on numpy arrays, by a few lines that share nothing with TVM's own arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
import numpy.typing as npt

from verified_tir.validate import Correspondence, Padding

Indices = npt.NDArray[np.int64]


class Beyond(Exception):
    """A layout of which the validator cannot be told."""


_BINARY: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "FloorDiv": np.floor_divide, "FloorMod": np.mod,
    "Min": np.minimum, "Max": np.maximum, "LT": np.less, "LE": np.less_equal, "GT": np.greater,
    "GE": np.greater_equal, "EQ": np.equal, "NE": np.not_equal, "And": np.logical_and, "Or": np.logical_or,
    "LShift": np.left_shift, "RShift": np.right_shift, "BitwiseAnd": np.bitwise_and, "BitwiseOr": np.bitwise_or,
    "BitwiseXor": np.bitwise_xor,
}  # fmt: skip


@final
@dataclass(frozen=True, slots=True)
class Layout:
    """Where ``transform_layout`` puts the elements of a buffer, and what the padding holds.

    ``move`` takes one integer array for each dimension and gives those of the new layout.
    """

    move: Callable[..., Sequence[Indices]]
    padding: Padding

    def correspondence(self) -> Correspondence:
        """As the validator takes it."""
        return Correspondence(self.move, self.padding)

    def then(self, other: Layout) -> Layout:
        """First this one, then the other.

        One without a value is of a map that has no padding: TVM refuses any other.

        :raises Beyond: if both pad, with different values.
        """
        if self.padding is not None and other.padding is not None and not _alike(self.padding, other.padding):
            raise Beyond(f"it is padded with {self.padding} and then with {other.padding}")
        return Layout(
            lambda *indices: other.move(*self.move(*indices)),
            self.padding if self.padding is not None else other.padding,
        )  # fmt: skip


def layout(index_map: Any, pad_value: Any, injective: bool) -> Layout:
    """What ``transform_layout`` does with a map.

    :param index_map: a ``tvm.tirx.IndexMap``.
    :param pad_value: the ``IndexMap`` that TVM makes of the argument of that name, or ``None``.
    :param injective: the argument ``assume_injective_transform``; then TVM leaves open what the padding holds.
    """
    names, results = list(index_map.initial_indices), list(index_map.final_indices)

    def move(*indices: Indices) -> list[Indices]:
        known = {str(v.name): np.asarray(k, dtype=np.int64) for v, k in zip(names, indices, strict=True)}
        return [np.asarray(_evaluate(e, known), dtype=np.int64) for e in results]

    unique = len({str(v.name) for v in names}) == len(names)
    if not unique:
        raise Beyond("two indices of the map have one name")
    for e in results:  # what is not understood is found now, not in the middle of a comparison
        _evaluate(e, {str(v.name): np.ones(1, dtype=np.int64) for v in names})
    if pad_value is not None:
        return Layout(move, _padding(pad_value))
    return Layout(move, "undef" if injective else None)


def _padding(pad_value: Any) -> Padding:
    (value,) = pad_value.final_indices
    match type(value).__name__:
        case "IntImm":
            return int(value.value)
        case "FloatImm":
            return float(value.value)
        case "Call" if str(value.op.name).endswith(".undef"):
            return "undef"
    raise Beyond(f"the padding is not one number: {value}")


def _evaluate(expr: Any, known: Mapping[str, Indices]) -> Any:
    kind = type(expr).__name__
    if kind == "Var":
        if str(expr.name) not in known:
            raise Beyond(f"the index map reads {expr.name}")
        return known[str(expr.name)]
    if kind == "IntImm":
        return np.int64(int(expr.value))
    if kind in _BINARY:
        return _BINARY[kind](_evaluate(expr.a, known), _evaluate(expr.b, known))
    match kind:
        case "Cast":
            return _evaluate(expr.value, known)
        case "Not":
            return np.logical_not(_evaluate(expr.a, known))
        case "Select":
            parts = (expr.condition, expr.true_value, expr.false_value)
            return np.where(*[_evaluate(e, known) for e in parts])
        case "Call" if str(expr.op.name).endswith(".if_then_else"):
            return np.where(*[_evaluate(e, known) for e in expr.args])
    raise Beyond(f"the index map has a {kind}: {expr}")


def _alike(one: Padding, other: Padding) -> bool:
    if isinstance(one, str) or isinstance(other, str) or one is None or other is None:
        return one == other
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return one == other and math.copysign(1, one) == math.copysign(1, other)
