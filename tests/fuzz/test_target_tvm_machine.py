"""The target ``tvm``: machine code that differs from the interpreter, and whose fault that is."""

from __future__ import annotations

import pytest

pytest.importorskip("tvm")

from tests.fuzz.targets.tvm_checks import examine
from tests.fuzz.targets.tvm_overflow import without_wrapping
from tests.nightly import few
from tests.parts.reference_runs import ran, random_arguments
from verified_tir.ir.script import parse_func

HEAD = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((2,), "{t}"), B: T.Buffer((2,), "{u}")):
"""


def program(body: str, t: str = "float32", u: str = "float32") -> str:
    return HEAD.format(t=t, u=u) + "".join(f"    {line}\n" for line in body.split("\n"))


@pytest.mark.nightly
@pytest.mark.parametrize(
    "value", ["T.max(A[1] + 2147483647, 0)", "T.max(A[1] * 1073741824 * A[0], 0)", "T.max(A[1] - -2147483648, 3)"]
)
def test_what_overflows_on_the_way_is_not_asked(value: str) -> None:
    for seed in range(few(2, 4)):
        assert examine(program(f"B[0] = {value}", "int32", "int32"), [], seed).wrong == []


def test_unsigned_numbers_of_32_bits_overflow_too() -> None:
    text = program('V = T.decl_buffer((2,), "uint32", data=A.data)\nB[0] = V[0] - V[1] < V[0]', u="bool")
    assert examine(text, [], 0).wrong == []


def test_programs_that_are_undefined_where_they_overflow() -> None:
    for value, same in (("A[0] + A[1]", True), ("T.max(A[0] + 2147483647, 0)", False), ("T.abs(A[1])", True)):
        func = parse_func(program(f"A[0] = 3\nB[0] = {value}", "int32", "int32"))
        arguments = random_arguments(func, {}, 0, 0)
        one, two = ran(func, arguments).outcome, ran(without_wrapping(func), arguments).outcome
        assert one is not None and two is not None
        assert bool(two.defined["B"][0]) is same and two.defined["B"][1]
        assert not same or one.arrays["B"][0] == two.arrays["B"][0]


@pytest.mark.nightly
@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "body",
    [
        "B[0] = T.Select(not (A[0] == A[1] and B[0] < T.float32(3.0)), T.float32(1.0), T.float32(2.0))",
        "if A[0] == A[1]:\n    for i in range(0):\n        B[0] = A[i]\nelse:\n    B[0] = T.float32(3.0)",
        'assert A[0] != A[1], "of NaN"\nB[0] = A[0]',
    ],
)
def test_what_passes_make_a_question_about_nan_is_tvms(body: str) -> None:
    outcome = [examine(program(body), [], seed) for seed in range(few(2, 8))]
    assert [t.wrong for t in outcome] == [[]] * len(outcome)
    assert any(t.bugs for t in outcome)


@pytest.mark.nightly
def test_a_pass_that_was_not_judged_is_asked_again_on_the_arguments() -> None:
    text = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32"), C: T.Buffer((2,), "int32")):
    if C[0] == 7:
        B[0] = A[0] - A[0]
    B[1] = T.max(A[1], T.float32("-inf"))
"""
    outcome = examine(text, [], 1)
    assert outcome.wrong == [] and [where for where, _ in outcome.bugs] == ["s_tir.StmtSimplify"]


def test_a_maximum_that_llvm_folds_is_not_ours() -> None:
    text = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((2, 2), "float32")):
    for i in range(2):
        for j in range(2):
            A[i, j] = T.float32("-inf")
            for k in range(3):
                A[i, j] = T.max(A[i, j], A[j, k % 2])
        A[i, i] = T.float32(0.0)
"""
    outcome = examine(text, [], 0)
    assert outcome.wrong == [] and [where for where, _ in outcome.bugs] == ["machine code"]


def test_integers_that_llvm_keeps_beyond_float16_are_not_ours() -> None:
    value = 'T.Cast("float32", T.Cast("float16", T.shift_left(A[0], T.uint32(21))))'
    outcome = [examine(program(f"B[0] = {value}", "uint32"), [], seed) for seed in range(few(2, 8))]
    assert [t.wrong for t in outcome] == [[]] * len(outcome)
    assert {where for t in outcome for where, _ in t.bugs} == {"machine code"}
