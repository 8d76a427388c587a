"""Interfaces: how the parameters of *after* correspond to those of *before*, and the memory at entry.

Parameters correspond by position.  Integer parameters and shape symbols get numbers (``sizes``, by name).  Elements of
buffers, floats and bools are input terms, numbered by the parameter's position and the element of *before*, so that
both programs see the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, final

import numpy as np

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import PointerType
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.validate.memory import LARGEST_BLOCK, Oversize, Refused, repeats, row_major
from verified_tir.validate.terms import Ids

Padding: TypeAlias = int | float | Literal["undef"] | None


@final
@dataclass(frozen=True, slots=True)
class Correspondence:
    """How one parameter's elements moved.

    ``index_map`` takes the indices in *before*, one integer array for each dimension, and gives those in *after*; it
    must be injective.  Elements of *after* that are no image are padding: a number (assumed at entry, owed at exit),
    ``"undef"`` (anything, and reads are undefined) or ``None`` (access is undefined behaviour).
    """

    index_map: Callable[..., Sequence[Any]] | None = None
    padding: Padding = None


IDENTITY = Correspondence()


@final
@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a function at known sizes.

    ``at`` has, for each element of *before* in row-major order, its position in this function's block, in elements;
    ``rest`` are the positions of the padding, ``elements`` the length of the block.
    """

    position: int
    var: Var
    buffer: Buffer | None
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    offset: int = 0
    elements: int = 0
    at: Ids | None = None
    rest: Ids | None = None
    images: tuple[Ids, ...] = ()
    padding: Padding = None


def name_of(parameter: Parameter) -> str:
    return parameter.var.name if parameter.buffer is None else parameter.buffer.name


def evaluate_size(expr: Expr, values: Mapping[Var, int], what: str) -> int:
    """An extent at known sizes.

    :raises Refused: if a symbol in it has no value.
    """
    from verified_tir.ir.expr import Binary, Cast, IntImm
    from verified_tir.validate.numbers import operate

    match expr:
        case IntImm(value=v):
            return v
        case Var():
            if expr not in values:
                raise Refused(f"give a size for {expr.name} ({what})")
            return values[expr]
        case Cast(value=v):
            return evaluate_size(v, values, what)
        case Binary(op=op, a=a, b=b):
            x, y = evaluate_size(a, values, what), evaluate_size(b, values, what)
            one = np.full(1, x, dtype=np.int64), np.full(1, y, dtype=np.int64)
            result, trouble = operate(op, expr.dtype, *one, index=True)
            if trouble is None:
                return int(result[0])
    raise Refused(f"{what} is not understood")


def bind(func: PrimFunc, sizes: Mapping[str, int], like: Sequence[Parameter] | None) -> dict[Var, int]:
    """The numbers of a function's integer parameters and shape symbols.

    :param like: the parameters of *before*, whose shapes say what symbols of other names are.
    :raises Refused: if a number does not fit the type of its variable.
    """
    values: dict[Var, int] = {}
    for position, param in enumerate(func.params):
        buffer = func.buffer_of(param)
        if buffer is None and not isinstance(param.type, PointerType) and param.dtype.is_int:
            twin = like[position] if like is not None and position < len(like) else None
            paired = twin is not None and twin.buffer is None and twin.var.name in sizes
            name = twin.var.name if twin is not None and paired else param.name  # by position, whatever the name
            if name in sizes:
                values[param] = sizes[name]
        if buffer is None:
            continue
        for k, extent in enumerate((*buffer.shape, *buffer.strides, buffer.elem_offset)):
            if not isinstance(extent, Var) or extent in values:
                continue
            twin = like[position] if like is not None and position < len(like) else None
            if extent.name in sizes:
                values[extent] = sizes[extent.name]
            elif twin is not None and len(twin.shape) == len(buffer.shape) and k < len(twin.shape):
                values[extent] = twin.shape[k]
    from verified_tir.ir.visit import walk

    for buffer in func.buffers:
        for node in walk(buffer):
            if isinstance(node, Var) and node.name in sizes and node.dtype.is_int:
                values.setdefault(node, sizes[node.name])
    for var, number in values.items():
        if not var.dtype.min_value <= number <= var.dtype.max_value:
            raise Refused(f"{var.name} = {number} does not fit its type, {var.dtype}")
    return values


def parameters(
    func: PrimFunc,
    values: Mapping[Var, int],
    like: Sequence[Parameter] | None = None,
    maps: Mapping[str, Correspondence] | None = None,
) -> list[Parameter]:
    """The parameters at known sizes.

    :param like: the parameters of *before*, if the function is *after*.
    :param maps: by the name of the parameter in *before*, how it moved.
    :raises Refused: if the interfaces do not correspond.
    """
    if like is not None and len(like) != len(func.params):
        raise Refused(f"before has {len(like)} parameters, after {len(func.params)}")
    found = []
    for position, param in enumerate(func.params):
        buffer = func.buffer_of(param)
        twin = None if like is None else like[position]
        if buffer is None:
            if twin is not None and (twin.buffer is not None or twin.var.type is not param.type):
                if not isinstance(param.type, PointerType) or twin.buffer is not None:
                    raise Refused(f"parameter {param.name} of after does not correspond to {name_of(twin)} of before")
            found.append(Parameter(position, param, None))
            continue
        found.append(_buffer(position, param, buffer, values, twin, (maps or {}).get(name_of(twin)) if twin else None))
    return found


def _buffer(
    position: int,
    param: Var,
    buffer: Buffer,
    values: Mapping[Var, int],
    twin: Parameter | None,
    moved: Correspondence | None,
) -> Parameter:
    name = buffer.name
    shape = tuple([evaluate_size(e, values, f"the shape of {name}") for e in buffer.shape])
    if any(extent < 0 for extent in shape):
        raise Refused(f"{name} has a negative extent")
    strides = tuple([evaluate_size(e, values, f"a stride of {name}") for e in buffer.strides]) or row_major(shape)
    offset = evaluate_size(buffer.elem_offset, values, f"the offset of {name}") if not _free(buffer, values) else 0
    count = int(np.prod(shape, dtype=np.int64))
    if count * buffer.dtype.lanes > LARGEST_BLOCK:
        raise Oversize(f"{name} has {count} elements; the most is {LARGEST_BLOCK}")
    grid = tuple([g.reshape(-1) for g in np.indices(shape, dtype=np.int64)]) if shape else ()
    every: Ids = np.full(count, offset, dtype=np.int64)
    for index, stride in zip(grid, strides, strict=True):
        every = every + index * stride
    compact = strides == row_major(shape) and offset == 0
    if every.size and not compact and (int(every.min()) < 0 or repeats(every)):
        raise Refused(f"strides and offset make elements of {name} overlap or precede it")
    elements = int(every.max()) + 1 if every.size else 0
    base = Parameter(position, param, buffer, shape, strides, offset, elements, every, np.zeros(0, np.int64), grid)
    if twin is None:
        return base
    if twin.buffer is None or twin.buffer.dtype is not buffer.dtype:
        raise Refused(f"parameter {name} of after does not correspond to {name_of(twin)} of before")
    if moved is None or moved.index_map is None:
        if shape != twin.shape and count != int(np.prod(twin.shape, dtype=np.int64)):
            raise Refused(f"{name} has shape {list(shape)} after, {list(twin.shape)} before, and no index map is given")
        return base
    return _moved(base, twin, moved)


def _free(buffer: Buffer, values: Mapping[Var, int]) -> bool:
    """Whether the offset is a symbol of its own: the argument's, which is taken to be zero."""
    return isinstance(buffer.elem_offset, Var) and buffer.elem_offset not in values


def _moved(base: Parameter, twin: Parameter, moved: Correspondence) -> Parameter:
    name, shape = name_of(base), base.shape
    assert moved.index_map is not None and twin.at is not None and base.at is not None
    count = twin.at.size
    given = [np.broadcast_to(np.asarray(k, dtype=np.int64), (count,)) for k in moved.index_map(*twin.images)]
    if len(given) != len(shape):
        raise Refused(f"the index map of {name} gives {len(given)} indices; after has {len(shape)} dimensions")
    position: Ids = np.full(count, base.offset, dtype=np.int64)
    for index, extent, stride in zip(given, shape, base.strides, strict=True):
        if count and (int(index.min()) < 0 or int(index.max()) >= extent):
            raise Refused(f"the index map of {name} leaves its shape {list(shape)}")
        position = position + index * stride
    if repeats(position):
        raise Refused(f"the index map of {name} is not injective")
    rest = np.setdiff1d(base.at, position)
    return Parameter(
        base.position, base.var, base.buffer, shape, base.strides, base.offset, base.elements, position, rest,
        tuple(given), moved.padding,
    )  # fmt: skip
