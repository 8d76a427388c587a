"""Extents at known sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Binary, Cast, Expr, IntImm, Var
from verified_tir.semantics.memory import Extents, row_major
from verified_tir.validate.memory import Refused
from verified_tir.validate.numbers import operate


def evaluate_size(expr: Expr, values: Mapping[Var, int], what: str) -> int:
    """An extent at known sizes.

    :raises Refused: if a symbol in it has no value.
    """
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


def extents_of(buffer: Buffer, values: Mapping[Var, int], offset: int | None = None) -> Extents:
    """A buffer's extents at known sizes; of a view that moves, the ``offset`` is found elsewhere.

    :raises Refused: if a symbol in them has no value.
    """
    name = buffer.name
    shape = tuple([evaluate_size(e, values, f"the shape of {name}") for e in buffer.shape])
    strides = tuple([evaluate_size(e, values, f"a stride of {name}") for e in buffer.strides])
    if offset is None:
        offset = evaluate_size(buffer.elem_offset, values, f"the offset of {name}")
    return Extents(shape, strides or row_major(shape), offset)


def flattens(old: tuple[int, ...], new: tuple[int, ...]) -> bool:
    """Whether each extent of the new shape is the product of the next ones of the old shape."""
    if old == new or 0 in (math.prod(old), math.prod(new)):
        return math.prod(old) == math.prod(new)
    rest = [e for e in old if e != 1]
    for extent in [e for e in new if e != 1]:
        product = 1
        while rest and product < extent:
            product *= rest.pop(0)
        if product != extent:
            return False
    return not rest
