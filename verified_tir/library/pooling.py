"""Maxima and averages over windows of images: ``max_pool2d`` and ``avg_pool2d``."""

from __future__ import annotations

import math
from functools import partial
from typing import Literal

from verified_tir.codegen.target import Target
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import parse_func
from verified_tir.library import convolution_schedules as schedules
from verified_tir.library.convolution import TYPES, Layout, Pair, checked, pair_of
from verified_tir.library.convolution_programs import Problem
from verified_tir.library.kernel import Array, Kernel, destination, is_one_of, lanes_of, machine, operand, specialised

Reduction = Literal["max", "average", "average with padding"]

PLACES: dict[str, tuple[str, str]] = {
    "NHWC": ("b, {y}, {x}, u", "b, {y}, {x}, u"),
    "NCHW": ("b, u, {y}, {x}", "b, u, {y}, {x}"),
    "NCHWc": ("b, q, {y}, {x}, i", "b, u // {k}, {y}, {x}, u % {k}"),
}
"""For each layout an element in the order of memory, and the element of a channel ``u``."""


def pool_program(p: Problem, layout: Layout, reduction: Reduction) -> PrimFunc:
    """The plain loops: padding (the least number, or zeros), the window's elements in order, and the result."""
    n, c, k, (high, wide), (kh, kw), dtype = p.batch, p.groups, p.block, p.places, p.kernel, p.dtype
    stored, numbered = PLACES[layout]
    channels = {"NHWC": "{h}, {w}, {c}", "NCHW": "{c}, {h}, {w}", "NCHWc": "{c} // {k}, {h}, {w}, {k}"}[layout]
    image, padded, result = (
        f"{n}, " + channels.format(c=c, h=h, w=w, k=k)
        for h, w in ((p.height, p.width), p.padded, (high, wide))
    )  # fmt: skip

    def at(y: str, x: str) -> str:
        return numbered.format(y=y, x=x, k=k)

    (ph, pw), (sh, sw), (dh, dw) = p.padding, p.strides, p.dilation
    start, term, value = _of(reduction, p)
    window = f"P[{at(f'y * {sh} + r * {dh}', f'x * {sw} + c * {dw}')}]"
    inside = f"y >= {ph} and y < {ph + p.height} and x >= {pw} and x < {pw + p.width}"
    source, element = stored.format(y=f"y - {ph}", x=f"x - {pw}"), stored.format(y="y", x="x")
    return parse_func(f"""
@T.prim_func
def {reduction.split()[0]}_pool2d(X: T.Buffer(({image}), "{dtype}"), Y: T.Buffer(({result}), "{dtype}")):
    P = T.alloc_buffer(({padded}), "{dtype}")
    S = T.alloc_buffer(({n}, {high}, {wide}, {c}), "{dtype}")
    for {element} in T.grid({padded}):
        with T.sblock("padded"):
            P[{element}] = T.if_then_else({inside}, X[{source}], {start})
    for b, y, x, u in T.grid({n}, {high}, {wide}, {c}):
        for r, c in T.grid({kh}, {kw}):
            with T.sblock("sums"):
                if r == 0 and c == 0:
                    S[b, y, x, u] = {start}
                S[b, y, x, u] = {term.format(window=window)}
    for b, y, x, u in T.grid({n}, {high}, {wide}, {c}):
        with T.sblock("result"):
            Y[{at("y", "x")}] = {value}
""")


def _of(reduction: Reduction, p: Problem) -> tuple[str, str, str]:
    """With what a reduction begins, its next value, and what becomes of the last one."""
    dtype, (kh, kw) = p.dtype, p.kernel
    if reduction == "max":
        return f'T.{dtype}("-inf")', "T.max({window}, S[b, y, x, u])", "S[b, y, x, u]"
    count = f"T.{dtype}({kh * kw})"
    if reduction == "average" and p.padding != (0, 0):
        counts = [
            f"(T.min({v} * {s} - {pad} + {k}, {size}) - T.max({v} * {s} - {pad}, 0))"
            for v, s, pad, k, size in zip("yx", p.strides, p.padding, p.kernel, (p.height, p.width), strict=True)
        ]
        count = f'T.Cast("{dtype}", {" * ".join(counts)})'
    return f"T.{dtype}(0)", "S[b, y, x, u] + {window}", f"S[b, y, x, u] / {count}"


@specialised
def pool2d_kernel(p: Problem, layout: Layout, reduction: Reduction, *, target: Target | None = None) -> Kernel:
    """The kernel of a pooling: vectors run along channels, or in NCHW along places."""
    lanes, parallel = lanes_of(target, p.dtype), (target or machine()).threads > 1
    program = pool_program(p, layout, reduction)
    if layout == "NCHW":
        tile = schedules.tile_of_places(1, p.places, lanes)
        return Kernel(program, partial(schedules.places_in_vectors, p=p, tile=tile, parallel=parallel), target=target)
    tile = schedules.tile_of(1, p.places[1], math.gcd(lanes, p.block) if layout == "NCHWc" else lanes)
    return Kernel(program, partial(schedules.groups_in_vectors, p=p, tile=tile, parallel=parallel), target=target)


def max_pool2d(
    x: object, size: Pair, *, strides: Pair | None = None, padding: Pair = 0, dilation: Pair = 1,
    layout: Layout = "NHWC", out: object = None, threads: int | None = None,
) -> Array:  # fmt: skip
    """The greatest element of each window; padding never wins, nor does NaN.

    :param size: rows and columns of a window, as all such pairs; one number stands for both.
    :param strides: the size unless given.
    :param padding: at most half of the window.
    :param layout: of data and result: ``NHWC``, ``NCHW``, or ``NCHWc`` (blocks of 4, 8, 16 … channels come last).
    :raises TypeError: if the data are not an array of float32 or float64.
    :raises ValueError: if the attributes do not fit the data.
    """
    p = _problem("max_pool2d", x, size, strides, padding, dilation, layout)
    return _pooled("max_pool2d", p, layout, "max", x, out, threads)


def avg_pool2d(
    x: object, size: Pair, *, strides: Pair | None = None, padding: Pair = 0, count_padding: bool = False,
    layout: Layout = "NHWC", out: object = None, threads: int | None = None,
) -> Array:  # fmt: skip
    """The average of each window: of the elements in it, or with ``count_padding`` of zeros in the padding, too.

    The other parameters are those of :func:`max_pool2d`.
    """
    p = _problem("avg_pool2d", x, size, strides, padding, 1, layout)
    kind: Reduction = "average with padding" if count_padding else "average"
    return _pooled("avg_pool2d", p, layout, kind, x, out, threads)


def _problem(
    name: str, x: object, size: Pair, strides: Pair | None, padding: Pair, dilation: Pair, layout: Layout
) -> Problem:
    if not is_one_of(layout, PLACES):
        raise ValueError(f"{name}: the layout is {', '.join(PLACES)}, not {layout!r}")
    data = operand(name, "x", x, rank=5 if layout == "NCHWc" else 4, dtypes=TYPES)
    kernel, pads = pair_of(name, "sizes", size, 1), pair_of(name, "padding", padding, 0)
    if any(2 * pad > k for pad, k in zip(pads, kernel, strict=True)):
        raise ValueError(f"{name}: the padding is at most half of the window {kernel}, not {pads}")
    block = data.shape[4] if layout == "NCHWc" else 1
    if layout == "NCHWc" and (block % 4 or block == 0):
        raise ValueError(f"{name}: NCHWc has blocks of 4, 8, 16 … channels, not {block}; take NHWC")
    n, h, w, c = [data.shape[k] for k in ((0, 1, 2, 3) if layout == "NHWC" else (0, 2, 3, 1))]
    steps = pair_of(name, "strides", kernel if strides is None else strides, 1)
    spread = pair_of(name, "dilation", dilation, 1)
    p = Problem(n, h, w, c * block, 1, 1, kernel, steps, pads, spread, block, dtype=data.dtype.name)
    return checked(name, p)


def _pooled(
    name: str, p: Problem, layout: Layout, reduction: Reduction, x: object, out: object, threads: int | None
) -> Array:
    data = operand(name, "x", x)
    (high, wide), c = p.places, p.groups
    shape = {
        "NHWC": (p.batch, high, wide, c),
        "NCHW": (p.batch, c, high, wide),
        "NCHWc": (p.batch, c // p.block, high, wide, p.block),
    }[layout]
    result = destination(name, out, shape, data.dtype, (data,))
    if result.size:
        pool2d_kernel(p, layout, reduction, target=machine(threads))(data, result)
    return result
