"""Minima and maxima of floats with infinities in the padding: bit for bit, NaN included."""

from __future__ import annotations

import pytest

from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import parse
from verified_tir.validate import Different, Equal, EqualOverReals, validate

ROW = """
@T.prim_func
def f(A: T.Buffer((5,), "float32"), B: T.Buffer((1,), "float32")):
    {assume}
    B[0] = T.float32("{start}inf")
    for j in range(5):
        B[0] = {step}
    {more}
"""


def program(**parts: str) -> PrimFunc:
    return parse(ROW.format(**parts)).functions[0][1]


def verdict(op: str, start: str, accumulator_first: bool, assume: str = "pass") -> object:
    a, b = ("B[0]", "{}") if accumulator_first else ("{}", "B[0]")
    step = f"T.{op}({a}, {b})".format("A[j]")
    more = f"T.{op}({a}, {b})".format(f'T.float32("{start}inf")')
    before = program(start=start, step=step, more="pass", assume=assume)
    after = program(start=start, step=step, more=f"B[0] = {more}", assume=assume)
    return validate(before, after, reordered=False).verdict


@pytest.mark.parametrize(("op", "start"), [("max", "-"), ("min", "")])
def test_an_infinity_before_the_accumulator_leaves_it_alone(op: str, start: str) -> None:
    assert isinstance(verdict(op, start, accumulator_first=False), Equal)


@pytest.mark.parametrize(("op", "start"), [("max", "-"), ("min", "")])
def test_behind_the_accumulator_it_replaces_a_nan(op: str, start: str) -> None:
    found = verdict(op, start, accumulator_first=True)
    assert isinstance(found, Different)
    assert str(found) == f"different: B[0] was nan and is {start}inf"


@pytest.mark.sample(6)
@pytest.mark.parametrize("known", ["not T.isnan(A[i])", "A[i] == A[i]", "T.isfinite(A[i])", "A[i] >= T.float32(0)"])
@pytest.mark.parametrize(("op", "start"), [("max", "-"), ("min", "")])
def test_unless_there_is_none(op: str, start: str, known: str) -> None:
    assume = f"for i in range(5):\n        T.assume({known})"
    assert isinstance(verdict(op, start, accumulator_first=True, assume=assume), Equal)


@pytest.mark.parametrize("known", ["not T.isinf(A[i])", "A[0] == A[0]"])
def test_other_assumptions_do_not_do(known: str) -> None:
    assume = f"for i in range(5):\n        T.assume({known})"
    assert isinstance(verdict("max", "-", accumulator_first=True, assume=assume), Different)


def test_the_other_order_of_a_sum_is_sought_on_request() -> None:
    text = ROW.format(start="", step="B[0] + A[{}]", more="pass", assume="pass").replace('T.float32("inf")', "0.0")
    before, after = (parse(text.format(k)).functions[0][1] for k in ("j", "4 - j"))
    assert isinstance(validate(before, after).verdict, EqualOverReals)
    assert isinstance(validate(before, after, reordered=False).verdict, Different)
