"""Textbook programs of small extents, with the accidents that schedules stumble over.

Each is a template: extents ``n``, ``m``, ``k``, a type of elements, and ``e``, any small number.  What they have
between them: reductions in blocks and in loops, stages over local buffers, guards, loads in guards, views, lets,
symbolic extents that may be zero, indices from memory under an assumption, sums that begin with what is there,
statements whose order matters, in-place updates, parts that are never written.
"""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

TYPES: Final = ("float32", "int32", "float32", "int8", "float16")
EXTENTS: Final = (4, 3, 2, 5, 6, 8, 7, 1, 4, 3, 5, 0)

SEEDS: Final[dict[str, str]] = {
    "scale": """
def scale(A: T.Buffer(({n},), "{t}"), B: T.Buffer(({n},), "{t}")):
    for i in range({n}):
        with T.block("B"):
            B[i] = A[i] * {two}
""",
    "row sum": """
def row_sum(A: T.Buffer(({m}, {n}), "{t}"), B: T.Buffer(({m},), "{t}")):
    for i in range({m}):
        B[i] = {zero}
        for j in range({n}):
            B[i] = B[i] + A[i, j]
""",
    "row sum in a block": """
def row_sum(A: T.Buffer(({m}, {n}), "{t}"), B: T.Buffer(({m},), "{t}")):
    for i, j in T.grid({m}, {n}):
        with T.block("B"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                B[vi] = {zero}
            B[vi] = B[vi] + A[vi, vj]
""",
    "matmul": """
def matmul(A: T.Buffer(({n}, {k}), "{t}"), B: T.Buffer(({k}, {m}), "{t}"), C: T.Buffer(({n}, {m}), "{t}")):
    for i, j, k in T.grid({n}, {m}, {k}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = {zero}
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
""",
    "tiles that overlap": """
def window(A: T.Buffer((4 * {n} + 2,), "{t}"), C: T.Buffer((4 * {n},), "{t}")):
    B = T.alloc_buffer((4 * {n} + 2,), "{t}")
    for i in range({n}):
        for a in range(6):
            with T.block("B"):
                B[i * 4 + a] = A[i * 4 + a] * {two}
        for b in range(4):
            with T.block("C"):
                C[i * 4 + b] = B[i * 4 + b] + B[i * 4 + b + 2]
""",
    "sum over what is there": """
def onto(A: T.Buffer(({n}, {m}), "{t}"), B: T.Buffer(({n},), "{t}")):
    for j, i in T.grid({m}, {n}):
        with T.block("B"):
            B[i] = B[i] + A[i, j]
""",
    "maximum": """
def most(A: T.Buffer(({m}, {n}), "{t}"), B: T.Buffer(({m},), "{t}")):
    for i in range({m}):
        with T.block("first"):
            B[i] = A[i, 0]
        for j in range({n}):
            with T.block("B"):
                B[i] = T.max(B[i], A[i, j])
""",
    "stages": """
def stages(A: T.Buffer(({n} + 2,), "{t}"), B: T.Buffer(({n},), "{t}")):
    t = T.alloc_buffer(({n} + 2,), "{t}")
    for i in range({n} + 2):
        with T.block("t"):
            t[i] = A[i] * {two}
    for j in range({n}):
        with T.block("B"):
            B[j] = t[j] + t[j + 2]
""",
    "three stages": """
def three(A: T.Buffer(({n}, {m}), "{t}"), B: T.Buffer(({n}, {m}), "{t}")):
    t = T.alloc_buffer(({n}, {m}), "{t}")
    u = T.alloc_buffer(({n}, {m}), "{t}")
    for i, j in T.grid({n}, {m}):
        with T.block("t"):
            t[i, j] = A[i, j] + {one}
    for i, j in T.grid({n}, {m}):
        with T.block("u"):
            u[i, j] = T.max(t[i, j], {zero})
    for i, j in T.grid({n}, {m}):
        with T.block("B"):
            B[i, j] = u[i, {m} - 1 - j] * A[i, j]
""",
    "guarded": """
def guarded(A: T.Buffer(({n},), "{t}"), B: T.Buffer(({n},), "{t}"), P: T.Buffer(({n},), "int32")):
    for i in range({n}):
        if i < {e} and P[i] > 0:
            with T.block("B"):
                B[i] = A[i]
""",
    "guard read and written": """
def flags(P: T.Buffer(({n} + 1,), "int32"), B: T.Buffer(({n},), "{t}")):
    for i in range({n}):
        with T.block("P"):
            P[i + 1] = P[i] + 1
        if P[i] < {e}:
            with T.block("B"):
                B[i] = B[i] + {one}
""",
    "two writers": """
def writers(A: T.Buffer(({n},), "{t}"), B: T.Buffer(({n} + {e},), "{t}")):
    for i in range({n}):
        with T.block("first"):
            B[i] = A[i]
        with T.block("second"):
            B[i + {e}] = A[i] + {one}
""",
    "shifted in place": """
def shifted(A: T.Buffer(({n} + {e},), "{t}")):
    for i in range({n}):
        with T.block("A"):
            A[i] = A[i + {e}] + {one}
    for j in range({n}):
        with T.block("again"):
            A[j + {e}] = A[j] * {two}
""",
    "scan": """
def scan(A: T.Buffer(({n},), "{t}"), B: T.Buffer(({n} + 1,), "{t}")):
    B[0] = {zero}
    for i in range({n}):
        with T.block("B"):
            B[i + 1] = B[i] + A[i]
""",
    "symbolic": """
def symbolic(a: T.handle, b: T.handle, n: T.int32):
    A = T.match_buffer(a, (n,), "{t}")
    B = T.match_buffer(b, (n,), "{t}")
    for i in range(n):
        with T.block("B"):
            B[i] = A[i] + {one}
    for j in range(n):
        if j + {e} < n:
            with T.block("second"):
                B[j] = B[j + {e}] * {two}
""",
    "bounds from an argument": """
def prefix(A: T.Buffer(({n},), "{t}"), B: T.Buffer(({n},), "{t}"), q: T.int32):
    T.assume(0 <= q)
    T.assume(q <= {n})
    for i in range(q):
        with T.block("B"):
            B[i] = A[i]
    for i, j in T.grid({m}, q - 1):
        with T.block("next"):
            B[j + 1] = A[j] + {one}
""",
    "gather": """
def gather(A: T.Buffer(({n},), "{t}"), P: T.Buffer(({m},), "int32"), B: T.Buffer(({m},), "{t}")):
    for p in range({m}):
        T.assume(0 <= P[p] and P[p] < {n})
    for i in range({m}):
        with T.block("B"):
            B[i] = A[P[i]]
""",
    "scatter": """
def scatter(A: T.Buffer(({m},), "{t}"), P: T.Buffer(({m},), "int32"), B: T.Buffer(({n},), "{t}")):
    for p in range({m}):
        T.assume(0 <= P[p] and P[p] < {n})
    for i in range({m}):
        with T.block("B"):
            B[P[i]] = B[P[i]] + A[i]
""",
    "view": """
def view(A: T.Buffer(({n}, {m}), "{t}"), B: T.Buffer(({n}, {m}), "{t}")):
    V = T.decl_buffer(({n} * {m},), "{t}", data=B.data)
    for i, j in T.grid({n}, {m}):
        with T.block("B"):
            B[i, j] = A[i, j]
    for x in range({n} * {m}):
        with T.block("V"):
            V[x] = V[x] + A[0, 0]
    for i in range({n}):
        with T.block("last"):
            B[i, 0] = V[i]
""",
    "lets": """
def lets(A: T.Buffer(({n},), "{t}"), B: T.Buffer(({n},), "{t}")):
    for i in range({n}):
        with T.block("B"):
            x: T.let[T.{t}] = A[i] + {one}
            A[i] = {zero}
            B[i] = x * x
""",
    "local sums": """
def local_sums(A: T.Buffer(({n}, {m}), "{t}"), B: T.Buffer(({n},), "{t}")):
    for i in range({n}):
        t = T.alloc_buffer((1,), "{t}")
        with T.block("t_init"):
            t[0] = {zero}
        for j in range({m}):
            with T.block("t"):
                t[0] = t[0] + A[i, j] * A[i, j]
        with T.block("B"):
            B[i] = t[0]
""",
    "partly filled": """
def partly(A: T.Buffer(({n},), "{t}"), B: T.Buffer(({n},), "{t}")):
    t = T.alloc_buffer(({n},), "{t}")
    for i in range({n}):
        with T.block("B0"):
            B[i] = {zero}
    for i in range({n}):
        if i % 2 == 0:
            with T.block("t"):
                t[i] = A[i]
    for j in range({n}):
        if j % 2 == 0:
            with T.block("B"):
                B[j] = t[j]
""",
    "no effect": """
def nothing(A: T.Buffer(({n},), "{t}"), B: T.Buffer(({n},), "{t}")):
    for i in range({n}):
        with T.block("first"):
            B[i] = {one}
    for i in range({n}):
        with T.block("same"):
            B[i] = B[i] + {zero}
    for i in range({n}):
        with T.block("over"):
            B[i] = T.if_then_else(i < {e}, A[i], B[i])
""",
    "written twice": """
def twice(A: T.Buffer(({n},), "{t}"), B: T.Buffer(({n},), "{t}"), C: T.Buffer(({n},), "{t}")):
    for i in range({n}):
        with T.block("first"):
            B[i] = A[i]
    for i in range({n}):
        with T.block("C"):
            C[i] = B[({e} + i) % {n}]
    for i in range({n}):
        with T.block("again"):
            B[i] = A[i] * {two}
""",
    "branches": """
def branches(A: T.Buffer(({n}, {m}), "{t}"), B: T.Buffer(({n}, {m}), "{t}")):
    for i in range({n}):
        for j in range({m}):
            if i < {e}:
                if j >= 1:
                    B[i, j] = A[i, j]
                else:
                    B[i, j] = {zero}
            else:
                B[i, j] = A[i, j] + {one}
""",
    "convolution": """
def conv(A: T.Buffer(({n} + 2,), "{t}"), W: T.Buffer((3,), "{t}"), B: T.Buffer(({n},), "{t}")):
    pad = T.alloc_buffer(({n} + 4,), "{t}")
    for i in range({n} + 4):
        with T.block("pad"):
            pad[i] = T.if_then_else(1 <= i and i < {n} + 3, A[i - 1], {zero})
    for i, r in T.grid({n}, 3):
        with T.block("B"):
            vi, vr = T.axis.remap("SR", [i, r])
            with T.init():
                B[vi] = {zero}
            B[vi] = B[vi] + pad[vi + vr] * W[vr]
""",
    "same in every iteration": """
def again(A: T.Buffer(({n},), "{t}"), B: T.Buffer(({n},), "{t}")):
    for r in range({e}):
        for i in range({n}):
            with T.block("B"):
                B[i] = A[i] + {one}
""",
    "triangular": """
def triangular(A: T.Buffer(({n}, {n}), "{t}"), B: T.Buffer(({n},), "{t}")):
    for i in range({n}):
        for j in range(i + 1):
            with T.block("B"):
                B[j] = B[j] + A[i, j]
""",
    "extent from memory": """
def ragged(L: T.Buffer(({m},), "int32"), B: T.Buffer(({m}, {n}), "{t}")):
    for i in range({m}):
        for j in range(T.min(T.max(L[i], 0), {n})):
            with T.block("B"):
                B[i, j] = B[i, j] + {one}
        with T.block("L"):
            L[0] = L[i] - 1
""",
    "windows": """
def windows(A: T.Buffer(({n},), "{t}"), B: T.Buffer(({n} + {m},), "{t}")):
    for i in range({n}):
        for j in range({m}):
            with T.block("B"):
                B[i + j] = A[i]
""",
    "last iteration": """
def last(A: T.Buffer(({n},), "{t}"), B: T.Buffer(({n},), "{t}")):
    for i in range({n}):
        if i == {n} - 1:
            with T.block("first"):
                B[0] = A[i]
        else:
            with T.block("B"):
                B[i] = {two}
""",
    "two buffers in turn": """
def turns(A: T.Buffer(({n},), "{t}"), B: T.Buffer(({n},), "{t}")):
    t = T.alloc_buffer((2,), "{t}")
    with T.block("t_init"):
        t[0] = {one}
    for i in range({n}):
        with T.block("t"):
            t[(i + 1) % 2] = t[i % 2] + A[i]
        with T.block("B"):
            B[i] = t[(i + 1) % 2]
""",
    "left from the iteration before": """
def left(A: T.Buffer(({n},), "{t}"), B: T.Buffer(({n},), "{t}")):
    t = T.alloc_buffer(({n},), "{t}")
    for i in range({n}):
        t[i] = {zero}
    for i in range({n}):
        if A[i] > {zero}:
            with T.block("t"):
                t[i // 2] = A[i]
        with T.block("B"):
            B[i] = t[i // 2]
""",
    "transposed twice": """
def transposed(A: T.Buffer(({n}, {m}), "{t}"), B: T.Buffer(({n}, {m}), "{t}")):
    t = T.alloc_buffer(({m}, {n}), "{t}")
    for i, j in T.grid({n}, {m}):
        with T.block("t"):
            t[j, i] = A[i, j]
    for i, j in T.grid({n}, {m}):
        with T.block("B"):
            B[i, j] = t[j, i] + t[0, i]
""",
    "product and what it begins with": """
def product(A: T.Buffer(({m}, {n}), "{t}"), B: T.Buffer(({m},), "{t}"), C: T.Buffer(({m},), "{t}")):
    for i in range({m}):
        C[i] = B[i]
        for j in range({n}):
            with T.block("B"):
                B[i] = B[i] * A[i, j]
        with T.block("C"):
            C[i] = C[i] + B[i]
""",
    "condition from what is written": """
def stop(A: T.Buffer(({n},), "{t}"), S: T.Buffer((1,), "int32"), B: T.Buffer(({n},), "{t}")):
    for i in range({n}):
        if S[0] > 0:
            with T.block("B"):
                B[i] = A[i]
            if A[i] > {two}:
                with T.block("S"):
                    S[0] = 0
""",
    "sum of two loops": """
def cube(A: T.Buffer(({n}, {m}, {k}), "{t}"), B: T.Buffer(({n},), "{t}")):
    for i, j, k in T.grid({n}, {m}, {k}):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SRR", [i, j, k])
            with T.init():
                B[vi] = {zero}
            B[vi] = B[vi] + A[vi, vj, vk]
""",
    "one element late": """
def late(A: T.Buffer(({n},), "{t}"), B: T.Buffer(({n},), "{t}"), q: T.int32):
    for i in range({n}):
        if q <= i:
            with T.block("B"):
                B[i] = A[i]
    for i in range({n}):
        if i <= q and i < {e} + 1:
            with T.block("again"):
                B[i] = A[0]
""",
}
"""Programs without their decorator, by name."""


def seed(name: str, t: str = "float32", n: int = 4, m: int = 3, k: int = 2, e: int = 1) -> str:
    """The text of a seed."""
    numbers = {"zero": 0, "one": 1, "two": 2}
    constants = {word: f"T.{t}({value})" for word, value in numbers.items()}
    return "@T.prim_func" + SEEDS[name].format(t=t, n=n, m=m, k=k, e=e, **constants)


@st.composite
def _seeds(draw: DrawFn) -> str:
    name = draw(st.sampled_from(list(SEEDS)))
    t = draw(st.sampled_from(TYPES))
    n, m, k = (draw(st.sampled_from(EXTENTS)) for _ in range(3))
    return seed(name, t, n, m, k, draw(st.sampled_from((1, 2, 3, 0))))


def seeds() -> SearchStrategy[str]:
    """Textbook programs: a template, a type of elements, small extents."""
    return _seeds()
