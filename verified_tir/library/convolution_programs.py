# mypy: disable-error-code="valid-type, no-untyped-def"
"""What a convolution is: the plainest loops, for each layout of the data.

Channels come in groups: ``u`` numbers the groups, ``i`` a group's channels of the data, ``o`` those of the result.  An
array of all channels is one of groups and channels with the same elements in the same places, so that callers only
reshape.  The terms of a sum are added in the order of rows, columns, channels, each with one rounding (``T.fma``); the
bias is added at last, and what is then below ``least`` becomes ``least`` (zero for a rectifier).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir.ir.func import PrimFunc
from verified_tir.script import tir as T


@final
@dataclass(frozen=True, slots=True)
class Problem:
    """The sizes of a convolution; ``block`` channels lie side by side in the layout NCHWc."""

    batch: int
    height: int
    width: int
    groups: int
    inputs: int
    outputs: int
    kernel: tuple[int, int]
    strides: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]
    block: int = 1
    least: float = float("-inf")
    dtype: str = "float32"

    @property
    def padded(self) -> tuple[int, int]:
        """Height and width with padding on both sides."""
        return self.height + 2 * self.padding[0], self.width + 2 * self.padding[1]

    @property
    def places(self) -> tuple[int, int]:
        """Height and width of the result."""
        every = zip(self.padded, self.kernel, self.strides, self.dilation, strict=True)
        high, wide = ((n - d * (k - 1) - 1) // s + 1 for n, k, s, d in every)
        return high, wide


def channels_last(p: Problem) -> PrimFunc:
    """NHWC."""
    n, g, ci, co, (kh, kw), (sh, sw), (dh, dw) = p.batch, p.groups, p.inputs, p.outputs, p.kernel, p.strides, p.dilation
    h, w, (ph, pw), (hp, wp), (oh, ow) = p.height, p.width, p.padding, p.padded, p.places
    least, dtype = p.least, p.dtype

    @T.prim_func
    def conv2d(
        X: T.Buffer((n, h, w, g, ci), dtype), W: T.Buffer((g, co, ci, kh, kw), dtype), B: T.Buffer((g, co), dtype),
        Y: T.Buffer((n, oh, ow, g, co), dtype),
    ):  # fmt: skip
        P = T.alloc_buffer((n, hp, wp, g, ci), dtype)
        S = T.alloc_buffer((n, oh, ow, g, co), dtype)
        for b, y, x, u, i in T.grid(n, hp, wp, g, ci):
            with T.sblock("padded"):
                P[b, y, x, u, i] = T.if_then_else(
                    y >= ph and y < ph + h and x >= pw and x < pw + w, X[b, y - ph, x - pw, u, i], T.Cast(dtype, 0)
                )
        for b, y, x, u, o in T.grid(n, oh, ow, g, co):
            for r, c, i in T.grid(kh, kw, ci):
                with T.sblock("sums"):
                    if r == 0 and c == 0 and i == 0:
                        S[b, y, x, u, o] = T.Cast(dtype, 0)
                    S[b, y, x, u, o] = T.fma(
                        P[b, y * sh + r * dh, x * sw + c * dw, u, i], W[u, o, i, r, c], S[b, y, x, u, o]
                    )
        for b, y, x, u, o in T.grid(n, oh, ow, g, co):
            with T.sblock("result"):
                Y[b, y, x, u, o] = T.max(T.Cast(dtype, least), S[b, y, x, u, o] + B[u, o])

    return conv2d


def channels_first(p: Problem) -> PrimFunc:
    """NCHW."""
    n, g, ci, co, (kh, kw), (sh, sw), (dh, dw) = p.batch, p.groups, p.inputs, p.outputs, p.kernel, p.strides, p.dilation
    h, w, (ph, pw), (hp, wp), (oh, ow) = p.height, p.width, p.padding, p.padded, p.places
    least, dtype = p.least, p.dtype

    @T.prim_func
    def conv2d(
        X: T.Buffer((n, g, ci, h, w), dtype), W: T.Buffer((g, co, ci, kh, kw), dtype), B: T.Buffer((g, co), dtype),
        Y: T.Buffer((n, g, co, oh, ow), dtype),
    ):  # fmt: skip
        P = T.alloc_buffer((n, g, ci, hp, wp), dtype)
        S = T.alloc_buffer((n, oh, ow, g, co), dtype)
        for b, u, i, y, x in T.grid(n, g, ci, hp, wp):
            with T.sblock("padded"):
                P[b, u, i, y, x] = T.if_then_else(
                    y >= ph and y < ph + h and x >= pw and x < pw + w, X[b, u, i, y - ph, x - pw], T.Cast(dtype, 0)
                )
        for b, y, x, u, o in T.grid(n, oh, ow, g, co):
            for r, c, i in T.grid(kh, kw, ci):
                with T.sblock("sums"):
                    if r == 0 and c == 0 and i == 0:
                        S[b, y, x, u, o] = T.Cast(dtype, 0)
                    S[b, y, x, u, o] = T.fma(
                        P[b, u, i, y * sh + r * dh, x * sw + c * dw], W[u, o, i, r, c], S[b, y, x, u, o]
                    )
        for b, y, x, u, o in T.grid(n, oh, ow, g, co):
            with T.sblock("result"):
                Y[b, u, o, y, x] = T.max(T.Cast(dtype, least), S[b, y, x, u, o] + B[u, o])

    return conv2d


def channels_in_blocks(p: Problem) -> PrimFunc:
    """NCHWc: channels in blocks, those of a block side by side."""
    n, g, ci, co, (kh, kw), (sh, sw), (dh, dw) = p.batch, p.groups, p.inputs, p.outputs, p.kernel, p.strides, p.dilation
    h, w, (ph, pw), (hp, wp), (oh, ow) = p.height, p.width, p.padding, p.padded, p.places
    least, dtype, k = p.least, p.dtype, p.block

    @T.prim_func
    def conv2d(
        X: T.Buffer((n, g * ci // k, h, w, k), dtype), W: T.Buffer((g, co, ci, kh, kw), dtype),
        B: T.Buffer((g, co), dtype), Y: T.Buffer((n, g * co // k, oh, ow, k), dtype),
    ):  # fmt: skip
        P = T.alloc_buffer((n, g * ci // k, hp, wp, k), dtype)
        S = T.alloc_buffer((n, oh, ow, g, co), dtype)
        for b, q, y, x, i in T.grid(n, g * ci // k, hp, wp, k):
            with T.sblock("padded"):
                P[b, q, y, x, i] = T.if_then_else(
                    y >= ph and y < ph + h and x >= pw and x < pw + w, X[b, q, y - ph, x - pw, i], T.Cast(dtype, 0)
                )
        for b, y, x, u, o in T.grid(n, oh, ow, g, co):
            for r, c, i in T.grid(kh, kw, ci):
                with T.sblock("sums"):
                    if r == 0 and c == 0 and i == 0:
                        S[b, y, x, u, o] = T.Cast(dtype, 0)
                    S[b, y, x, u, o] = T.fma(
                        P[b, (u * ci + i) // k, y * sh + r * dh, x * sw + c * dw, (u * ci + i) % k],
                        W[u, o, i, r, c],
                        S[b, y, x, u, o],
                    )
        for b, y, x, u, o in T.grid(n, oh, ow, g, co):
            with T.sblock("result"):
                Y[b, (u * co + o) // k, y, x, (u * co + o) % k] = T.max(
                    T.Cast(dtype, least), S[b, y, x, u, o] + B[u, o]
                )

    return conv2d
