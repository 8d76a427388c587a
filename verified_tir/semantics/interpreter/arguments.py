"""Arrays into memory at entry, and out of it at exit."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Var
from verified_tir.ir.float_bits import round_to
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.semantics.errors import ArgumentError
from verified_tir.semantics.interpreter.extents import LARGEST_COUNT, largest_extent
from verified_tir.semantics.interpreter.frame import Run
from verified_tir.semantics.interpreter.outcome import Array, Mask
from verified_tir.semantics.memory import DEFINED_BYTE, UNDEF_BYTE, Extents, View, nan_byte, row_major
from verified_tir.semantics.values import Number, fits


def scalar_argument(var: Var, value: object) -> Number:
    """A Python or numpy number as the value of a scalar parameter; a float is rounded to the type.

    :raises ArgumentError: if it is not a number of that kind, or out of range.
    """
    dtype = var.dtype
    if dtype.lanes != 1:
        raise ArgumentError(f"{var.name} is a vector ({dtype}), which no argument is; pass an array or scalars")
    plain = value.item() if isinstance(value, np.generic) else value
    if dtype.is_float:
        if isinstance(plain, (int, float)) and not isinstance(plain, bool):
            return round_to(dtype, float(plain))
    elif dtype.is_bool:
        if isinstance(plain, bool):
            return plain
    elif isinstance(plain, int) and not isinstance(plain, bool) and dtype.is_int:
        plain = operator.index(plain)  # an exact int
        if fits(dtype, plain):
            return plain
        raise ArgumentError(f"{var.name} = {plain} does not fit {dtype}")
    raise ArgumentError(f"{var.name} is a {dtype}; {value!r} is none")


def array_extents(buffer: Buffer, value: object) -> Extents:
    """Shape and strides, in elements, of an array passed for a buffer.

    :raises ArgumentError: if it is not an array, or one of another dtype or rank (lanes are an axis behind the others).
    """
    dtype = buffer.dtype
    if not issubclass(type(value), np.ndarray):  # isinstance would believe a __class__
        raise ArgumentError(f"{buffer.name} is a buffer; {type(value).__name__} is not an array")
    assert isinstance(value, np.ndarray)
    if value.dtype != numpy_dtype(dtype.scalar):
        raise ArgumentError(f"{buffer.name} holds {dtype.scalar}, the array {value.dtype}")
    rank = len(buffer.shape)
    if value.ndim != rank + (dtype.lanes > 1):
        raise ArgumentError(f"{buffer.name} has {rank} dimensions, the array has shape {list(value.shape)}")
    if dtype.lanes > 1 and value.shape[-1] != dtype.lanes:
        raise ArgumentError(f"an element of {buffer.name} has {dtype.lanes} lanes, the array {value.shape[-1]}")
    shape = value.shape[:rank]
    for extent, given in zip(buffer.shape, shape, strict=True):
        if given > (most := largest_extent(extent.dtype)):  # of an array without elements, too
            raise ArgumentError(f"an extent of {buffer.name} is {given}, too much: the most is {most}")
    if math.prod(shape) > LARGEST_COUNT:
        raise ArgumentError(f"{buffer.name} has {math.prod(shape)} elements; the most is {LARGEST_COUNT}")
    return Extents(shape, tuple(step // dtype.nbytes for step in value.strides[:rank]))


def elements(name: str, extents: Extents) -> npt.NDArray[np.int64]:
    """The position in the block of each element of a view, in row-major order.

    :raises ArgumentError: if two elements would be one, or one lies before the block.
    """
    shape, strides, offset = extents.shape, extents.strides, extents.offset
    if strides == row_major(shape) and offset >= 0:
        return np.arange(offset, offset + math.prod(shape), dtype=np.int64)
    positions = np.full(shape, offset, dtype=np.int64)
    for axis, (extent, stride) in enumerate(zip(shape, strides, strict=True)):
        steps = np.arange(extent, dtype=np.int64) * stride
        positions += steps.reshape([extent if k == axis else 1 for k in range(len(shape))])
    flat = positions.reshape(-1)
    if flat.size and (int(flat.min()) < 0 or len(np.unique(flat)) != flat.size):
        raise ArgumentError(
            f"strides {list(strides)} and offset {offset} make elements of {name} overlap or precede it"
        )
    return flat


def _mask(name: str, what: str, mask: Array | None, shape: tuple[int, ...], default: bool) -> Mask:
    if mask is None:
        return np.full(shape, default)
    if mask.shape != shape or mask.dtype != np.bool_:
        raise ArgumentError(f"{what} of {name} must be a bool array of shape {list(shape)}")
    return mask


def enter(
    run: Run, buffer: Buffer, extents: Extents, array: Array, *, defined: Array | None, inaccessible: Array | None
) -> View:
    """A block with the array's contents, and the parameter's view of it.

    Bytes of the block between the elements (strides, offset) are nobody's: inaccessible.

    :param defined: a mask of the array's shape; elsewhere the contents are undefined.
    :param inaccessible: a mask of the array's shape; accesses there are undefined behaviour.
    """
    name, scalar, lanes, nbytes = buffer.name, buffer.dtype.scalar, buffer.dtype.lanes, buffer.dtype.nbytes
    expected = extents.shape if lanes == 1 else (*extents.shape, lanes)
    if array.shape != expected:
        raise ArgumentError(f"{name} has shape {list(expected)}, the array {list(array.shape)}")
    positions = elements(name, extents)
    block = run.new_block(name, nbytes * (int(positions.max()) + 1 if positions.size else 0))

    def fill(target: bytearray, per_lane: Array) -> None:
        _rows(target, nbytes)[positions] = np.repeat(per_lane.reshape(-1), scalar.nbytes).reshape(-1, nbytes)

    known = _mask(name, "definedness", defined, array.shape, True)
    state = np.where(known, np.uint8(DEFINED_BYTE), np.uint8(UNDEF_BYTE))
    if scalar.is_float:
        with np.errstate(invalid="ignore"):  # ml_dtypes warns of a signalling NaN
            state[known & np.isnan(array)] = nan_byte(scalar)
    _rows(block.data, nbytes)[positions] = np.ascontiguousarray(array).view(np.uint8).reshape(-1, nbytes)
    fill(block.state, state)
    closed = _mask(name, "accessibility", inaccessible, array.shape, False)
    if closed.any() or len(block.data) != positions.size * nbytes:
        block.inaccessible = bytearray(b"\1") * len(block.data)
        fill(block.inaccessible, closed)
    return View(name, buffer.dtype, block, extents)


def leave(view: View, dtype: DType) -> tuple[Array, Mask]:
    """The contents of a parameter at exit, and which of them are defined."""
    scalar, shape = dtype.scalar, view.extents.shape
    positions = elements(view.name, view.extents)
    states = _rows(view.block.state, dtype.nbytes)[positions].reshape(-1, scalar.nbytes)
    defined = (states == DEFINED_BYTE).all(axis=1) | (states == nan_byte(scalar)).all(axis=1)
    data = _rows(view.block.data, dtype.nbytes)[positions].reshape(-1, scalar.nbytes)
    if scalar.is_bool:
        defined &= data[:, 0] <= 1
    data[~defined] = 0
    full = shape if dtype.lanes == 1 else (*shape, dtype.lanes)
    array: Array = data.view(numpy_dtype(scalar)).reshape(full)
    return array, defined.reshape(full)


def _rows(data: bytearray, width: int) -> npt.NDArray[np.uint8]:
    """The bytes of a block (not a copy), one row for each element of that many bytes."""
    return np.frombuffer(data, dtype=np.uint8).reshape(-1, width)


def shared(arrays: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The pairs of arrays that have bytes in common."""
    names = list(arrays)
    return [
        (a, b)
        for k, a in enumerate(names)
        for b in names[k + 1 :]
        if np.may_share_memory(arrays[a], arrays[b]) and np.shares_memory(arrays[a], arrays[b])
    ]
