"""Two minima or maxima with one constant, which LLVM folds into one although NaN, or a zero, tells them apart."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tests.codegen.extrema_forms import CHOICES, CONVERTED, FORMS, FOUND, HEAD
from tests.codegen.extrema_wordings import LEARNT, REWORDED
from verified_tir import Schedule, build, parse_func
from verified_tir.codegen.emit import emit
from verified_tir.codegen.extrema import misfolded
from verified_tir.codegen.target import Target
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.semantics.interpreter import run
from verified_tir.testing.compiled import assert_compiles_alike
from verified_tir.testing.reference_runs import same_bits

VALUES = [float("nan"), 0.0, -0.0, 1.0, -1.0, float("inf"), float("-inf"), 2.0]


def agrees(text: str, dtype: str) -> None:
    s = Schedule(text)
    a = np.array(VALUES).astype(numpy_dtype(s.func.buffers[0].dtype))
    b = np.zeros_like(a)
    want = run(s.func, {"A": a, "B": b.copy()}).arrays["B"]
    build(s)(a, b)
    assert same_bits(want, b).all(), f"{want} by the interpreter, {b} by the machine"


@pytest.mark.sample(3)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_the_outer_one_is_kept(form: str, dtype: str) -> None:
    for op, c in product(("max", "min"), (1.0, 0.0, -0.0, float("inf"))):
        sign = ">" if op == "max" else "<"
        literal = f'T.{dtype}("inf")' if c == float("inf") else f"T.{dtype}({c})"
        agrees(HEAD.format(t=dtype) + FORMS[form].format(t=dtype, op=op, sign=sign, c=literal), dtype)


@pytest.mark.sample(8)
@pytest.mark.parametrize("form", [*FOUND, *CHOICES])
def test_what_llvm_finds(form: str) -> None:
    for op, c in product(("max", "min"), ("1.0", "0.0")):
        values = {"t": "float32", "op": op, "sign": ">" if op == "max" else "<", "c": f"T.float32({c})"}
        func = parse_func((HEAD + {**FOUND, **CHOICES}[form]).format(**values))
        given = [{"A": np.array(VALUES, np.float32), "B": np.zeros(8, np.float32)},
                 {"A": np.array([1.0, 0.0, -0.0, 1.0, np.nan, np.nan, np.nan, 0.0], np.float32),
                  "B": np.zeros(8, np.float32)}]  # fmt: skip
        assert assert_compiles_alike(func, given) == 2


AWKWARD = (
    [np.nan, 0.0, -0.0, 1.0, -1.0, np.inf, np.nan, 2.0],
    [1.0, 0.0, -0.0, 1.0, np.nan, np.nan, np.nan, 0.0],
    [np.nan, np.nan, 1.0, 0.0, -0.0, 2.0, 1.0, np.nan],
)


@pytest.mark.parametrize("form", REWORDED)
def test_one_value_in_two_wordings(form: str) -> None:
    func = parse_func(HEAD.format(t="float32") + REWORDED[form].format(c="T.float32(1.0)"))
    given = [{"A": np.array(a, np.float32), "B": np.zeros(8, np.float32)} for a in AWKWARD]
    assert assert_compiles_alike(func, given) == 3


@pytest.mark.parametrize("form", LEARNT)
def test_what_llvm_learns_of_another_array(form: str) -> None:
    dtype, body = LEARNT[form]
    head = HEAD.format(t="float32").replace("B: T", f'N: T.Buffer((8,), "{dtype}"), B: T')
    numbers = ([0, 1, 1, 0, 1, 1, 0, 1], [3, 3, 1, 0, 3, 1, 3, 3], [1] * 8, [0] * 8)
    given = [{"A": np.array(a, np.float32), "N": np.array(n).astype(dtype), "B": np.zeros(8, np.float32)}
             for a in AWKWARD for n in numbers]  # fmt: skip
    assert assert_compiles_alike(parse_func(head + body), given)


@pytest.mark.sample(4)
@pytest.mark.parametrize("form", CONVERTED)
@pytest.mark.parametrize(("dtype", "wide"), [("float32", "float64"), ("float16", "float32"), ("float64", "float32")])
def test_zeros_of_what_is_converted(form: str, dtype: str, wide: str) -> None:
    for op, c in product(("max", "min"), (0.0, -0.0, 1.0)):
        values = {"t": dtype, "w": wide, "op": op, "sign": "<" if op == "max" else ">", "c": f"T.{dtype}({c})"}
        agrees((HEAD + CONVERTED[form]).format(**values), dtype)


@pytest.mark.parametrize("sign", ["<", ">"])
def test_zeros_in_a_wider_result(sign: str) -> None:
    func = parse_func(f"""
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float64")):
    for i in range(8):
        B[i] = T.Select(A[i] {sign} T.float32(0.0), T.float64(0.0), T.Cast("float64", A[i]))
""")
    given = {"A": np.array(VALUES, np.float32), "B": np.zeros(8)}
    assert assert_compiles_alike(func, [given]) == 1


def test_numbers_chosen_by_floats() -> None:
    """Integers have one zero."""
    func = parse_func("""
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "int8")):
    for i in range(8):
        B[i] = T.Select(A[i] > T.float32(0.0), T.int8(0), T.Select(A[i] < T.float32(0.0), B[i], T.int8(1)))
""")
    given = {"A": np.array(VALUES, np.float32), "B": np.arange(8, dtype=np.int8)}
    assert assert_compiles_alike(func, [given]) == 1


@pytest.mark.parametrize("form", ["operators", "selects"])
def test_such_programs_are_recognised(form: str) -> None:
    body = FORMS[form].format(t="float32", op="max", sign=">", c="T.float32(1.0)")
    assert misfolded(Schedule(HEAD.format(t="float32") + body).func.body)


def test_a_softmax_keeps_its_maximum() -> None:
    """Functions that choose constants count as constants: a maximum of one may need its bits, but no other."""
    body = """\
    t = T.alloc_buffer((1,), "float32")
    t[0] = T.float32("-inf")
    for i in range(8):
        t[0] = T.max(t[0], A[i])
    for i in range(8):
        B[i] = T.max(T.exp(A[i] - t[0]), T.float32(0.0))"""
    assert not misfolded(Schedule(HEAD.format(t="float32") + body).func.body)


def test_blocks_are_looked_into() -> None:
    """What stands in a block is another expression once the block is expanded."""
    func = parse_func(
        HEAD.format(t="float32")
        + """\
    for i in range(8):
        with T.block("maximum"):
            v = T.axis.spatial(8, i)
            B[v] = T.max(T.max(T.float32(1.0), A[v]), T.float32(1.0))
"""
    )
    given = {"A": np.array(VALUES, np.float32), "B": np.zeros(8, np.float32)}
    assert assert_compiles_alike(func, [given]) == 1


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
        "    for i in range(8):\n        B[i] = T.Select(A[i] > T.float32(0.0), A[i], T.float32(0.0)) * T.float32(0.5)",
        "    for i in range(8):\n        B[i] = A[i]\n        if B[i] < T.float32(0.0):\n"
        "            B[i] = T.float32(0.0)",
        "    for i in range(8):\n        B[i] = T.max(T.max(A[i] * T.float32(0.5), T.float32(-1.0)), T.float32(0.0))",
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


def test_many_lets_are_looked_through() -> None:
    """The limit of recursion counts for statements, too."""
    lets = "".join(f"        x{k + 1}: T.let[T.float32] = T.Select(x{k} < A[i], x{k}, A[i])\n" for k in range(400))
    text = HEAD.format(t="float32") + "    for i in range(8):\n        x0: T.let[T.float32] = A[7 - i]\n" + lets
    assert "fcmp" in emit(parse_func(text + "        B[i] = x400"), Target.host(1)).text
