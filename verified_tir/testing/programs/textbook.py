"""Programs from textbooks: random nests rarely look like them, and they are what schedules are written for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, TypeVar

from verified_tir.ir.dtype import FLOAT32, DType
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import parse_func
from verified_tir.testing.drawing import Picker

T = TypeVar("T")
_SIZES: Final = (4, 2, 3, 8, 5, 6, 7)
_CHOICES: Final = 48
"""More than a small random program takes, so that shrinking prefers that one."""

_PROGRAMS: Final[dict[str, tuple[str, ...]]] = {
    "two stages over a local buffer; the extent may be a symbol": (
        """A: T.Buffer(({n},), "{t}"), B: T.Buffer(({n},), "{t}")):
    t = T.alloc_buffer(({n},), "{t}")
    for i in range({n}):
        t[i] = A[i] + T.{t}(1)
    for i in range({n}):
        B[i] = t[i] * T.{t}(2)
""",
        """A: T.Buffer(("n",), "{t}"), B: T.Buffer((n,), "{t}")):
    t = T.alloc_buffer((n,), "{t}")
    for i in range(n):
        t[i] = A[i] + T.{t}(1)
    for i in range(n):
        B[i] = t[i] * T.{t}(2)
""",
    ),
    "a product of matrices, as loops or as a block": (
        """A: T.Buffer(({n}, {k}), "{t}"), B: T.Buffer(({k}, {m}), "{t}"), C: T.Buffer(({n}, {m}), "{t}")):
    for i, j in T.grid({n}, {m}):
        C[i, j] = T.{t}(0)
        for k in range({k}):
            C[i, j] = C[i, j] + A[i, k] * B[k, j]
""",
        """A: T.Buffer(({n}, {k}), "{t}"), B: T.Buffer(({k}, {m}), "{t}"), C: T.Buffer(({n}, {m}), "{t}")):
    for i, j, k in T.grid({n}, {m}, {k}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.{t}(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
""",
    ),
    "a transposed copy, in ragged tiles or whole": (
        """A: T.Buffer(({n}, {m}), "{t}"), B: T.Buffer(({m}, {n}), "{t}")):
    for io, j, ii in T.grid(({n} + 3) // 4, {m}, 4):
        if io * 4 + ii < {n}:
            B[j, io * 4 + ii] = A[io * 4 + ii, j]
""",
        """A: T.Buffer(({n}, {m}), "{t}"), B: T.Buffer(({m}, {n}), "{t}")):
    for i, j in T.grid({n}, {m}):
        B[j, i] = A[i, j]
""",
    ),
    "neighbours summed, once or in several steps of time": (
        """A: T.Buffer(({n} + 2,), "{t}"), B: T.Buffer(({n} + 2,), "{t}")):
    for i in range({n}):
        B[i + 1] = A[i] + A[i + 1] + A[i + 2]
""",
        """A: T.Buffer(({n} + 2,), "{t}"), B: T.Buffer(({n} + 2,), "{t}")):
    for s in range({c}):
        for i in range({n}):
            B[i + 1] = A[i] + A[i + 1] + A[i + 2]
        for i in range({n}):
            A[i + 1] = B[i + 1]
""",
    ),
    "running sums, from one end or from the other": (
        """A: T.Buffer(({n}, {m} + 1), "{t}")):
    for i, j in T.grid({n}, {m}):
        A[i, {m} - 1 - j] = A[i, {m} - 1 - j] + A[i, {m} - j]
""",
        """A: T.Buffer(({n},), "{t}"), B: T.Buffer(({n},), "{t}")):
    for i in range({n}):
        if i == 0:
            B[i] = A[i]
        else:
            B[i] = B[i - 1] + A[i]
""",
    ),
    "forward substitution": (
        """L: T.Buffer(({n}, {n}), "{t}"), x: T.Buffer(({n},), "{t}")):
    for i in range({n}):
        for j in range(i):
            x[i] = x[i] - L[i, j] * x[j]
""",
    ),
    "a copy with a border of zeros": (
        """A: T.Buffer(({n}, {m}), "{t}"), B: T.Buffer(({n} + 2, {m} + 2), "{t}")):
    for i, j in T.grid({n} + 2, {m} + 2):
        B[i, j] = T.if_then_else(1 <= i and i < {n} + 1 and 1 <= j and j < {m} + 1, A[i - 1, j - 1], T.{t}(0))
""",
    ),
    "the maximum over windows": (
        """A: T.Buffer(({n} * {s} + 2, {m} * {s} + 2), "{t}"), B: T.Buffer(({n}, {m}), "{t}")):
    for i, j in T.grid({n}, {m}):
        B[i, j] = A[i * {s}, j * {s}]
        for p, q in T.grid(2, 2):
            B[i, j] = T.max(B[i, j], A[i * {s} + p, j * {s} + q])
""",
    ),
    "a two-dimensional convolution with a stride, of all channels or of each alone": (
        """A: T.Buffer(({c}, ({n} - 1) * {s} + {w}, ({m} - 1) * {s} + {w}), "{t}"),
         W: T.Buffer((2, {c}, {w}, {w}), "{t}"), B: T.Buffer((2, {n}, {m}), "{t}")):
    for o, y, x, c, p, q in T.grid(2, {n}, {m}, {c}, {w}, {w}):
        with T.block("B"):
            vo, vy, vx, vc, vp, vq = T.axis.remap("SSSRRR", [o, y, x, c, p, q])
            with T.init():
                B[vo, vy, vx] = T.{t}(0)
            B[vo, vy, vx] = B[vo, vy, vx] + A[vc, vy * {s} + vp, vx * {s} + vq] * W[vo, vc, vp, vq]
""",
        """A: T.Buffer(({c}, ({n} - 1) * {s} + {w}, ({m} - 1) * {s} + {w}), "{t}"),
         W: T.Buffer(({c}, {w}, {w}), "{t}"), B: T.Buffer(({c}, {n}, {m}), "{t}")):
    for c, y, x in T.grid({c}, {n}, {m}):
        B[c, y, x] = T.{t}(0)
        for p, q in T.grid({w}, {w}):
            B[c, y, x] = B[c, y, x] + A[c, y * {s} + p, x * {s} + q] * W[c, p, q]
""",
    ),
    "rows by number: the numbers are assumed, clamped or checked to be some": (
        """A: T.Buffer(({n}, {m}), "{t}"), I: T.Buffer(({k},), "int32"), B: T.Buffer(({k}, {m}), "{t}")):
    for i in range({k}):
        T.assume(0 <= I[i] and I[i] < {n})
    for i, j in T.grid({k}, {m}):
        B[i, j] = A[I[i], j]
""",
        """A: T.Buffer(({n}, {m}), "{t}"), I: T.Buffer(({k},), "int32"), B: T.Buffer(({k}, {m}), "{t}")):
    for i, j in T.grid({k}, {m}):
        B[i, j] = A[T.max(T.min(I[i], {n} - 1), 0), j]
""",
        """A: T.Buffer(({n}, {m}), "{t}"), I: T.Buffer(({k},), "int32"), B: T.Buffer(({k}, {m}), "{t}")):
    for i, j in T.grid({k}, {m}):
        if 0 <= I[i] and I[i] < {n}:
            B[i, j] = A[I[i], j]
""",
    ),
    "how often each remainder occurs, a scatter with conflicts": (
        """I: T.Buffer(({n},), "int32"), B: T.Buffer(({m},), "{t}")):
    for i in range({m}):
        B[i] = T.{t}(0)
    for i in range({n}):
        B[I[i] % {m}] = B[I[i] % {m}] + T.{t}(1)
""",
    ),
    "the greatest element of each row and where it is": (
        """A: T.Buffer(({n}, {m}), "{t}"), B: T.Buffer(({n},), "{t}"), I: T.Buffer(({n},), "int32")):
    for i in range({n}):
        B[i] = A[i, 0]
        I[i] = 0
        for j in range({m}):
            if A[i, j] > B[i]:
                B[i] = A[i, j]
                I[i] = j
""",
    ),
    "a product of bytes, summed in 32 bits": (
        """A: T.Buffer(({n}, {k}), "int8"), B: T.Buffer(({k},), "int8"), C: T.Buffer(({n},), "int32")):
    for i in range({n}):
        C[i] = 0
        for k in range({k}):
            C[i] = C[i] + T.Cast("int32", A[i, k]) * T.Cast("int32", B[k])
""",
    ),
}
"""What stands behind ``def main(``: one or more forms of each program, in sizes ``n``, ``m``, ``k``, a stride ``s``, a
number of channels or steps ``c``, a width of windows ``w``, and the type ``t``."""

_OF_FLOATS: Final[dict[str, tuple[str, ...]]] = {
    "softmax of each row, with its maximum taken off": (
        """A: T.Buffer(({n}, {m}), "{t}"), B: T.Buffer(({n}, {m}), "{t}")):
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
""",
    ),
    "each row less its mean, over the root of its variance": (
        """A: T.Buffer(({n}, {m}), "{t}"), B: T.Buffer(({n}, {m}), "{t}")):
    s = T.alloc_buffer((2,), "{t}")
    for i in range({n}):
        s[0] = T.{t}(0)
        s[1] = T.{t}(0)
        for j in range({m}):
            s[0] = s[0] + A[i, j]
            s[1] = s[1] + A[i, j] * A[i, j]
        for j in range({m}):
            B[i, j] = (A[i, j] - s[0] / T.{t}({m})) / T.sqrt(s[1] / T.{t}({m}) + T.{t}(1))
""",
    ),
}
"""Those that make no sense of integers."""


def textbook(pick: Picker, dtype: DType) -> PrimFunc:
    """One of the programs, of some sizes and element type."""
    choices = iter([pick.integer(0, 5) for _ in range(_CHOICES)])

    def among(options: Sequence[T]) -> T:
        first = next(choices)
        return options[(first + 6 * next(choices) if len(options) > 6 else first) % len(options)]

    name = among((*_PROGRAMS, *_OF_FLOATS))
    form = among(_PROGRAMS.get(name) or _OF_FLOATS[name])
    numbers = {x: among(_SIZES) for x in "nmk"} | {"s": among((1, 2)), "c": among((2, 3)), "w": among((2, 3))}
    t = dtype if dtype.is_float or name in _PROGRAMS else FLOAT32
    return _parsed(f"@T.prim_func\ndef main({form.format(t=t, **numbers)}")


@lru_cache(maxsize=512)
def _parsed(text: str) -> PrimFunc:
    return parse_func(text)
