"""ONNX operators that move elements (parts, shapes, axes, what is put together or around), and that make some."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from verified_tir.graph.ir import Value
from verified_tir.graph.onnx.converter import Converter
from verified_tir.graph.onnx.registry import conversion
from verified_tir.graph.operators.shape import axis_of
from verified_tir.graph.sizes import (
    Dim,
    dim_text,
    divided,
    greater,
    never_negative,
    normal,
    numbers,
    shape_text,
)

TOGETHER = 32
"""So many parts are put together at once."""


@conversion("Concat")
def _concat(c: Converter) -> Value:
    parts = c.values()
    while len(parts) > TOGETHER:  # an element of many parts is a choice that is nested as deep as there are parts
        groups = [parts[k : k + TOGETHER] for k in range(0, len(parts), TOGETHER)]
        parts = [c.op("concat", *some, axis=c.attributes["axis"]) if len(some) > 1 else some[0] for some in groups]
    return c.op("concat", *parts, axis=c.attributes["axis"])


@conversion("Split")
def _split(c: Converter) -> Sequence[Value]:
    x = c.value(0)
    axis = c.attributes.get("axis", 0)
    parts = c.sizes(1, "split")
    count = len(c.node.output)
    c.attributes.get("num_outputs")  # it is that (see ``schema``)
    if parts is None:
        (size,) = numbers(x.dims[axis:][:1], f"{x.name} along its axis {axis}")
        each = -(-size // count)
        parts = [min(each, size - k * each) for k in range(count)]
    return c.results("split", x, sections=tuple(map(normal, accumulate(parts[:-1]))), axis=axis)


@conversion("Slice")
def _slice(c: Converter) -> Value:
    x = c.value(0)
    starts, ends = c.sizes(1, "starts"), c.sizes(2, "ends")
    assert starts is not None and ends is not None
    axes = c.numbers(3, "axes") or list(range(len(starts)))
    steps = c.numbers(4, "steps") or [1] * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise c.fail(
            f"{len(starts)} starts, {len(ends)} ends, {len(axes)} axes and {len(steps)} steps do not go together"
        )
    if len({axis_of(a, x.rank) for a in axes}) != len(axes):
        raise c.fail(f"an axis stands twice in {axes}")
    begin = [_clamped(b, x.dims[a], s) for b, a, s in zip(starts, axes, steps, strict=True)]
    return c.op("strided_slice", x, axes=tuple(axes), begin=tuple(begin), end=tuple(ends), strides=tuple(steps))


def _clamped(start: Dim, size: Dim, step: int) -> Dim:
    """Where a slice begins: going backwards from below the first element, at that, and not nowhere as in Python."""
    if step > 0 or not isinstance(start, int) or not isinstance(size, int):
        return start
    return max(start, -size)


@conversion("Reshape")
def _reshape(c: Converter) -> Value:
    x, shape = c.value(0), c.sizes(1, "shape")
    assert shape is not None
    if c.attributes.get("allowzero", 0) and 0 in shape:
        if -1 in shape or x.type.size:
            raise c.fail(f"{shape_text(x.dims)} cannot take the shape {shape_text(shape)}")
        return c.op("empty", x, shape=tuple(shape))
    if not c.attributes.get("allowzero", 0):
        for k, e in enumerate(shape):
            if not isinstance(e, int):
                _not_meant_as_zero(c, e, x.dims[k] if k < x.rank else 1)
    return c.op("reshape", x, shape=tuple(shape))


def _not_meant_as_zero(c: Converter, e: Dim, there: Dim) -> None:
    """An extent that is open: 0 would mean the operand's at the same place (there must be one), whatever that is.

    Nothing is to be asked of one that is never 0, or that divides the operand's.
    """
    if not never_negative(e - 1) and divided(there, e) is None:
        c.builder.zero_with(e, there)


@conversion("Transpose")
def _transpose(c: Converter) -> Value:
    axes = c.attributes.get("perm")
    return c.op("permute_dims", c.value(0), axes=None if axes is None else tuple(axes))


@conversion("Squeeze", "Unsqueeze")
def _squeeze(c: Converter) -> Value:
    axes = c.numbers(1, "axes", number=True)
    rank = c.value(0).rank
    if axes is not None:
        all_of = rank if c.node.op_type == "Squeeze" else rank + len(axes)
        if len({axis_of(a, all_of) for a in axes}) != len(axes):
            raise c.fail(f"an axis stands twice in {axes}")
    name = "squeeze" if c.node.op_type == "Squeeze" else "expand_dims"
    return c.op(name, c.value(0), axis=None if axes is None else tuple(axes))


@conversion("Expand")
def _expand(c: Converter) -> Value:
    from verified_tir.graph.operators.elementwise import broadcast_shape

    x, shape = c.value(0), c.sizes(1, "shape")
    assert shape is not None
    return c.op("broadcast_to", x, shape=tuple(broadcast_shape(x.dims, shape)))


@conversion("Gather")
def _gather(c: Converter) -> Value:
    x, axis = c.value(0), c.attributes.get("axis", 0)
    size = x.dims[axis_of(axis, x.rank)]
    indices = c.indices(1, size)
    if size == 0 and 0 not in indices.dims:
        raise c.fail("there are no elements to be taken")
    return c.op("take", x, indices, axis=axis)


@conversion("Pad")
def _pad(c: Converter) -> Value:
    x, pads = c.value(0), c.numbers(1, "pads")
    assert pads is not None
    rank = x.rank
    found = c.numbers(3, "axes")
    axes = list(range(rank)) if found is None else [axis_of(a, rank) for a in found]
    if len(pads) != 2 * len(axes) or len(set(axes)) != len(axes):
        raise c.fail(f"pads are two numbers for each axis of {axes}, each of which stands once; they are {pads}")
    some, pads = pads, [0] * (2 * rank)
    for k, axis in enumerate(axes):
        pads[axis], pads[axis + rank] = some[k], some[k + len(axes)]
    value = c.number(2, "value")
    fill = float(c.attributes.get("value", 0.0)) if value is None else value
    width = tuple(pads[k + side * rank] for k in range(rank) for side in (0, 1))
    return c.op("nn.pad", x, pad_width=width, pad_value=fill, pad_mode=c.attributes.get("mode", "constant"))


# -- making ------------------------------------------------------------------------------------------------------------


@conversion("CumSum")
def _cumsum(c: Converter) -> Value:
    a = c.attributes
    return c.op(
        "cumsum", c.value(0), axis=int(c.number(1, "axis")), exclusive=a.get("exclusive", False),
        reverse=a.get("reverse", False),
    )  # fmt: skip


@conversion("ConstantOfShape")
def _constant_of_shape(c: Converter) -> Value:
    value = np.asarray(c.attributes.get("value", np.zeros(1, np.float32))).reshape(())
    return c.op("broadcast_to", c.builder.constant(value, "value"), shape=tuple(c.sizes(0, "shape") or ()))


@conversion("Range")
def _range(c: Converter) -> Value:
    dtype = c.type_of(0)
    if np.dtype(dtype).kind not in "iu":
        return _floats_in_range(c, dtype)
    ((start,), (limit,), (step,)) = (
        c.sizes(k, what, number=True) or [] for k, what in enumerate(("start", "limit", "delta"))
    )
    if not isinstance(step, int) or step == 0:
        raise c.fail(f"its delta is a number that is not 0, not {dim_text(step)}")
    if step < 0:
        start, limit = -start, -limit
    count = greater(normal((limit - start + abs(step) - 1) // abs(step)), 0)
    first = normal(start if step > 0 else -start)
    return c.op("arange", *c.reader.shown([first]), start=first, step=step, count=count, dtype=dtype)


def _floats_in_range(c: Converter, dtype: str) -> Value:
    """Numbers from a first one on, as many as there are up to the limit, computed in float64 and rounded."""
    start, limit, step = (float(c.number(k, what)) for k, what in enumerate(("start", "limit", "delta")))
    count = np.ceil((limit - start) / step) if step else np.inf
    if not count < 2**31:
        raise c.fail(f"there are no numbers from {start} to {limit} that are {step} apart")
    return c.builder.constant((start + np.arange(max(0, int(count))) * step).astype(dtype), "range")


@conversion("Tile")
def _tile(c: Converter) -> Value:
    return c.op("tile", c.value(0), repeats=tuple(c.numbers(1, "repeats") or ()))


@conversion("Trilu")
def _trilu(c: Converter) -> Value:
    k = c.number(1, "diagonal")
    return c.op("trilu", c.value(0), k=0 if k is None else int(k), upper=c.attributes.get("upper", True))
