"""Two minima or maxima with one constant, which LLVM folds into one although NaN, or a zero, tells them apart."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from verified_tir import Schedule, build, parse_func
from verified_tir.codegen.emit import emit
from verified_tir.codegen.extrema import misfolded
from verified_tir.codegen.target import Target
from verified_tir.ir.floats import numpy_dtype
from verified_tir.semantics.interpreter import run
from verified_tir.testing.compiled import assert_compiles_alike
from verified_tir.testing.trials import same_bits

HEAD = """
@T.prim_func
def main(A: T.Buffer((8,), "{t}"), B: T.Buffer((8,), "{t}")):
"""
FORMS = {
    "operators": "    for i in range(8):\n        B[i] = T.{op}(T.{op}({c}, A[i]), {c})",
    "lets": "    for i in range(8):\n        x: T.let[T.{t}] = {c}\n        B[i] = T.{op}(T.{op}(x, A[i]), x)",
    "a local buffer": """\
    t = T.alloc_buffer((2,), "{t}")
    for i in range(8):
        t[0] = {c}
        t[1] = T.{op}(t[0], A[i])
        B[i] = T.{op}(t[1], t[0])""",
    "an unrolled loop": """\
    t = T.alloc_buffer((2,), "{t}")
    for i in range(8):
        t[0] = {c}
        t[1] = A[i]
        B[i] = {c}
        for k in range(3):
            B[i] = T.{op}(B[i], t[k % 2])""",
    "selects": """\
    for i in range(8):
        x: T.let[T.{t}] = T.Select({c} {sign} A[i], {c}, A[i])
        B[i] = T.Select(x {sign}= {c}, x, {c})""",
    "if_then_else": """\
    for i in range(8):
        x: T.let[T.{t}] = T.if_then_else({c} {sign} A[i], {c}, A[i])
        B[i] = T.if_then_else(x {sign} {c}, x, {c})""",
    "branches": """\
    for i in range(8):
        B[i] = A[i]
        if {c} {sign} B[i]:
            B[i] = {c}
        x: T.let[T.{t}] = B[i]
        B[i] = {c}
        if x {sign} {c}:
            B[i] = x""",
    "equal values": """\
    for i in range(8):
        B[i] = A[(i + 1) % 8]
        if A[i] == {c}:
            B[i] = T.{op}(T.{op}(A[i], A[7 - i]), A[i])""",
    "casts": """\
    for i, k in T.grid(8, 1):
        x: T.let[T.{t}] = T.Cast("{t}", k)
        B[i] = T.{op}(T.{op}(x, A[i]), x)""",
}
FOUND = {  # constants that LLVM finds, where the program has none; and choices that it finds to be maxima
    "two comparisons": """\
    for i in range(8):
        B[i] = A[7 - i]
        if A[i] <= {c} and A[i] >= {c}:
            B[i] = T.{op}(T.{op}(A[i], A[7 - i]), A[i])""",
    "two branches": """\
    for i in range(8):
        B[i] = A[7 - i]
        if A[i] <= {c}:
            x: T.let[T.{t}] = A[i]
            if x >= {c}:
                B[i] = T.{op}(T.{op}(x, A[7 - i]), x)""",
    "clamped": """\
    for i in range(8):
        x: T.let[T.{t}] = T.max(T.min(A[i], {c}), {c})
        B[i] = T.{op}(T.{op}(x, A[7 - i]), x)""",
    "clamped from the left": """\
    for i in range(8):
        x: T.let[T.{t}] = T.max({c}, T.min(A[i], {c}))
        B[i] = T.{op}(T.{op}(x, A[7 - i]), x)""",
    "integers": """\
    for i in range(8):
        n: T.let[T.int32] = T.Cast("int32", A[i] > {c})
        x: T.let[T.{t}] = T.Cast("{t}", n - n)
        B[i] = T.{op}(T.{op}(x, A[7 - i]), x)""",
    "a magnitude": """\
    for i in range(8):
        x: T.let[T.{t}] = T.min(T.fabs(A[i]), T.{t}(0.0))
        B[i] = T.{op}(T.{op}(x, A[7 - i]), x)""",
    "arms by another name": """\
    for i in range(8):
        a: T.let[T.{t}] = A[i]
        x: T.let[T.{t}] = T.Select({c} {sign} a, {c}, A[i])
        B[i] = T.Select(x {sign} {c}, x, {c})""",
    "parts of arms by another name": """\
    for i in range(8):
        a: T.let[T.{t}] = A[i]
        x: T.let[T.{t}] = T.Select({c} {sign} a * T.{t}(2.0), {c}, A[i] * T.{t}(2.0))
        B[i] = T.Select(x {sign} {c}, x, {c})""",
    "a negation": """\
    for i in range(8):
        x: T.let[T.{t}] = T.Select(not ({c} {sign} A[i]), A[i], {c})
        B[i] = T.Select(x {sign} {c}, x, {c})""",
    "a condition by name": """\
    for i in range(8):
        p: T.let[T.bool] = {c} {sign} A[i]
        x: T.let[T.{t}] = T.Select(p, {c}, A[i])
        B[i] = T.Select(x {sign} {c}, x, {c})""",
    "two arms": """\
    for i in range(8):
        if {c} {sign} A[i]:
            B[i] = {c}
        else:
            B[i] = A[i]
        B[i] = T.{op}(B[i], {c})""",
}
VALUES = [float("nan"), 0.0, -0.0, 1.0, -1.0, float("inf"), float("-inf"), 2.0]


def agrees(text: str, dtype: str) -> None:
    s = Schedule(text)
    a = np.array(VALUES).astype(numpy_dtype(s.func.buffers[0].dtype))
    b = np.zeros_like(a)
    want = run(s.func, {"A": a, "B": b.copy()}).arrays["B"]
    build(s)(a, b)
    assert same_bits(want, b).all(), f"{want} by the interpreter, {b} by the machine"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_the_outer_one_is_kept(form: str, dtype: str) -> None:
    for op, c in product(("max", "min"), (1.0, 0.0, -0.0, float("inf"))):
        sign = ">" if op == "max" else "<"
        literal = f'T.{dtype}("inf")' if c == float("inf") else f"T.{dtype}({c})"
        agrees(HEAD.format(t=dtype) + FORMS[form].format(t=dtype, op=op, sign=sign, c=literal), dtype)


@pytest.mark.parametrize("form", FOUND)
def test_constants_that_llvm_finds(form: str) -> None:
    for op, c in product(("max", "min"), ("1.0", "0.0")):
        values = {"t": "float32", "op": op, "sign": ">" if op == "max" else "<", "c": f"T.float32({c})"}
        func = parse_func((HEAD + FOUND[form]).format(**values))
        given = [{"A": np.array(VALUES, np.float32), "B": np.zeros(8, np.float32)},
                 {"A": np.array([1.0, 0.0, -0.0, 1.0, np.nan, np.nan, np.nan, 0.0], np.float32),
                  "B": np.zeros(8, np.float32)}]  # fmt: skip
        assert assert_compiles_alike(func, given) == 2


@pytest.mark.parametrize("form", ["operators", "selects"])
def test_such_programs_are_recognised(form: str) -> None:
    body = FORMS[form].format(t="float32", op="max", sign=">", c="T.float32(1.0)")
    assert misfolded(Schedule(HEAD.format(t="float32") + body).func.body)


@pytest.mark.parametrize(
    "body",
    [
        "    for i in range(8):\n        B[i] = T.max(A[i], T.float32(0.0))",
        "    for i in range(8):\n        B[i] = T.min(T.max(A[i], T.float32(0.0)), T.float32(6.0))",
        "    for i in range(8):\n        B[i] = T.max(T.float32(0.0), A[i])",
        '    B[0] = T.float32("-inf")\n    for i in range(8):\n        B[0] = T.max(B[0], A[i])',
        '    B[0] = T.float32("-inf")\n    for i in range(8):\n        B[0] = T.max(B[0], T.max(A[i], T.float32(0.0)))',
        "    for i in range(8):\n        B[i] = T.float32(0.0)\n        B[i] = T.max(B[i] + A[i], T.float32(0.0))",
        "    B[0:8] = T.Broadcast(T.float32(0.0), 8)\n    B[0:8] = T.max(B[0:8], T.Broadcast(T.float32(0.0), 8))",
        "    for i in range(8):\n        B[i] = T.Select(A[i] > T.float32(0.0), A[i], A[i] * T.float32(0.1))",
        "    for i in range(8):\n        B[i] = T.max(A[i], T.float32(0.0)) + T.min(A[i], T.float32(0.0))",
    ],
)
def test_others_keep_their_instructions(body: str) -> None:
    s = Schedule(HEAD.format(t="float32") + body)
    assert not misfolded(s.func.body)
    assert "ashr" not in emit(s.func, Target.host(1)).text


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_comparisons_by_bits_are_those_of_floats(dtype: str) -> None:
    """Every pair of awkward values, by each operator; a minimum with a constant makes the program one of the above."""
    text = """
@T.prim_func
def main(A: T.Buffer((64,), "{t}"), X: T.Buffer((64,), "{t}"), B: T.Buffer((64,), "{t}")):
    c = T.alloc_buffer((1,), "{t}")
    for i in range(64):
        c[0] = T.{t}(1.0)
        if c[0] > T.{t}(0.0):
            c[0] = A[i]
        B[i] = T.Select(c[0] {op} X[i], c[0], X[i])
        B[i] = T.Select(B[i] {op} c[0], B[i], c[0])
"""
    for op in ("<", "<=", ">", ">="):
        s = Schedule(text.format(t=dtype, op=op))
        assert misfolded(s.func.body)
        a, x = (
            np.array(v).astype(numpy_dtype(s.func.buffers[0].dtype)) for v in zip(*product(VALUES, VALUES), strict=True)
        )
        b = np.zeros_like(a)
        want = run(s.func, {"A": a, "X": x, "B": b.copy()}).arrays["B"]
        build(s)(a, x, b)
        assert same_bits(want, b).all()


@pytest.mark.parametrize("terms", [40, 520])
def test_long_sums_are_looked_through(terms: int) -> None:
    """Expressions may be as deep here as where they are emitted."""
    total = " + ".join(["A[i]"] * terms)
    func = parse_func(
        HEAD.format(t="float32") + f"    for i in range(8):\n        B[i] = T.max({total}, T.float32(0.0))"
    )
    assert "fcmp" in emit(func, Target.host(1)).text
