"""What a block binds its variables to was asked about only where the variable is used.

The language evaluates domains and bindings when a block is reached, used or not, also where its predicate is false.
"""

from __future__ import annotations

import numpy as np
import pytest

from verified_tir import Schedule, ScheduleError, parse_func
from verified_tir.semantics.interpreter import run

BLOCK = """
@T.prim_func
def f(A: T.Buffer((4,), "int32"), n: T.int32):
    for i in range(4):
        with T.block("x"):
            vi = T.axis.opaque({domain}, {binding})
            {predicate}
            A[i] = 1
"""
CALL = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def g(X: T.Buffer((4,), "int32"), k: T.int32):
        X[0] = k

    @T.prim_func
    def f(A: T.Buffer((4,), "int32"), n: T.int32):
        Module.g(A.data, {argument})
"""


def block(binding: str, domain: str = "4", predicate: str = "T.where(i < 4)") -> Schedule:
    return Schedule(BLOCK.format(binding=binding, domain=domain, predicate=predicate))


@pytest.mark.parametrize(
    ("binding", "said"),
    [
        ("(7 // n) * 0", "the divisor of 7 // n is not zero"),
        ("n * 2147483647 * 0", "does not overflow"),
        ("T.shift_left(1, n) * 0", "the shift in 1 << n"),
        ("T.if_then_else(T.undef('bool'), 0, 0)", "depends on nothing undefined"),
    ],
)
def test_a_binding_that_nobody_uses(binding: str, said: str) -> None:
    with pytest.raises(ScheduleError, match=said):
        block(binding)


def test_a_domain_and_a_binding_under_a_predicate() -> None:
    with pytest.raises(ScheduleError, match="the divisor of 7 // n is not zero"):
        block("0", domain="4 + (7 // n) * 0")
    with pytest.raises(ScheduleError, match="the divisor of 7 // n is not zero"):
        block("(7 // n) * 0", predicate="T.where(n > 0)")


def test_what_can_be_evaluated() -> None:
    assert block("i").steps and block("(7 // T.max(n, 1)) * 0").steps
    assert block("T.if_then_else(n > 0, (7 // n) * 0, 0)").steps


@pytest.mark.parametrize("argument", ["T.abs(n)", "T.Cast('int32', T.Cast('int8', n))"])
def test_data_is_not_passed_as_index_arithmetic(argument: str) -> None:
    with pytest.raises(ScheduleError, match="k of g would be data, which wraps"):
        Schedule(CALL.format(argument=argument), name="f")
    assert Schedule(CALL.format(argument="T.max(n, 0)"), name="f").steps


ARGUMENT = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def h(X: T.Buffer((4,), "int32"), unused: T.int32):
        X[0] = 1

    @T.prim_func(private=True)
    def g(X: T.Buffer((4,), "int32"), k: T.int32, m: T.int32):
        for i in range(T.min(m, 4)):
            X[i] = k
        Module.h(X.data, {inner})

    @T.prim_func
    def f(A: T.Buffer((4,), "int32"), n: T.int32, m: T.int32):
        if {condition}:
            Module.g(A.data, {argument}, m)
"""


def argument(argument: str, inner: str = "0", condition: str = "m < 2") -> Schedule:
    return Schedule(ARGUMENT.format(argument=argument, inner=inner, condition=condition), name="f")


def test_an_argument_of_a_loop_that_may_not_run() -> None:
    with pytest.raises(ScheduleError, match="the divisor of 7 // n is not zero") as refused:
        argument("7 // n", condition="m < 1")
    assert "T.evaluate(7 // n)  # <-- here" in str(refused.value)
    assert "floordiv of 7 by zero" in str(refused.value) and refused.value.confirmed


def test_an_argument_that_nobody_uses() -> None:
    with pytest.raises(ScheduleError, match="the divisor of 7 // n is not zero"):
        argument("n", inner="7 // k")
    with pytest.raises(ScheduleError, match="does not overflow"):
        argument("n", inner="m + 2147483647", condition="n != 0")


def test_arguments_that_can_be_evaluated() -> None:
    assert argument("7 // n", inner="7 // k", condition="n == 3").steps
    program = argument("7 // T.max(n, 1)", condition="m > 3").func
    assert "T.evaluate" not in str(program)


@pytest.mark.parametrize("binding", ["T.min(T.max(A[i], 0), 99)", "T.Cast('int32', T.Cast('int8', i + 7))"])
def test_a_binding_that_is_data_is_data_in_the_interpreter_too(binding: str) -> None:
    text = f"""
@T.prim_func
def f(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
    for i in range(4):
        with T.block("x"):
            vi = T.axis.opaque(100, {binding})
            B[i] = vi * 1000000000
"""
    written, a = parse_func(text), np.full(4, 7, np.int32)
    outcomes = [run(f, {"A": a, "B": np.zeros(4, np.int32)}) for f in (written, Schedule(written).func)]
    assert outcomes[0].arrays["B"].tolist() == outcomes[1].arrays["B"].tolist()
    assert outcomes[0].arrays["B"][0] == 7_000_000_000 - (2 << 32)


@pytest.mark.parametrize(
    ("kind", "argument"), [("float32", "T.Cast('float32', T.Cast('int32', x))"), ("bool", "T.isnan(x)")]
)
def test_arguments_that_are_no_integers(kind: str, argument: str) -> None:
    text = f"""
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def g(X: T.Buffer((1,), "float32"), p: T.{kind}):
        X[0] = T.Select(T.Cast("bool", p), T.float32(1), T.float32(0))

    @T.prim_func
    def f(A: T.Buffer((1,), "float32"), x: T.float32):
        Module.g(A.data, {argument})
"""
    with pytest.raises(ScheduleError, match=r"depends on nothing undefined|would be data"):
        Schedule(text, name="f")
