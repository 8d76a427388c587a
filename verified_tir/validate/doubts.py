"""Differences that may lie in how a recorded pair is read, not in the programs: these are not called different.

A layout that is only guessed.  An access that leaves the shape of a view but not its block: some compilers move views
within a block and leave their shapes as they were.  A NaN whose bits are re-read at another type: our semantics has no
such bits, machines do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import BOOL, DType
from verified_tir.ir.expr import Call, Expr, IntImm, LetExpr, Select, Var
from verified_tir.ir.find import substitute_buffers
from verified_tir.ir.floats import bits_of
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.stmt import Allocate, Block, DeclBuffer
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import rewrite, walk
from verified_tir.validate.interface import Correspondence
from verified_tir.validate.interface import bind as bind_sizes
from verified_tir.validate.memory import Refused
from verified_tir.validate.shapes import evaluate_size, flattens
from verified_tir.validate.verdict import Different, Verdict


def doubt(
    before: PrimFunc,
    after: PrimFunc,
    found: Different,
    sizes: Mapping[str, int],
    maps: Mapping[str, Correspondence],
    again: Callable[[PrimFunc], Verdict],
) -> str | None:
    """Why a difference is none for certain; ``None`` if it is.

    :param again: the verdict on another program in place of *after*.
    """
    guessed = _guessed(before, after, sizes, maps)
    if guessed is not None:
        return guessed
    if not found.element and "out-of-bounds" in str(found.after):
        wide = with_wide_views(after)
        if wide is not after and not isinstance(again(wide), Different):
            return (
                "a view is accessed beyond its declared shape, inside its block; with the block's shape nothing differs"
            )
    if found.after is None and found.before != found.before and _reads_bits(after):
        return _NAN
    if found.after is None or not found.element:  # undefined, or undefined behaviour: perhaps of what was re-read
        known = with_bits_of_nan(after)
        if known.body is not after.body and not isinstance(again(known), Different):
            return _NAN
    return None


_NAN: Final = "a NaN is re-read at another type, where it has no bits; no other difference was found"


# ---------------------------------------------------------------------------------------------------- layouts


def _guessed(
    before: PrimFunc, after: PrimFunc, sizes: Mapping[str, int], maps: Mapping[str, Correspondence]
) -> str | None:
    old, new = bind_sizes(before, sizes, None), bind_sizes(after, sizes, None)
    for one, other in zip(before.params, after.params, strict=False):
        a, b = before.buffer_of(one), after.buffer_of(other)
        if a is None or b is None or a.name in maps:
            continue
        x, y = _shape(a, old), _shape(b, new)
        if x is not None and y is not None and not flattens(x, y):
            return (
                f"{a.name} has shape {list(y)} after, {list(x)} before, and no index map is given; "
                f"taken row by row, results differ"
            )
    return None


def _shape(buffer: Buffer, values: Mapping[Var, int]) -> tuple[int, ...] | None:
    try:
        return tuple(evaluate_size(e, values, buffer.name) for e in buffer.shape)
    except Refused:
        return None


# ------------------------------------------------------------------------------------------------------ views


def with_wide_views(func: PrimFunc) -> PrimFunc:
    """The function with each compact view in one dimension as long as the block of an allocation that it lies in."""
    blocks: dict[Var, Buffer] = {}
    for node in walk(func.body):
        match node:
            case Allocate(buffer=buffer):
                blocks[buffer.data] = buffer
            case Block(alloc_buffers=buffers):
                blocks.update((b.data, b) for b in buffers)
    wider: dict[Buffer, Buffer] = {}
    for node in walk(func.body):
        match node:
            case DeclBuffer(buffer=view) if view.data in blocks and len(view.shape) == 1 and not view.strides:
                room = _bytes(blocks[view.data])
                extent = view.shape[0]
                if room is not None and isinstance(extent, IntImm) and extent.value < room // view.dtype.nbytes:
                    wider[view] = replace(view, shape=(const(room // view.dtype.nbytes, extent.dtype),))
    return substitute_buffers(func, wider)


def _bytes(buffer: Buffer) -> int | None:
    shape = None if buffer.strides else _shape(buffer, {})
    return None if shape is None else math.prod(shape) * buffer.dtype.nbytes


def with_bits_of_nan(func: PrimFunc) -> PrimFunc:
    """The function with the bits that machines give to NaN where ``T.reinterpret`` re-reads a float.

    They are undefined in our semantics, and so is what is computed from them; but a maximum, say, may pass them over.
    """

    def known(node: Node) -> Node | None:
        match node:
            case Call(op="reinterpret", args=(Expr() as value,)) if value.dtype.is_float:
                return _quiet(node, value)
        return None

    return func.with_body(rewrite(func.body, known))


def _quiet(read: Call, value: Expr) -> Expr:
    """``T.reinterpret`` of a float, whose bits are those of a quiet NaN if it is one."""
    dtype = value.dtype
    x = Var.fresh("x", dtype)
    raw = DType("uint", dtype.bits, dtype.lanes)
    quiet: Expr = const(bits_of(dtype.scalar, math.nan), raw)
    if read.dtype is not raw:
        quiet = Call(read.dtype, "reinterpret", (quiet,))
    return LetExpr(x, value, Select(Call(BOOL.with_lanes(dtype.lanes), "isnan", (x,)), quiet, replace(read, args=(x,))))


def _reads_bits(func: PrimFunc) -> bool:
    """Whether values may be re-read at another type."""
    calls = any(isinstance(node, Call) and node.op == "reinterpret" for node in walk(func.body))
    types: dict[Var, set[DType]] = {}
    for node in walk(func):
        if isinstance(node, Buffer):
            types.setdefault(node.data, set()).add(node.dtype.scalar)
    return calls or any(len(found) > 1 for found in types.values())
