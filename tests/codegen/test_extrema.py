"""Two minima or maxima with one constant, which LLVM folds into one although NaN, or a zero, tells them apart."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest

from tests.codegen.extrema_forms import CHOICES, CONVERTED, FORMS, FOUND, HEAD
from tests.codegen.extrema_wordings import LEARNT, REWORDED
from tests.parts.compiled import assert_compiles_alike
from tests.parts.reference_runs import same_bits
from verified_tir import Schedule, build, parse_func
from verified_tir.codegen.compile import assembly, optimised_text
from verified_tir.codegen.emit import emit
from verified_tir.codegen.target import Target
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.semantics.interpreter import run

VALUES = [float("nan"), 0.0, -0.0, 1.0, -1.0, float("inf"), float("-inf"), 2.0]


def agrees(text: str, dtype: str) -> None:
    s = Schedule(text)
    a = np.array(VALUES).astype(numpy_dtype(s.func.buffers[0].dtype))
    b = np.zeros_like(a)
    want = run(s.func, {"A": a, "B": b.copy()}).arrays["B"]
    build(s)(a, b)
    assert same_bits(want, b).all(), f"{want} by the interpreter, {b} by the machine"


@pytest.mark.nightly
@pytest.mark.sample(3)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_the_outer_one_is_kept(form: str, dtype: str) -> None:
    for op, c in product(("max", "min"), (1.0, 0.0, -0.0, float("inf"))):
        sign = ">" if op == "max" else "<"
        literal = f'T.{dtype}("inf")' if c == float("inf") else f"T.{dtype}({c})"
        agrees(HEAD.format(t=dtype) + FORMS[form].format(t=dtype, op=op, sign=sign, c=literal), dtype)


@pytest.mark.sample(6)
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


@pytest.mark.sample(21)
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


def test_llvm_may_not_look_at_what_is_compared() -> None:
    """Where it may, it still makes one maximum of two, and NaN comes out for 1.0."""
    target = Target.host(1)
    body = FORMS["operators"].format(t="float32", op="max", sign=">", c="T.float32(1.0)")
    text = emit(parse_func(HEAD.format(t="float32") + body), target).text

    def comparisons(text: str) -> int:
        return optimised_text(text, target).count(" fcmp o")

    seen = text.replace("@vtir.order.", "@seen.")
    assert seen != text and comparisons(text) == 2 * comparisons(seen) > 0


def test_no_call_is_left() -> None:
    body = FORMS["operators"].format(t="float32", op="max", sign=">", c="T.float32(1.0)")
    text = emit(parse_func(HEAD.format(t="float32") + body), Target.host(1)).text
    assert text.count("call float @vtir.order.max.float32(") == 2
    assert "vtir.order" not in optimised_text(text, Target.host(1))


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


@pytest.mark.skipif(not Target.host(1).has("avx"), reason="for processors with AVX")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", ["max", "min"])
@pytest.mark.parametrize(
    "operands", ["A[i], A[i] * T.{t}(0.5)", "A[i], T.{t}(0.0)", "T.{t}(0.0), A[i]", "T.{t}(1.0), A[i]"]
)
def test_loops_of_extrema_are_one_instruction_of_vectors(dtype: str, op: str, operands: str) -> None:
    head = HEAD.replace("(8,)", "(4096,)").format(t=dtype)
    body = f"    for i in range(4096):\n        B[i] = T.{op}({operands.format(t=dtype)})"
    target = Target.host(1)
    code = assembly(emit(parse_func(head + body), target).text, target)
    word = f"v{op}p{'s' if dtype == 'float32' else 'd'}"
    assert re.search(rf"{word}\s.*%{'z' if target.vector_bits == 512 else 'y'}mm", code)
    assert not re.search(r"v(cmp|blend)|call", code)


def test_branches_on_floats_become_vectors() -> None:
    head = HEAD.replace("(8,)", "(4096,)").format(t="float32")
    body = "    for i in range(4096):\n        if A[i] < T.float32(0.5):\n            B[i] = A[i] * T.float32(2.0)"
    target = Target.host(1)
    assert " x i1>" in optimised_text(emit(parse_func(head + body), target).text, target)


@pytest.mark.sample(3)
@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_order_of_awkward_values(dtype: str, lanes: int) -> None:
    """Every pair of them, by each operator: of scalars in a loop, and of vectors."""
    at, count = ("i", 64) if lanes == 1 else ("i * 4:i * 4 + 4", 16)
    text = """
@T.prim_func
def main(A: T.Buffer((64,), "{t}"), X: T.Buffer((64,), "{t}"), B: T.Buffer((64,), "{t}")):
    for i in range({count}):
        B[{at}] = {value}
"""
    choices = [f"T.Select(A[{at}] {sign} X[{at}], A[{at}], X[{at}])" for sign in ("<", "<=", ">", ">=")]
    for value in (*choices, f"T.max(A[{at}], X[{at}])", f"T.min(A[{at}], X[{at}])"):
        func = parse_func(text.format(t=dtype, count=count, at=at, value=value))
        kind = numpy_dtype(func.buffers[0].dtype)
        a, x = (np.array(v).astype(kind) for v in zip(*product(VALUES, VALUES), strict=True))
        assert assert_compiles_alike(func, [{"A": a, "X": x, "B": np.zeros_like(a)}]) == 1


@pytest.mark.parametrize("terms", [40, 520])
def test_long_sums_are_looked_through(terms: int) -> None:
    total = " + ".join(["A[i]"] * terms)
    func = parse_func(
        HEAD.format(t="float32") + f"    for i in range(8):\n        B[i] = T.max({total}, T.float32(0.0))"
    )
    assert "fadd" in emit(func, Target.host(1)).text


def test_many_lets_are_looked_through() -> None:
    """The limit of recursion counts for statements, too."""
    lets = "".join(f"        x{k + 1}: T.let[T.float32] = T.Select(x{k} < A[i], x{k}, A[i])\n" for k in range(400))
    text = HEAD.format(t="float32") + "    for i in range(8):\n        x0: T.let[T.float32] = A[7 - i]\n" + lets
    assert "fcmp" in emit(parse_func(text + "        B[i] = x400"), Target.host(1)).text
