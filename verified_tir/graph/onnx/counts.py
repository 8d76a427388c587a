"""Integers that a model computes of shapes that are open, as exporters write it: Shape, Gather, Concat, Reshape.

Nothing of that is left to be computed when the graph runs: elements are sizes (``graph.sizes``), and operators on them
are carried out here, as far as their results are sizes again, whatever the symbols are.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias, final

import numpy as np

from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import Array
from verified_tir.graph.onnx.in_advance import fits
from verified_tir.graph.onnx.schema import Shape
from verified_tir.graph.operators.shape import axis_of
from verified_tir.graph.sizes import (
    MOST,
    Dim,
    always_apart,
    divided,
    greater,
    never_negative,
    normal,
    same,
    smaller,
)
from verified_tir.ir.expr import Binary, Expr, Var
from verified_tir.ir.node import IRError
from verified_tir.ir.poly import as_poly
from verified_tir.ir.sugar import binary

if TYPE_CHECKING:
    from verified_tir.graph.onnx.load import Reader


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


MOST_COUNTED: Final = 64
"""Operands with more elements are not shapes."""


def computed_of_sizes(reader: Reader, node: Any, wanted: Mapping[str, tuple[str, Shape]]) -> bool:
    """Compute a node on sizes that are open, if its results are sizes again.

    :param wanted: element type and shape of each result, as far as its schema says.
    :raises GraphError: if the node does not take these operands.
    """
    known, arrays = reader.counts, reader.arrays
    if not any(n in known for n in node.input) or len(node.output) != 1:
        return False
    if any(n and n not in known and n not in arrays for n in node.input):
        return False
    plain = [arrays[n] for n in node.input if n in arrays]
    if any(a.dtype.kind not in "iub" or a.size > MOST_COUNTED for a in plain):
        return False
    operands = [
        None if not n else known[n].array if n in known else arrays[n].astype(object) for n in node.input
    ]  # fmt: skip
    ((dtype, shape),) = (wanted.get(n, ("", None)) for n in node.output)
    if node.op_type in MOVED:
        found = moved(reader, node, operands)
    else:
        found = counted(node.op_type, {a.name: reader.attribute(a) for a in node.attribute}, operands)
        shapes = [v.dims for v in reader.inputs]
        if found is not None and dtype and not all(fits_type(e, dtype, shapes) for e in found.flat):
            return False  # it may wrap
    if found is None or not dtype:
        return False
    if shape is not None and not fits(found.shape, shape):
        raise GraphError(f"its result has shape {list(found.shape)} here, and {list(shape)} by ONNX's schema")
    reader.know(node.output[0], Counts(found, dtype))
    return True


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
    except (_Unknown, IRError):  # sizes have no numbers beyond int32
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


def moved(reader: Reader, node: Any, operands: Sequence[Array | None]) -> Array | None:
    """The result of a node that moves sizes, as ``counted``: what the node does with their numbers."""
    these = [*range(len(operands))][MOVED[node.op_type]]
    elements: list[Any] = []
    made = type(node)()
    made.CopyFrom(node)
    for k, array in enumerate(operands):
        if array is None:
            continue
        if k in these:
            numbers: Array = np.arange(len(elements), len(elements) + array.size).reshape(array.shape)
            elements += array.flat
        elif any(isinstance(e, Expr) for e in array.flat):
            return None
        else:
            numbers = array.astype(bool if node.op_type == "Where" else np.int64)
        made.input[k] = reader.fresh("sizes")
        reader.arrays[made.input[k]] = numbers
    made.output[0] = reader.fresh("places")
    reader.node(made)
    found = reader.arrays.get(made.output[0])
    return None if found is None else _objects([elements[k] for k in found.flat], found.shape)


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
    if never_negative(b - 1) or (isinstance(b, int) and b < 0):  # of a quotient by 0 nothing is known
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
    """The sum or product of all elements; the elements, if there are no axes, and that means that nothing is done."""
    axes, x = attributes.get("axes", operands[1] if len(operands) > 1 else None), _given(operands, 0)
    these = [] if axes is None else list(np.asarray(axes, object).flat)
    if not these and attributes.get("noop_with_empty_axes", 0):
        return x
    if these and (
        any(isinstance(a, Expr) for a in these) or sorted(axis_of(a, x.ndim) for a in these) != [*range(x.ndim)]
    ):
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


# -- what types hold ---------------------------------------------------------------------------------------------------


def fits_type(size: Dim | bool, dtype: str, shapes: Sequence[Sequence[Dim]]) -> bool:
    """Whether a size is known to be a number that the type holds, whatever the symbols are; if not, it may wrap.

    :param shapes: those of arrays that there are when the graph runs.
    """
    if dtype == "bool":
        return True
    ends = _ends(size, shapes)
    return ends is not None and np.iinfo(dtype).min <= ends[0] and ends[1] <= np.iinfo(dtype).max


def _ends(size: Dim, shapes: Sequence[Sequence[Dim]]) -> tuple[int, int] | None:
    """Numbers between which a size is."""
    low = high = 0
    for factors, k in as_poly(size).terms.items() if isinstance(size, Expr) else [((), size)]:
        least = most = 1
        for e in factors:
            ends = _ends_of_atom(e, shapes)
            if ends is None:
                return None
            corners = [a * b for a in (least, most) for b in ends]
            least, most = min(corners), max(corners)
        most = min([most, *(_most_together(factors, shape, most) for shape in shapes)])
        low, high = low + min(k * least, k * most), high + max(k * least, k * most)
    return low, high


def _ends_of_atom(e: Expr, shapes: Sequence[Sequence[Dim]]) -> tuple[int, int] | None:
    if isinstance(e, Var):
        return 0, MOST
    if not isinstance(e, Binary):
        return None
    a, b = _ends(e.a, shapes), _ends(e.b, shapes)
    if a is None or b is None:
        return None
    if e.op in ("min", "max"):
        f = min if e.op == "min" else max
        return f(a[0], b[0]), f(a[1], b[1])
    if b[0] != b[1] or b[0] < 1:
        return None
    return (a[0] // b[0], a[1] // b[0]) if e.op == "floordiv" else (0, b[0] - 1)


def _most_together(factors: Sequence[Expr], shape: Sequence[Dim], other: int) -> int:
    """The most that a product of extents of an array may be: NumPy makes none in which all that are not 0 are more.

    :param other: the answer, if they are none of the array.
    """
    if Counter(factors) <= Counter(e for e in shape if isinstance(e, Expr)):
        return int(np.iinfo(np.int64).max) // math.prod(e for e in shape if isinstance(e, int) and e)
    return other


def listed(array: Array | Counts, what: str) -> list[Dim]:
    """Sizes one after the other, of an array of numbers or of sizes.

    :raises GraphError: if there are no integers in it.
    """
    if isinstance(array, Counts):
        return list(array.array.flat)
    if array.dtype.kind not in "iu":
        raise GraphError(f"its {what} is {array.dtype}, and no integers")
    return [int(n) for n in array.flat]
