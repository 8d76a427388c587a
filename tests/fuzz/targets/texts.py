"""TVMScript texts, right and wrong: what the parser is given.

A text starts from a program that is right, in one of the dialects that are read, and is then damaged: tokens, lines and
characters go, come again, change places, or become something that has no business there.
"""

from __future__ import annotations

import re
from functools import cache, partial

from hypothesis import strategies as st

from tests.parts.syntax import syntactic_functions
from verified_tir.ir.script import script
from verified_tir.testing.drawing import Picker

SEEDS = (
    """
@T.prim_func
def row_sum(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (16, 14), "float32")
    B = T.match_buffer(shape=[16], dtype="float32")
    for i, j in T.grid(16, 14):
        T.assume(not (j >= 12) or A[i, j] == 0.0)
    for i in T.serial(16):
        B[i] = 0.0
        for j in T.serial(14):
            if 0 <= j < 12:
                B[i] += A[i, j]
            else:
                B[i] += T.undef()
""",
    """
from tvm.script import ir as I
from tvm.script import tirx as T

n = TypeVar("n")
N = 16
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def matmul(A: T.Buffer((N, n), "float16"), B: T.Buffer[(16, 16), "float16"], c: T.handle):
        T.func_attr({"global_symbol": "matmul", "tirx.noalias": True, "k": [1, {"x": 2.5}]})
        m = T.int64()
        C = T.match_buffer(c, (m, 16), "float16", strides=(m * T.int64(2), 1), elem_offset=4)
        L = T.sblock_alloc_buffer((16, 16), "float16", scope="local")
        for i0, j, k0 in T.grid(4, 16, 4):
            with T.sblock("matmul"):
                vi, vj = T.axis.remap("SS", [i0, j])
                vk = T.axis.reduce((0, 16), k0 * 4)
                T.where(i0 * 4 < 15)
                T.reads(A[vi, vk], B[vj, 0:16])
                T.writes([L[vi, vj]])
                T.sblock_attr({"structure": "SSR"})
                with T.init():
                    L[vi, vj] = T.float16(0.0)
                L[vi, vj] = L[vi, vj] + A[vi, vk] * B[vj, vk]
        Module.clear(L.data, 3)

    @T.prim_func
    def clear(A: T.Buffer((4,), "float32"), k: T.int32) -> None:
        A[k] = T.Cast("float32", k)
""",
    """
@T.prim_func(s_tir=True)
def vectors(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32"), V: T.Buffer((16,), "float32x4")):
    flat = A.view(8, 8)
    corner = T.decl_buffer((4, 4), data=A.data, strides=(8, 1), elem_offset=9, axis_separators=[1])
    for i in T.vectorized(4):
        C[i * 16:i * 16 + 16] = A[T.Ramp(i * 16, 1, 16)] + T.Broadcast(T.float32(1.0), 16)
        C[i * 16:i * 16 + 16:2] = A[i:i + 8] * 2.0
        V[i] = T.Select(A[i * 4:i * 4 + 4] < V[i], T.Broadcast(0.0, 4), T.Shuffle([V[i], A[i]], [3, 2, 1, 4]))
        C.vstore([T.Ramp(0, 2, 8)], A.vload([T.Ramp(0, 1, 8)]), predicate=T.Ramp(0, 1, 8) < T.Broadcast(i, 8))
""",
    """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((16,), "int32"), p: T.handle("float32"), f: T.float64, n: T.int32):
    assert n <= 16, "too \\"long\\""
    T.attr({"scope": 1, "depth": n})
    x = T.launch_thread("threadIdx.x", 8)
    s = T.alloc_shared((128,))
    k = T.alloc_buffer((), "int32")
    k[()] = 0
    while k[()] < n:
        with T.attr(x, "pragma_unroll", 1):
            if A[k[()]] > 1 and not A[k[()]] > 2:
                A[k[()]] = (k[()] << 3 | 255 & ~A[1]) ^ A[2] >> 1
            elif n == 3 or n != 4:
                A[k[()]] = A[k[()]] if n < 2 else -A[k[()]]
            else:
                pass
        k[()] += 1
    for i in T.parallel(2, 16, annotations={"chunk": T.int64(2), "exact": True}):
        y: T.let[T.int32] = i * 2
        with T.LetStmt(y + 1) as u:
            A[i] = u * T.Let(w + w, where={w: y}) + T.max_value("int32") // T.truncmod(u, 3)
    T.call_extern("int32", "printf", "%d\\n", A[0])
    T.evaluate(T.tvm_storage_sync("shared"))
    q: T.let[T.handle("float32")] = p
    Q = T.decl_buffer((4,), data=q)
    Q[0] = T.float32(f) + T.infinity("float32") * T.float32("-nan") - T.exp(T.fma(Q[0], 2, -0.0))
""",
)
"""Programs in the dialects that are read: what TVM 0.27 prints, older forms, and what people write."""

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
PIECES = (
    "0", "-1", "1", "T", "None", "True", '"n"', "A", "()", "[]", ":", "*", "**", "lambda x: x", "1e400", "9" * 30,
    "9" * 5000, "0x" + "f" * 40, "2 ** 2 ** 70", "1 << 99999999999", "...", "not", "in", "if", "else", "elif", "pass",
    "T.grid", "T.axis", "range", "T.int64(3)", "T.bool(True)", "T.uint8(-1)", "T.int8(128)", "T.float16(1e300)", 'b"x"',
    "1j", 'f"{A}"', "{}", "{1: 2}", "yield", "await", "T.undef()", "A.data", "A.shape", "A.shape[0]", "n", "=", ":=",
    "@", "%", "//", "<<", "~", "T.Buffer", "T.handle", '"float32"', '"float33"', '"float32x0"', '"int8x4"',
    "T.Ramp(0, 1, 4)", "return", "T.evaluate", "for", "with", "T.min_value",
    "T.Broadcast(0, -1)", "T.Broadcast(0, 99999999999)", "A[::2]",
    "A[0:0]", "A[-1:3]", "T.Shuffle([A[0]], [9])", "global A", "del A", "async", "é", "ﬁ", "\u2028", "\u03b1",

    "__import__('os')", "a.b.c.d", "T.T.T", "*A", "**A", "(1,)", "'''", "\\", "0b2", "1_000", "0777", "nan", "T.nan",
    "True + 1", "not not", "1 if", "x: T.int32", "T.ceildiv(n, 0)", "n // 0", "1 % 0", "T.vscale()", "T.axis.remap",
    'T.axis.remap("SSSSS", [i])', "T.reads()", "T.init()", "T.where(1)", "T.int32(2 ** 31)", "1.5 // 0.0",
)  # fmt: skip
"""What a token is replaced by."""
CHARACTERS = "()[]{}:,.='\"\\\n\r\f\t #@x0é\0\ufeff\u00a0\U0001f600;!$?`~^&|<>-+*/%"


@st.composite
def mutated_texts(draw: st.DrawFn) -> str:
    """A text with some damage, most often a little."""
    p = Picker(draw)
    text = draw(_sound_texts())
    for _ in range(p.one(1, 1, 2, 3, 5)):
        text = p.statement(partial(_damaged, p, text)) or " "
    return text


@cache
def _sound_texts() -> st.SearchStrategy[str]:
    return st.one_of(st.sampled_from(SEEDS), syntactic_functions().map(script))


def _damaged(p: Picker, text: str) -> str:
    kind = p.integer(0, 12)
    if kind <= 4:
        tokens = _TOKEN.findall(text)
        _damage_tokens(p, tokens, kind)
        return "".join(tokens)
    if kind <= 8:
        lines = text.split("\n")
        _damage_lines(p, lines, kind)
        return "\n".join(lines)
    at = p.integer(0, len(text))
    if kind == 9:
        return text[:at] + p.among(CHARACTERS) + text[at:]
    if kind == 10:
        return text[:at] + text[p.integer(at, min(len(text), at + 40)) :]
    if kind == 11:
        return text[:at]
    return _nested(p, text)


def _damage_tokens(p: Picker, tokens: list[str], kind: int) -> None:
    i, j = p.integer(0, len(tokens) - 1), p.integer(0, len(tokens) - 1)
    match kind:
        case 0:
            del tokens[i]
        case 1:
            tokens[i] = tokens[j]
        case 2:
            tokens[i], tokens[j] = tokens[j], tokens[i]
        case 3:
            tokens.insert(i, tokens[j])
        case _:
            tokens[i] = p.among(PIECES)


def _damage_lines(p: Picker, lines: list[str], kind: int) -> None:
    k, m = p.integer(0, len(lines) - 1), p.integer(0, len(lines) - 1)
    match kind:
        case 5:
            del lines[k]
        case 6:
            lines[k] = lines[m]
        case 7:
            lines.insert(k, lines[m])
        case _:
            lines[k] = p.one("    ", " ", "\t", "        ") + lines[k] if p.flip() else lines[k].removeprefix("    ")


def _nested(p: Picker, text: str) -> str:
    """One number becomes an expression that is nested deeply, or a loop a nest of loops."""
    depth = p.one(10, 60, 150, 400, 3000)
    numbers = list(re.finditer(r"\b\d+\b", text))
    if not numbers:
        return text
    found = p.among(numbers)
    left, right = p.one(
        ("(", ")"), ("-", ""), ("[", "]"), ("T.max(1, ", ")"), ("1 + (", ")"), ("not ", ""), ("", " + 1")
    )
    return text[: found.start()] + left * depth + found[0] + right * depth + text[found.end() :]
