"""Programs from textbooks: random nests rarely look like them, and they are what schedules are written for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeVar, final

from verified_tir.ir.dtype import FLOAT32, DType
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import parse_func
from verified_tir.testing.drawing import Picker

T = TypeVar("T")
_SIZES = (4, 2, 3, 8, 5, 6, 7)


def textbook(pick: Picker, dtype: DType) -> PrimFunc:
    """One of the programs, of some sizes and element type."""
    drawn = _Drawn([pick.integer(0, 5) for _ in range(_CHOICES)])
    write = drawn.among(_WRITERS)
    return _parsed(write(drawn, str(dtype if dtype.is_float or write not in _FLOATS else FLOAT32)))


_CHOICES = 48
"""More than a small random program takes, so that shrinking prefers that one."""


@final
class _Drawn:
    """Choices made beforehand, used up one after the other."""

    def __init__(self, choices: list[int]) -> None:
        self.choices = iter(choices)

    def among(self, options: Sequence[T]) -> T:
        """One of the options."""
        first = next(self.choices)
        return options[(first + 6 * next(self.choices) if len(options) > 6 else first) % len(options)]

    def one(self, *options: T) -> T:
        """The same."""
        return self.among(options)

    def flip(self) -> bool:
        """One of two."""
        return self.among((False, True))


@lru_cache(maxsize=512)
def _parsed(text: str) -> PrimFunc:
    return parse_func("@T.prim_func\n" + text)


def _sizes(pick: _Drawn, count: int) -> list[int]:
    return [pick.among(_SIZES) for _ in range(count)]


def matmul(pick: _Drawn, t: str) -> str:
    """A product of matrices, as loops or as a block."""
    n, m, k = _sizes(pick, 3)
    head = f"""def main(A: T.Buffer(({n}, {k}), "{t}"), B: T.Buffer(({k}, {m}), "{t}"), C: T.Buffer(({n}, {m}), "{t}")):
"""
    if pick.flip():
        return (
            head
            + f"""    for i, j, k in T.grid({n}, {m}, {k}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.{t}(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
        )
    return (
        head
        + f"""    for i, j in T.grid({n}, {m}):
        C[i, j] = T.{t}(0)
        for k in range({k}):
            C[i, j] = C[i, j] + A[i, k] * B[k, j]
"""
    )


def elementwise(pick: _Drawn, t: str) -> str:
    """Two stages over a local buffer; the extent may be a symbol."""
    (n,) = _sizes(pick, 1)
    symbolic = pick.flip()
    shape, extent = ('"n"', "n") if symbolic else (str(n), str(n))
    later = "n" if symbolic else str(n)
    return f"""def main(A: T.Buffer(({shape},), "{t}"), B: T.Buffer(({later},), "{t}")):
    t = T.alloc_buffer(({extent},), "{t}")
    for i in range({extent}):
        t[i] = A[i] + T.{t}(1)
    for i in range({extent}):
        B[i] = t[i] * T.{t}(2)
"""


def transpose(pick: _Drawn, t: str) -> str:
    """A transposed copy, whole or in ragged tiles."""
    n, m = _sizes(pick, 2)
    head = f"""def main(A: T.Buffer(({n}, {m}), "{t}"), B: T.Buffer(({m}, {n}), "{t}")):
"""
    if pick.flip():
        return head + f"    for i, j in T.grid({n}, {m}):\n        B[j, i] = A[i, j]\n"
    return (
        head
        + f"""    for io, j, ii in T.grid({-(-n // 4)}, {m}, 4):
        if io * 4 + ii < {n}:
            B[j, io * 4 + ii] = A[io * 4 + ii, j]
"""
    )


def stencil(pick: _Drawn, t: str) -> str:
    """Neighbours summed, in one dimension, in several steps of time."""
    (n,) = _sizes(pick, 1)
    times = pick.one(1, 2, 3)
    update = "B[i + 1] = A[i] + A[i + 1] + A[i + 2]"
    if times == 1:
        return f"""def main(A: T.Buffer(({n + 2},), "{t}"), B: T.Buffer(({n + 2},), "{t}")):
    for i in range({n}):
        {update}
"""
    return f"""def main(A: T.Buffer(({n + 2},), "{t}"), B: T.Buffer(({n + 2},), "{t}")):
    for s in range({times}):
        for i in range({n}):
            {update}
        for i in range({n}):
            A[i + 1] = B[i + 1]
"""


def convolution(pick: _Drawn, t: str) -> str:
    """A two-dimensional convolution, of all channels or of each alone, with a stride."""
    h, w = _sizes(pick, 2)
    c, k, s = pick.one(2, 3), pick.one(2, 3), pick.one(1, 2)
    rows, columns = (h - 1) * s + k, (w - 1) * s + k
    if pick.flip():
        return f"""def main(A: T.Buffer(({c}, {rows}, {columns}), "{t}"), W: T.Buffer(({c}, {k}, {k}), "{t}"),
         B: T.Buffer(({c}, {h}, {w}), "{t}")):
    for c, y, x in T.grid({c}, {h}, {w}):
        B[c, y, x] = T.{t}(0)
        for p, q in T.grid({k}, {k}):
            B[c, y, x] = B[c, y, x] + A[c, y * {s} + p, x * {s} + q] * W[c, p, q]
"""
    return f"""def main(A: T.Buffer(({c}, {rows}, {columns}), "{t}"), W: T.Buffer((2, {c}, {k}, {k}), "{t}"),
         B: T.Buffer((2, {h}, {w}), "{t}")):
    for o, y, x, c, p, q in T.grid(2, {h}, {w}, {c}, {k}, {k}):
        with T.block("B"):
            vo, vy, vx, vc, vp, vq = T.axis.remap("SSSRRR", [o, y, x, c, p, q])
            with T.init():
                B[vo, vy, vx] = T.{t}(0)
            B[vo, vy, vx] = B[vo, vy, vx] + A[vc, vy * {s} + vp, vx * {s} + vq] * W[vo, vc, vp, vq]
"""


def padding(pick: _Drawn, t: str) -> str:
    """A copy with a border of zeros."""
    n, m = _sizes(pick, 2)
    return f"""def main(A: T.Buffer(({n}, {m}), "{t}"), B: T.Buffer(({n + 2}, {m + 2}), "{t}")):
    for i, j in T.grid({n + 2}, {m + 2}):
        B[i, j] = T.if_then_else(1 <= i and i < {n + 1} and 1 <= j and j < {m + 1}, A[i - 1, j - 1], T.{t}(0))
"""


def pooling(pick: _Drawn, t: str) -> str:
    """The maximum over windows."""
    n, m = _sizes(pick, 2)
    s = pick.one(2, 1)
    return f"""def main(A: T.Buffer(({n * s + 2}, {m * s + 2}), "{t}"), B: T.Buffer(({n}, {m}), "{t}")):
    for i, j in T.grid({n}, {m}):
        B[i, j] = A[i * {s}, j * {s}]
        for p, q in T.grid(2, 2):
            B[i, j] = T.max(B[i, j], A[i * {s} + p, j * {s} + q])
"""


def scan(pick: _Drawn, t: str) -> str:
    """Running sums, from one end or from the other."""
    n, m = _sizes(pick, 2)
    if pick.flip():
        return f"""def main(A: T.Buffer(({n},), "{t}"), B: T.Buffer(({n},), "{t}")):
    for i in range({n}):
        if i == 0:
            B[i] = A[i]
        else:
            B[i] = B[i - 1] + A[i]
"""
    return f"""def main(A: T.Buffer(({n}, {m + 1}), "{t}")):
    for i, j in T.grid({n}, {m}):
        A[i, {m - 1} - j] = A[i, {m - 1} - j] + A[i, {m} - j]
"""


def triangle(pick: _Drawn, t: str) -> str:
    """Forward substitution, or the sums of a triangle."""
    (n,) = _sizes(pick, 1)
    return f"""def main(L: T.Buffer(({n}, {n}), "{t}"), x: T.Buffer(({n},), "{t}")):
    for i in range({n}):
        for j in range(i):
            x[i] = x[i] - L[i, j] * x[j]
"""


def softmax(pick: _Drawn, t: str) -> str:
    """Softmax of each row, with its maximum taken off."""
    n, m = _sizes(pick, 2)
    return f"""def main(A: T.Buffer(({n}, {m}), "{t}"), B: T.Buffer(({n}, {m}), "{t}")):
    most = T.alloc_buffer(({n},), "{t}")
    total = T.alloc_buffer(({n},), "{t}")
    for i in range({n}):
        most[i] = A[i, 0]
        for j in range({m}):
            most[i] = T.max(most[i], A[i, j])
        total[i] = T.{t}(0)
        for j in range({m}):
            total[i] = total[i] + T.exp(A[i, j] - most[i])
        for j in range({m}):
            B[i, j] = T.exp(A[i, j] - most[i]) / total[i]
"""


def normalization(pick: _Drawn, t: str) -> str:
    """Each row less its mean, over the root of its variance."""
    n, m = _sizes(pick, 2)
    return f"""def main(A: T.Buffer(({n}, {m}), "{t}"), B: T.Buffer(({n}, {m}), "{t}")):
    s = T.alloc_buffer((2,), "{t}")
    for i in range({n}):
        s[0] = T.{t}(0)
        s[1] = T.{t}(0)
        for j in range({m}):
            s[0] = s[0] + A[i, j]
            s[1] = s[1] + A[i, j] * A[i, j]
        for j in range({m}):
            B[i, j] = (A[i, j] - s[0] / T.{t}({m})) / T.sqrt(s[1] / T.{t}({m}) + T.{t}(1))
"""


def gather(pick: _Drawn, t: str) -> str:
    """Rows by number: the numbers are assumed, clamped or checked to be some."""
    n, m, k = _sizes(pick, 3)
    head = f"""def main(A: T.Buffer(({n}, {m}), "{t}"), I: T.Buffer(({k},), "int32"), B: T.Buffer(({k}, {m}), "{t}")):
"""
    nest = f"for i, j in T.grid({k}, {m}):"
    inside = f"0 <= I[i] and I[i] < {n}"
    match pick.one("assumed", "clamped", "checked"):
        case "assumed":
            lines = [f"for i in range({k}):", f"    T.assume({inside})", nest, "    B[i, j] = A[I[i], j]"]
        case "clamped":
            lines = [nest, f"    B[i, j] = A[T.max(T.min(I[i], {n - 1}), 0), j]"]
        case _:
            lines = [nest, f"    if {inside}:", "        B[i, j] = A[I[i], j]"]
    return head + "".join(f"    {line}\n" for line in lines)


def histogram(pick: _Drawn, t: str) -> str:
    """How often each remainder occurs: a scatter with conflicts."""
    n, m = _sizes(pick, 2)
    return f"""def main(I: T.Buffer(({n},), "int32"), B: T.Buffer(({m},), "{t}")):
    for i in range({m}):
        B[i] = T.{t}(0)
    for i in range({n}):
        B[I[i] % {m}] = B[I[i] % {m}] + T.{t}(1)
"""


def quantized(pick: _Drawn, t: str) -> str:
    """A product of bytes, summed in 32 bits."""
    n, k = _sizes(pick, 2)
    return f"""def main(A: T.Buffer(({n}, {k}), "int8"), B: T.Buffer(({k},), "int8"), C: T.Buffer(({n},), "int32")):
    for i in range({n}):
        C[i] = 0
        for k in range({k}):
            C[i] = C[i] + T.Cast("int32", A[i, k]) * T.Cast("int32", B[k])
"""


def argmax(pick: _Drawn, t: str) -> str:
    """The greatest element of each row and where it is."""
    n, m = _sizes(pick, 2)
    return f"""def main(A: T.Buffer(({n}, {m}), "{t}"), B: T.Buffer(({n},), "{t}"), I: T.Buffer(({n},), "int32")):
    for i in range({n}):
        B[i] = A[i, 0]
        I[i] = 0
        for j in range({m}):
            if A[i, j] > B[i]:
                B[i] = A[i, j]
                I[i] = j
"""


_FLOATS: tuple[Callable[[_Drawn, str], str], ...] = (softmax, normalization)
"""Those that make no sense of integers."""
_WRITERS: tuple[Callable[[_Drawn, str], str], ...] = (
    elementwise, matmul, transpose, stencil, scan, triangle, padding, pooling, convolution, gather, histogram, argmax,
    quantized, softmax, normalization,
)  # fmt: skip
