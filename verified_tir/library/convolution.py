"""Convolutions of images: ``conv2d``, and ``Convolution``, which packs its weights once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeAlias, final

import numpy as np

from verified_tir.codegen.runtime import Function
from verified_tir.codegen.target import Target
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import IntImm
from verified_tir.ir.func import PrimFunc
from verified_tir.library import convolution_programs as programs
from verified_tir.library import convolution_schedules as schedules
from verified_tir.library.convolution_programs import Problem
from verified_tir.library.kernel import (
    MOST,
    Array,
    Kernel,
    destination,
    extents,
    is_one_of,
    lanes_of,
    machine,
    operand,
    specialised,
    whole,
)

Layout: TypeAlias = Literal["NHWC", "NCHW", "NCHWc"]
Activation: TypeAlias = Literal["", "relu"]
Pair: TypeAlias = int | Sequence[int]

TYPES = ("float32", "float64")
LEAST = {"": float("-inf"), "relu": 0.0}
PROGRAMS: dict[str, Callable[[Problem], PrimFunc]] = {
    "NHWC": programs.channels_last,
    "NCHW": programs.channels_first,
    "NCHWc": programs.channels_in_blocks,
}


@specialised
def conv2d_kernel(p: Problem, layout: Layout, *, target: Target | None = None) -> Kernel:
    """The kernel of a convolution: vectors run along channels, or along places if these lie side by side and the window
    has one, or each group one channel."""
    lanes, parallel = lanes_of(target, p.dtype), (target or machine()).threads > 1
    if layout == "NCHWc":
        lanes = math.gcd(lanes, p.block)
    depthwise, wide = p.inputs == p.outputs == 1, p.places[1]
    if layout == "NCHW" and (depthwise or _pointwise(p)):
        step, tile = schedules.places_in_vectors, schedules.tile_of_places(p.outputs, p.places, lanes)
    elif depthwise:
        step, tile = schedules.groups_in_vectors, schedules.tile_of(1, wide, lanes)
    else:
        step, tile = schedules.channels_in_vectors, schedules.tile_of(p.outputs, wide, lanes)
    return Kernel(PROGRAMS[layout](p), partial(step, p=p, tile=tile, parallel=parallel), target=target)


def _pointwise(p: Problem) -> bool:
    """Whether each place of the result is computed from the same place of the data."""
    return p.kernel == (1, 1) and p.strides == (1, 1) and p.padding == (0, 0)


@final
@dataclass(frozen=True, slots=True)
class _Attributes:
    """What a convolution is besides its operands."""

    strides: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]
    groups: int
    layout: Layout
    activation: Activation


@final
@dataclass(frozen=True, slots=True)
class _Call:
    """What is done for data of one shape: the code, the weights as it takes them, and the shapes of arrays."""

    function: Function | None
    weights: Array
    operand: tuple[int, ...]
    result: tuple[int, ...]
    written: tuple[int, ...]


@final
class Convolution:
    """A convolution with given weights, which are packed at the first call, for this processor.

    Weights and bias are copied: what the arrays contain later does not matter.

    :param w: weights ``w[o, c / groups, h, w]``, whatever the layout of the data is.
    :param bias: one number for each channel of the result.
    :param strides: of rows and columns, as all such pairs; one number stands for both.
    :param padding: zeros on both sides.
    :param layout: of data and result: ``NHWC``, ``NCHW``, or ``NCHWc``, which is ``x[n, c // k, h, w, c % k]`` for
        blocks of k = 4, 8, 16 … channels.
    :param activation: ``relu``, if what is negative becomes zero; NaN stays NaN.
    :raises TypeError: if the weights are not an array of float32 or float64.
    :raises ValueError: if attributes do not fit the weights.
    """

    def __init__(
        self, w: object, bias: object = None, *, strides: Pair = 1, padding: Pair = 0, dilation: Pair = 1,
        groups: int = 1, layout: Layout = "NHWC", activation: Activation = "", threads: int | None = None,
    ) -> None:  # fmt: skip
        weights = operand("conv2d", "w", w, rank=4, dtypes=TYPES).copy()
        outputs = weights.shape[0]
        if not is_one_of(layout, PROGRAMS):
            raise ValueError(f"conv2d: the layout is {', '.join(PROGRAMS)}, not {layout!r}")
        if not is_one_of(activation, LEAST):
            raise ValueError(f"conv2d: the activation is relu, or none (''), not {activation!r}")
        parts = whole(groups, 1)
        if parts is None:
            raise ValueError(f"conv2d: the number of groups is a whole number of at least 1, not {groups!r}")
        if outputs % parts or 0 in weights.shape:
            raise ValueError(f"conv2d: weights of shape {weights.shape} do not fit {parts} groups")
        self._attributes = _Attributes(
            pair_of("conv2d", "strides", strides, 1), pair_of("conv2d", "padding", padding, 0),
            pair_of("conv2d", "dilation", dilation, 1), parts, layout, activation,
        )  # fmt: skip
        self._weights = weights.reshape(parts, outputs // parts, *weights.shape[1:])
        self._bias = _bias(bias, outputs, weights).reshape(parts, -1)
        self._target = machine(threads)
        self._packed: dict[tuple[int, ...], Array] = {}
        self._calls: dict[tuple[int, ...], _Call] = {}

    def __call__(self, x: object, *, out: object = None) -> Array:
        """The result for data in the layout.

        :param out: where to write it, if not to a new array.
        """
        a = self._attributes
        data = operand("conv2d", "x", x, rank=5 if a.layout == "NCHWc" else 4, dtypes=(self._weights.dtype.name,))
        call = self._calls.get(data.shape)
        if call is None:
            call = self._calls[data.shape] = self._prepared(data)
        result = destination("conv2d", out, call.result, data.dtype, (data,))
        if call.function is not None:
            call.function(data.reshape(call.operand), call.weights, self._bias, result.reshape(call.written))
        return result

    def _prepared(self, x: Array) -> _Call:
        """What is done for data of a shape; nothing for an empty batch."""
        p = self._problem(x)
        if p.batch == 0:
            return _Call(None, self._weights, x.shape, self._result_shape(p), self._result_shape(p))
        kernel = self.kernel(x)
        after = shape_of(kernel.schedule.func.buffers[1])
        if after not in self._packed:
            self._packed[after] = kernel.function.pack("W", self._weights)
        taken, _, _, written = map(shape_of, kernel.program.buffers)
        return _Call(kernel.function, self._packed[after], taken, self._result_shape(p), written)

    def kernel(self, x: Array) -> Kernel:
        """The kernel for data of a shape: the program, the schedule, the theorem, and the code."""
        p = self._problem(x)
        if self._attributes.layout == "NCHW" and _pointwise(p):  # rows follow each other
            (width,) = extents("conv2d", "rows times columns", p.height * p.width)
            p = replace(p, height=1, width=width)
        return conv2d_kernel(p, self._attributes.layout, target=self._target)

    def _problem(self, x: Array) -> Problem:
        """The sizes for some data.

        :raises ValueError: if the data do not fit the weights, are smaller than the window, or larger than kernels
            take them.
        """
        a, (groups, outputs, inputs, *kernel) = self._attributes, self._weights.shape
        block = x.shape[4] if a.layout == "NCHWc" else 1
        n, h, w, c = [x.shape[k] for k in ((0, 1, 2, 3) if a.layout == "NHWC" else (0, 2, 3, 1))]
        if c * block != groups * inputs:
            raise ValueError(
                f"conv2d: x of shape {x.shape} has {c * block} channels in {a.layout}; "
                f"the weights are for {groups * inputs} (they are outputs × inputs × rows × columns)"
            )
        depthwise = inputs == outputs == 1
        if a.layout == "NCHWc" and (block % 4 or (groups * outputs if depthwise else outputs) % block):
            raise ValueError(
                f"conv2d: {outputs} channels of each group are not whole blocks of 4, 8, 16 … channels, as NCHWc has "
                f"them (here {block}); take NHWC"
            )
        if a.layout == "NCHWc" and not depthwise and inputs % block:
            raise ValueError(f"conv2d: {inputs} channels of each group are not whole blocks of {block}; take NHWC")
        sizes = (n, h, w, groups, inputs, outputs, (kernel[0], kernel[1]))
        p = Problem(*sizes, a.strides, a.padding, a.dilation, block, LEAST[a.activation], x.dtype.name)
        return checked("conv2d", p)

    def _result_shape(self, p: Problem) -> tuple[int, ...]:
        (high, wide), channels = p.places, p.groups * p.outputs
        match self._attributes.layout:
            case "NHWC":
                return (p.batch, high, wide, channels)
            case "NCHW":
                return (p.batch, channels, high, wide)
            case "NCHWc":
                return (p.batch, channels // p.block, high, wide, p.block)


def conv2d(  # noqa: PLR0913 - as many as others have
    x: object, w: object, bias: object = None, *, strides: Pair = 1, padding: Pair = 0, dilation: Pair = 1,
    groups: int = 1, layout: Layout = "NHWC", activation: Activation = "", out: object = None,
    threads: int | None = None,
) -> Array:  # fmt: skip
    """Convolution of data with weights ``w[o, c / groups, h, w]``.

    Weights are packed in each call: for several calls with the same ones use :class:`Convolution`, which explains the
    parameters.
    """
    made = Convolution(
        w, bias, strides=strides, padding=padding, dilation=dilation, groups=groups, layout=layout,
        activation=activation, threads=threads,
    )  # fmt: skip
    return made(x, out=out)


def shape_of(buffer: Buffer) -> tuple[int, ...]:
    """The extents of a buffer, which are numbers here."""
    return tuple(n.value for n in buffer.shape if isinstance(n, IntImm))


def pair_of(function: str, name: str, value: Pair, least: int) -> tuple[int, int]:
    """Two numbers, or one for both.

    :raises ValueError: if they are something else, or too small.
    """
    pair = tuple(value) if isinstance(value, (list, tuple)) else (value, value)
    match [whole(n, least) for n in pair]:
        case [int(first), int(second)]:
            return first, second
    most = f", and at most {MOST}" if any(whole(n) is None and isinstance(n, int) and n > MOST for n in pair) else ""
    raise ValueError(f"{function}: {name} are two numbers of at least {least}{most}, or one for both, not {value!r}")


def checked(function: str, p: Problem) -> Problem:
    """Sizes that go together.

    :raises ValueError: if the window does not fit into the data, or there are more data than kernels take.
    """
    if min(p.places) < 1:
        raise ValueError(f"{function}: a window of {p.kernel} does not fit into {p.height} rows and {p.width} columns")
    extents(function, "the sizes of the data with their padding", p.batch, *p.padded, p.groups * p.inputs)
    return p


def _bias(bias: object, outputs: int, weights: Array) -> Array:
    if bias is None:
        return np.zeros(outputs, weights.dtype)
    given = operand("conv2d", "bias", bias, rank=1, dtypes=(weights.dtype.name,))
    if given.shape != (outputs,):
        raise ValueError(f"conv2d: a bias of shape {given.shape} does not fit {outputs} channels")
    return given.copy()
