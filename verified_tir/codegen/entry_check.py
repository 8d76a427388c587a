"""Arguments of a call, checked in Python: the definition of what a call accepts, with a message for everything else.

The compiled entry (``entry_text``) checks the same conditions (``entry_conditions``) without messages.  What it does
not accept comes here: wrong arguments, to be refused, and right ones in forms that it does not know, to be converted.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import assert_never, final

import numpy as np

from verified_tir.codegen import entry_conditions as must
from verified_tir.codegen.entry_control import ControlRegister
from verified_tir.codegen.entry_objects import Array, as_array
from verified_tir.codegen.entry_plan import (
    ArrayParameter,
    Binding,
    EntryPlan,
    ScalarParameter,
    described,
)
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import BFLOAT16, DType
from verified_tir.ir.expr import Expr, IntImm, Var
from verified_tir.ir.float_bits import round_to
from verified_tir.ir.floats import bits_of
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.ir.script import script
from verified_tir.semantics.errors import UndefinedBehaviour
from verified_tir.semantics.interpreter.expressions import meaning_of
from verified_tir.semantics.interpreter.frame import Frame, Run
from verified_tir.semantics.values import Number, fits

LARGEST_SEARCH = 1_000_000
"""How many elements are enumerated, and how much work is done on overlaps, before the answer counts as no."""


@final
@dataclass(slots=True)
class Arguments:
    """Arguments that passed: values of the scalars and symbols, arrays by the position of their parameter."""

    values: dict[Var, Number] = field(default_factory=dict)
    arrays: dict[int, Array] = field(default_factory=dict)
    blocks: dict[int, int] = field(default_factory=dict)
    """Addresses of the arrays' blocks: of the first element, less the buffer's offset."""

    def slots(self, plan: EntryPlan) -> list[int]:
        """The kernel's arguments in its order, each as the bits of a 64-bit word."""
        scalars = {k: p.var for k, p in enumerate(plan.parameters) if isinstance(p, ScalarParameter)}
        found = [
            self.blocks[k] if k in self.blocks else word(scalars[k].dtype, self.values[scalars[k]])
            for k in range(len(plan.parameters))
        ]
        return found + [word(b.var.dtype, self.values[b.var]) for b in plan.bindings]


def word(dtype: DType, value: Number) -> int:
    """The bits of a scalar, zero-extended to 64."""
    return bits_of(dtype, float(value)) if dtype.is_float else int(value) % (1 << dtype.bits)


def ordered(plan: EntryPlan, args: Sequence[object], named: Mapping[str, object]) -> list[object]:
    """The arguments in the order of the parameters.

    :raises TypeError: if one is missing, given twice or unknown.
    """
    name, names = plan.func.name, [p.name for p in plan.parameters]
    if len(args) > len(names):
        raise TypeError(f"{name}({plan.text}) takes {len(names)} arguments; {len(args)} were given")
    given = dict(zip(names, args, strict=False))
    for key, value in named.items():
        if key not in names:
            raise TypeError(f"{name}({plan.text}) has no parameter {key!r}")
        if key in given:
            raise TypeError(f"{name}({plan.text}): {key} is given twice")
        given[key] = value
    missing = [n for n in names if n not in given]
    if missing:
        raise TypeError(f"{name}({plan.text}): {', '.join(missing)} is missing")
    return [given[n] for n in names]


def check(plan: EntryPlan, arguments: Sequence[object], control: ControlRegister) -> Arguments:
    """The arguments, checked (in the order of the parameters).

    :raises FloatingPointError: if the control register would change results.
    :raises TypeError: if one is no array or number, or of another dtype.
    :raises ValueError: if shapes, strides, alignment, access or overlap are wrong.
    :raises OverflowError: if an integer does not fit its type.
    :raises BufferError: if an array's memory cannot be reached.
    """
    found = Arguments()
    frame = Frame(Run(), {})
    for condition in must.conditions(plan):
        match condition:
            case must.UsualControl():
                control.check()
            case must.IsNumber(k, p):
                frame.values[p.var] = found.values[p.var] = _scalar(p, arguments[k])
            case must.IsArray(k, p):
                found.arrays[k] = _array(p, arguments[k])
            case must.HasValue(binding):
                frame.values[binding.var] = found.values[binding.var] = _symbol(plan, binding, found.arrays)
            case must.HasShape(k, p):
                _check_shape(p, found.arrays[k], frame)
            case must.IsCountable():
                _check_extents(condition, frame)
            case must.IsLaidOut(k, p):
                found.blocks[k] = _check_layout(p, found.arrays[k], frame)
            case must.AreApart((j, k), parameters):
                _check_overlap(plan, parameters, found.arrays[j], found.arrays[k])
            case _:
                assert_never(condition)
    return found


# -- numbers ----------------------------------------------------------------------------------------------------------


def _scalar(parameter: ScalarParameter, value: object) -> Number:
    dtype, name = parameter.var.dtype, parameter.name
    if issubclass(type(value), np.ndarray):
        raise TypeError(
            f"{name} is a scalar of type {dtype}; an array of shape {as_array(name, value).shape} was given"
        )
    is_bool = type(value) in (bool, np.bool_)  # neither has subclasses
    if dtype.is_bool:
        if not is_bool:
            raise _no_scalar(parameter, value)
        return bool(value)
    if is_bool:
        raise _no_scalar(parameter, value)
    if dtype.is_float:
        return _float(parameter, value)
    try:
        number = operator.index(value)  # type: ignore[arg-type]  # an exact int, asked for once
    except TypeError:
        raise _no_scalar(parameter, value) from None
    if not fits(dtype, number):
        raise OverflowError(f"{name} = {number} does not fit {dtype}")
    least, most = parameter.bounds
    if not least <= number <= most:
        raise ValueError(f"{name} = {number} is the extent of an array, so it lies in [{least}, {most}]")
    return number


def _no_scalar(parameter: ScalarParameter, value: object) -> TypeError:
    return TypeError(
        f"{parameter.name} is a scalar of type {parameter.var.dtype}; "
        f"{value!r} of type {type(value).__qualname__} was given"
    )


def _float(parameter: ScalarParameter, value: object) -> float:
    dtype, kind = parameter.var.dtype, type(value)
    if not issubclass(kind, (int, float, np.floating, np.integer, numpy_dtype(BFLOAT16).type)):
        raise _no_scalar(parameter, value)
    try:
        return round_to(dtype, float(value))  # type: ignore[arg-type]
    except OverflowError:
        if not issubclass(kind, int):
            raise
        return math.inf if operator.index(value) > 0 else -math.inf  # type: ignore[arg-type]  # beyond float64


# -- arrays -----------------------------------------------------------------------------------------------------------


def _array(parameter: ArrayParameter, value: object) -> Array:
    """Kind, dtype, rank and access."""
    buffer, name = parameter.buffer, parameter.name
    array = as_array(name, value)
    expected = numpy_dtype(buffer.dtype.scalar)
    if array.dtype != expected:
        raise TypeError(f"{name} is {described(parameter)}; an array of {array.dtype} was given, not of {expected}")
    if array.ndim != parameter.rank:
        raise ValueError(
            f"{name} is {described(parameter)}, of {parameter.rank} dimensions; "
            f"an array of shape {array.shape} was given"
        )
    lanes = buffer.dtype.lanes
    if lanes > 1 and array.shape[-1] != lanes:
        raise ValueError(f"{name} has {lanes} lanes as its last dimension; an array of shape {array.shape} was given")
    if parameter.written and not array.flags.writeable:
        raise ValueError(f"{name} is written; a read-only array was given")
    return array


def _symbol(plan: EntryPlan, binding: Binding, arrays: Mapping[int, Array]) -> int:
    var = binding.var
    if binding.array is None:
        return 0
    array, parameter = arrays[binding.array], plan.parameters[binding.array]
    if binding.stride:
        value = array.strides[binding.axis] // _nbytes(parameter)
        what = f"stride {value} of axis {binding.axis}"
    else:
        value = array.shape[binding.axis]
        what = f"extent {value} of axis {binding.axis}"
    least, most = binding.bounds
    if not least <= value <= most:
        raise ValueError(f"{parameter.name}: {what} would be {var.name}, an {var.dtype} that lies in [{least}, {most}]")
    return value


def _nbytes(parameter: object) -> int:
    assert isinstance(parameter, ArrayParameter)
    return parameter.buffer.dtype.nbytes


def _extent(buffer: Buffer, expr: Expr, frame: Frame) -> int:
    if isinstance(expr, IntImm):  # most of them; the rest is as the interpreter has it
        return expr.value
    try:
        value = meaning_of(expr, frozenset())(frame)
    except UndefinedBehaviour as problem:
        raise ValueError(f"{buffer.name}: {script(expr)} has no value here ({problem}){_where(expr, frame)}") from None
    assert isinstance(value, int)
    return value


def _where(expr: Expr, frame: Frame) -> str:
    from verified_tir.ir.visit import free_vars

    known = [f"{v.name} = {frame.values[v]}" for v in free_vars(expr) if v in frame.values]
    return f", where {', '.join(known)}" if known else ""


def _check_shape(parameter: ArrayParameter, array: Array, frame: Frame) -> None:
    buffer = parameter.buffer
    for axis, expr in enumerate(buffer.shape):
        expected = _extent(buffer, expr, frame)
        if array.shape[axis] != expected:
            text = script(expr)
            said = text if text == str(expected) else f"{text} = {expected}"
            raise ValueError(
                f"{parameter.name} is {described(parameter)}: extent {axis} must be {said}; "
                f"an array of shape {array.shape} was given{_where(expr, frame) if not isinstance(expr, Var) else ''}"
            )


def _check_extents(condition: must.IsCountable, frame: Frame) -> None:
    """Extents are not negative, and the number of elements can be counted."""
    buffer, most = condition.buffer, condition.most
    for expr, limit in zip(buffer.shape, condition.limits, strict=True):
        value = _extent(buffer, expr, frame)
        if limit is not None and not 0 <= value <= limit:
            raise ValueError(
                f"{buffer.name}: the extent {script(expr)} would be {value}{_where(expr, frame)}; "
                f"it lies in [0, {limit}]"
            )
    count = math.prod(_extent(buffer, e, frame) for e in buffer.shape)
    if count > most:
        bits = next(e.dtype.bits for e in buffer.shape if not isinstance(e, IntImm))
        raise ValueError(f"{buffer.name} would have {count} elements; with {bits}-bit extents the most is {most}")


def _check_layout(parameter: ArrayParameter, array: Array, frame: Frame) -> int:
    """Offset, strides and alignment; the address of the block."""
    offset = _extent(parameter.buffer, parameter.buffer.elem_offset, frame)
    _check_strides(parameter, array, offset, frame)
    return _block(parameter, array, offset)


def _check_strides(parameter: ArrayParameter, array: Array, offset: int, frame: Frame) -> None:
    buffer, name = parameter.buffer, parameter.name
    nbytes, rank = buffer.dtype.nbytes, len(buffer.shape)
    if buffer.dtype.lanes > 1 and array.size and array.strides[-1] != buffer.dtype.scalar.nbytes:
        raise ValueError(
            f"{name}: the lanes of an element must lie side by side; the array has strides {array.strides}"
        )
    if buffer.strides:
        expected = [_extent(buffer, s, frame) for s in buffer.strides]
    else:
        expected = [math.prod(array.shape[k + 1 : rank]) for k in range(rank)]
    if offset < 0:
        raise ValueError(f"{name}: the offset {script(buffer.elem_offset)} would be {offset}")
    used = [k for k in range(rank) if array.shape[k] > 1] if array.size else []
    for k in used:
        if array.strides[k] != expected[k] * nbytes:
            wanted = [e * nbytes for e in expected]
            remedy = "" if buffer.strides else "; numpy.ascontiguousarray makes such a copy"
            raise ValueError(
                f"{name}: strides must be {wanted} bytes; an array of shape {array.shape} and strides "
                f"{array.strides} was given{remedy}"
            )
    if buffer.strides and not _distinct([array.shape[k] for k in used], [expected[k] for k in used]):
        raise ValueError(
            f"{name}: with strides {array.strides}, elements of the array would share memory or lie before the first"
        )


def _distinct(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether no two elements share a place, and none lies before the first."""
    if any(s < 0 for s in strides):
        return False
    span = 1
    for stride, extent in sorted(zip(strides, shape, strict=True)):
        if stride < span:
            break
        span += stride * (extent - 1)
    else:
        return True
    if math.prod(shape) > LARGEST_SEARCH:
        return False
    places = sum(
        (np.arange(n).reshape([-1 if j == k else 1 for j in range(len(shape))]) * s
         for k, (n, s) in enumerate(zip(shape, strides, strict=True))), start=np.zeros((), np.int64),
    )  # fmt: skip
    return np.unique(places).size == math.prod(shape)


def _block(parameter: ArrayParameter, array: Array, offset: int) -> int:
    """The address of the block, which must be aligned."""
    first: int = array.__array_interface__["data"][0]
    address = first - offset * parameter.buffer.dtype.nbytes
    if address % parameter.alignment:
        raise ValueError(
            f"{parameter.name} must lie at a multiple of {parameter.alignment} bytes; the array given begins at "
            f"address {first}, {address % parameter.alignment} beyond one; numpy.array makes an aligned copy"
        )
    return address


def _check_overlap(plan: EntryPlan, parameters: Sequence[ArrayParameter], one: Array, other: Array) -> None:
    if _overlap(one, other):
        both = " and ".join(p.name for p in parameters)
        written = " and ".join(p.name for p in parameters if p.written)
        raise ValueError(f"{both} share memory, and {plan.func.name} writes {written}; pass a copy of one")


def _overlap(a: Array, b: Array) -> bool:
    if not np.may_share_memory(a, b):
        return False
    try:
        return bool(np.shares_memory(a, b, max_work=LARGEST_SEARCH))  # type: ignore[arg-type]  # any number does
    except (np.exceptions.TooHardError, OverflowError):
        return True


__all__ = ["Arguments", "check", "ordered", "word"]
