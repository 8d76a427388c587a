"""How nodes of each ONNX operator are drawn: operands that fit together, and attributes.

An operator without a drawing of its own is drawn by its schema: operands of shapes that broadcast, of types that the
schema allows, and attributes by their names.  So an operator that becomes known is drawn from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from tests.fuzz.onnx_models.case import element, numpy_type
from tests.fuzz.onnx_models.draft import Draft, Operand, types_of

Drawing: TypeAlias = Callable[[Draft, str], None]
DRAWINGS: dict[str, Drawing] = {}

NOT_DRAWN: Final = {
    "If": "has graphs inside; nodes are compared one by one, and those take the place of this one",
    "Loop": "has graphs inside; nodes are compared one by one, and those take the place of this one",
    "Scan": "has graphs inside; nodes are compared one by one, and those take the place of this one",
    "SequenceMap": "takes sequences, which are refused",
    "Bernoulli": "draws random numbers, which is refused",
    "Scatter": "is deprecated in all opsets that are read but the oldest; ScatterElements is drawn",
}
"""Operators that are read, or refused by name, and not drawn; and why."""

INTS: Final = ("int64", "int32")


def drawing(*names: str) -> Callable[[Drawing], Drawing]:
    """Register the decorated function as the drawing of these operators."""

    def register(function: Drawing) -> Drawing:
        DRAWINGS.update(dict.fromkeys(names, function))
        return function

    return register


def schema(d: Draft, op: str) -> Any:
    """The operator's schema in the draft's opset."""
    from onnx import defs

    return defs.get_schema(op, d.opset, "")


def draw_node(d: Draft, op: str) -> None:
    """Add a node of an operator."""
    DRAWINGS.get(op, by_schema)(d, op)


def attribute(d: Draft, name: str, dtype: str) -> Any:
    """A value for an attribute that means the same of all operators that have it; ``None`` if it is not known."""
    one = d.pick.one
    numbers = {"alpha", "beta", "gamma", "lambd", "bias"}
    if name in numbers:
        return one(1.0, 0.5, -2.0, 0.0, 1.5, 100.0)
    if name in ("to", "dtype", "output_datatype"):
        return element(d.dtype(types_of("Cast", d.opset, 0)))
    if name == "direction":
        return one("LEFT", "RIGHT")
    if name == "fmod":
        return 1 if "float" in dtype else one(0, 1)
    if name == "approximate":
        return one("none", "tanh")
    if name in ("detect_negative", "detect_positive", "saturate", "upper", "keepdims", "periodic"):
        return one(0, 1)
    if name == "k":
        return d.pick.integer(-3, 3)
    return None


def by_schema(d: Draft, op: str) -> None:
    """Operands that broadcast, of the types that the schema allows."""
    s = schema(d, op)
    letters: dict[str, str] = {}
    shape: tuple[int, ...] | None = None
    operands: list[str] = []
    formals = [f for f in s.inputs if not str(f.option).endswith("Variadic")]
    if len(formals) < len(s.inputs):
        formals += [s.inputs[-1]] * d.pick.integer(max(1, s.min_input), 3)
    for k, formal in enumerate(formals):
        if str(formal.option).endswith("Optional") and d.pick.flip():
            operands.append("")
            continue
        types = types_of(op, d.opset, k)
        if formal.type_str in letters and formal.is_homogeneous:
            types = (letters[formal.type_str],)
        v = d.some(types) if shape is None else d.like(d.dtype(types), d.broadcast(shape))
        shape = v.shape if shape is None else shape
        letters.setdefault(formal.type_str, v.dtype)
        operands.append(v.name)
    if len(operands) == 2 and d.pick.rarely(4):
        operands.reverse()
    first = letters.get(s.inputs[0].type_str, "float32") if s.inputs else "float32"
    attributes = {}
    for name, a in s.attributes.items():
        value = attribute(d, name, first) if a.required or name == "fmod" or d.pick.flip() else None
        if value is not None:
            attributes[name] = value
    d.add(op, operands, attributes)


@drawing("Clip")
def _clip(d: Draft, op: str) -> None:
    x = d.some(types_of(op, d.opset, 0))
    if d.opset < 11:
        d.add(op, [x.name], {k: d.pick.one(1.0, -1.0, 0.0, 3.5) for k in ("min", "max") if d.pick.flip()})
        return
    low, high = ("" if d.pick.rarely(3) else d.new(x.dtype, (), constant=True).name for _ in range(2))
    d.add(op, [x.name, low, high], {})


@drawing("Dropout")
def _dropout(d: Draft, op: str) -> None:
    x = d.some(types_of(op, d.opset, 0))
    if d.opset < 12:
        d.add(op, [x.name], {"ratio": d.pick.one(0.5, 0.0, 0.25)} if d.pick.flip() else {}, d.pick.one(1, 2))
        return
    ratio = d.given(np.float32(d.pick.one(0.5, 0.0, 0.25))).name if d.pick.flip() else ""
    training = d.given(np.bool_(False)).name if d.pick.flip() else ""
    d.add(op, [x.name, ratio, training], {}, d.pick.one(1, 2))


# -- along axes --------------------------------------------------------------------------------------------------------


REDUCTIONS = ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
              "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare")  # fmt: skip


@drawing(*REDUCTIONS)
def _reduce(d: Draft, op: str) -> None:
    x = d.some(types_of(op, d.opset, 0))
    axes = d.axes(x.rank) if d.pick.flip() else None
    attributes: dict[str, Any] = {"keepdims": d.pick.one(1, 0)} if d.pick.flip() else {}
    operands = [x.name]
    if "axes" in schema(d, op).attributes:
        attributes |= {"axes": axes} if axes else {}
    else:
        operands += [] if axes is None else [d.integers(axes)]
        attributes |= {"noop_with_empty_axes": 1} if d.pick.rarely(4) else {}
    d.add(op, operands, attributes)


@drawing("ArgMax", "ArgMin", "Softmax", "LogSoftmax", "Hardmax")
def _along(d: Draft, op: str) -> None:
    x = d.some(types_of(op, d.opset, 0), lambda v: v.rank > 0, lambda: d.shape(1))
    attributes: dict[str, Any] = {"axis": d.axis(x.rank)} if d.pick.flip() else {}
    if op.startswith("Arg"):
        attributes |= {"keepdims": 0} if d.pick.rarely(3) else {}
        attributes |= {"select_last_index": 1} if d.opset >= 12 and d.pick.rarely(3) else {}
    d.add(op, [x.name], attributes)


@drawing("CumSum", "CumProd")
def _cumulated(d: Draft, op: str) -> None:
    x = d.some(types_of(op, d.opset, 0), lambda v: v.rank > 0, lambda: d.shape(1))
    axis = d.given(np.array(d.axis(x.rank), d.pick.one(*INTS)))
    d.add(op, [x.name, axis.name], {k: d.pick.one(0, 1) for k in ("exclusive", "reverse") if d.pick.flip()})


@drawing("TopK")
def _topk(d: Draft, op: str) -> None:
    x = d.some(types_of(op, d.opset, 0), lambda v: v.rank > 0, lambda: d.shape(1))
    axis = d.axis(x.rank)
    k = d.pick.integer(0, x.shape[axis])
    attributes: dict[str, Any] = {"axis": axis}
    if d.opset >= 11:
        attributes |= {n: d.pick.one(1, 0) for n in ("largest",) if d.pick.flip()}
    if d.opset < 10:
        d.add(op, [x.name], {**attributes, "k": k}, 2)
    else:
        d.add(op, [x.name, d.integers([k])], attributes, 2)


# -- products ----------------------------------------------------------------------------------------------------------


def _matrix(d: Draft, types: Sequence[str]) -> Operand:
    return d.some(types, lambda v: v.rank >= 1, lambda: d.shape(1, 4))


def _factor(d: Draft, x: Operand) -> tuple[int, ...]:
    """The shape of something that x, the left factor, can be multiplied by."""
    if d.pick.rarely(6):
        return (x.shape[-1],)
    return (*d.broadcast(x.shape[:-2]), x.shape[-1], d.extent())


@drawing("MatMul")
def _matmul(d: Draft, op: str) -> None:
    x = _matrix(d, types_of(op, d.opset, 0))
    d.add(op, [x.name, d.like(x.dtype, _factor(d, x)).name], {})


@drawing("MatMulInteger")
def _matmul_integer(d: Draft, op: str) -> None:
    x = _matrix(d, ("uint8", "int8"))
    y = d.like(d.pick.one("uint8", "int8"), _factor(d, x))
    zero = d.new(x.dtype, (), constant=True).name if d.pick.flip() else ""
    other = ""
    if d.pick.flip():
        other = d.new(y.dtype, (y.shape[-1],) if len(y.shape) == 2 and d.pick.flip() else (), constant=True).name
    d.add(op, [x.name, y.name, zero, other], {})


@drawing("Gemm")
def _gemm(d: Draft, op: str) -> None:
    x = d.some(types_of(op, d.opset, 0), lambda v: v.rank == 2, lambda: d.shape(2, 2))
    at, bt = d.pick.flip(), d.pick.flip()
    n, (m, k) = d.extent(), x.shape[::-1] if at else x.shape
    y = d.like(x.dtype, (n, k) if bt else (k, n))
    operands = [x.name, y.name]
    if d.opset < 11 or d.pick.flip():
        operands.append(d.like(x.dtype, d.broadcast((m, n))).name)
    attributes: dict[str, Any] = {name: 1 for name, on in (("transA", at), ("transB", bt)) if on}
    attributes |= {name: d.pick.one(2.0, 1.0, 0.0, 0.5, -1.0) for name in ("alpha", "beta") if d.pick.rarely(3)}
    d.add(op, operands, attributes)


EQUATIONS = ("ij,jk->ik", "ij,jk", "bij,bjk->bik", "ij->ji", "ii->i", "ij->", "i,j->ij", "...ij,...jk->...ik",
             "bij,bj->bi", "ij,ij->i", "ii", "abc,cd,d->ab", "...i->...", "ij,kj->ki")  # fmt: skip


@drawing("Einsum")
def _einsum(d: Draft, op: str) -> None:
    equation = d.pick.one(*EQUATIONS)
    dtype = d.dtype(types_of(op, d.opset, 0))
    extents: dict[str, int] = {}
    operands = []
    for term in equation.partition("->")[0].split(","):
        letters = term.replace("...", "")
        shape = [extents.setdefault(c, d.extent()) for c in letters]
        more = [extents.setdefault(".", d.extent())] if "..." in term and d.pick.flip() else []
        operands.append(d.like(dtype, [*more, *shape]).name)
    d.add(op, operands, {"equation": equation})


# -- normalizations ----------------------------------------------------------------------------------------------------


def _image(v: Operand) -> bool:
    return 3 <= v.rank <= 5


def _image_shape(d: Draft) -> list[int]:
    return [d.pick.one(1, 2), d.pick.one(3, 1, 4, 2, 6), *(d.pick.one(4, 3, 5, 1, 2) for _ in range(_ranks(d)))]


def _ranks(d: Draft) -> int:
    return d.pick.one(2, 2, 2, 1, 3)


def _epsilon(d: Draft) -> dict[str, Any]:
    return {"epsilon": d.pick.one(1e-5, 0.5, 0.0)} if d.pick.flip() else {}


@drawing("BatchNormalization")
def _batch_norm(d: Draft, op: str) -> None:
    x = d.some(types_of(op, d.opset, 0), lambda v: v.rank >= 2, lambda: _image_shape(d))
    rest = types_of(op, d.opset, 1)
    dtype = x.dtype if d.opset < 14 or (x.dtype in rest and not d.pick.rarely(4)) else d.dtype(rest)
    other = dtype if d.opset < 15 else d.pick.one(dtype, d.dtype(types_of(op, d.opset, 3)))
    own = (x.shape[1],)
    variance = d.given(np.abs(d.elements(other, own)), constant=d.pick.flip())
    operands = [x.name, d.like(dtype, own).name, d.like(dtype, own).name, d.like(other, own).name, variance.name]
    d.add(op, operands, _epsilon(d))


@drawing("InstanceNormalization")
def _instance_norm(d: Draft, op: str) -> None:
    x = d.some(types_of(op, d.opset, 0), _image, lambda: _image_shape(d))
    own = (x.shape[1],)
    d.add(op, [x.name, d.like(x.dtype, own).name, d.like(x.dtype, own).name], _epsilon(d))


@drawing("GroupNormalization")
def _group_norm(d: Draft, op: str) -> None:
    x = d.some(types_of(op, d.opset, 0), _image, lambda: _image_shape(d))
    groups = d.pick.among([g for g in range(1, max(1, x.shape[1]) + 1) if x.shape[1] % g == 0])
    own = (x.shape[1] if d.opset >= 21 else groups,)
    attributes = _epsilon(d) | {"num_groups": groups}
    d.add(op, [x.name, d.like(x.dtype, own).name, d.like(x.dtype, own).name], attributes)


@drawing("LayerNormalization", "RMSNormalization")
def _layer_norm(d: Draft, op: str) -> None:
    x = d.some(types_of(op, d.opset, 0), lambda v: v.rank > 0, lambda: d.shape(1))
    axis = d.axis(x.rank)
    own = x.shape[axis:]
    last = op == "RMSNormalization"
    dtype = d.dtype(types_of(op, d.opset, 1)) if last and d.pick.rarely(4) else x.dtype
    operands = [x.name, d.like(dtype, own).name]
    if not last and d.pick.flip():
        operands.append(d.like(x.dtype, own if d.pick.flip() else d.broadcast(own)).name)
    attributes = _epsilon(d) | {"axis": axis}
    attributes |= {"stash_type": element(d.pick.one("float32", "float16", "bfloat16"))} if d.pick.rarely(6) else {}
    d.add(op, operands, attributes, 1 if last else d.pick.one(1, 1, 3, 2))


@drawing("MeanVarianceNormalization")
def _mvn(d: Draft, op: str) -> None:
    x = d.some(types_of(op, d.opset, 0), lambda v: v.rank == 4, lambda: d.shape(4, 4))
    d.add(op, [x.name], {"axes": d.axes(x.rank, 1)} if d.pick.flip() else {})


@drawing("LRN")
def _lrn(d: Draft, op: str) -> None:
    x = d.some(types_of(op, d.opset, 0), lambda v: v.rank == 4, lambda: [*_image_shape(d)[:2], 2, 3])
    attributes: dict[str, Any] = {"size": d.pick.one(3, 1, 2, 5)}
    attributes |= {k: d.pick.one(0.5, 1.0, 2.0) for k in ("alpha", "beta", "bias") if d.pick.rarely(3)}
    d.add(op, [x.name], attributes)


# -- quantised numbers -------------------------------------------------------------------------------------------------


@drawing("DequantizeLinear", "QuantizeLinear")
def _quantise(d: Draft, op: str) -> None:
    back = op.startswith("De")
    x = d.some(types_of(op, d.opset, 0))
    axis = d.axis(x.rank)
    along = x.rank > 0 and d.opset >= 13 and d.pick.rarely(3)
    block = d.pick.one(1, 2, 3) if along and d.opset >= 21 and d.pick.rarely(3) else 0
    shape: list[int] = [x.shape[axis]] if along else []
    if block:
        shape = [-(-n // block) if k == axis % x.rank else n for k, n in enumerate(x.shape)]
    kinds = types_of(op, d.opset, 1)
    kind = x.dtype if not back and x.dtype in kinds and d.opset < 23 else d.dtype(kinds)
    values = np.abs(d.elements("int8", tuple(shape), (1, 9)).astype(np.float32)) / d.pick.one(4, 1, 16)
    operands = [x.name, d.given(values.astype(numpy_type(kind)), constant=d.pick.flip()).name]
    zeros = (x.dtype,) if back else types_of(op, d.opset, 2)
    zero = d.dtype([t for t in zeros if t != "bool"] or zeros)
    if d.pick.flip():
        floating = zero.startswith("float") or zero in ("int32", "int16", "uint16")
        given = np.zeros(shape, numpy_type(zero)) if floating else d.elements(zero, tuple(shape))
        operands.append(d.given(given).name)
    attributes: dict[str, Any] = {"axis": axis} if along else {}
    attributes |= {"block_size": block} if block else {}
    d.add(op, operands, attributes)


def _scale(d: Draft, shape: Sequence[int] = ()) -> str:
    values = d.elements("int8", tuple(shape), (1, 9)).astype(np.float32) / d.pick.one(8, 1, 32)
    return d.given(values, constant=True).name


@drawing("QLinearMatMul")
def _qlinear_matmul(d: Draft, op: str) -> None:
    x = _matrix(d, ("uint8", "int8"))
    y = d.like(d.pick.one("uint8", "int8"), _factor(d, x))
    z = d.new(d.pick.one("uint8", "int8"), (), constant=True)
    zeros = [d.new(v.dtype, (), constant=True).name for v in (x, y)]
    d.add(op, [x.name, _scale(d), zeros[0], y.name, _scale(d), zeros[1], _scale(d), z.name], {})


@drawing("DynamicQuantizeLinear")
def _dynamic(d: Draft, op: str) -> None:
    d.add(op, [d.some(("float32",)).name], {}, 3)


__all__ = ["DRAWINGS", "NOT_DRAWN", "REDUCTIONS", "draw_node", "drawing", "schema"]
