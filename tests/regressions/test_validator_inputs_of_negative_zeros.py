"""The validator: that a sum begins with 0.0 shows only where all its terms are -0.0, and no input was tried that has
nothing else; on demand, neither were the constants of the programs, and padding that is owed was never looked at.

Finding: validator | unknown | other terms
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.parts.verdicts import check_verdict
from verified_tir import PrimFunc, parse_func
from verified_tir.logic.solver import Solver
from verified_tir.validate import Correspondence, Different, EqualInPart, Report, Verdict, validate
from verified_tir.validate.demand import compare_on_demand
from verified_tir.validate.interface import both_sides
from verified_tir.validate.operators import Builder
from verified_tir.validate.terms import Terms


def judged(
    before: PrimFunc, after: PrimFunc, maps: Mapping[str, Correspondence] | None = None, *, on_demand: bool = True
) -> Verdict:
    maps = dict(maps or {})
    report = validate(before, after, maps=maps)
    if on_demand:
        build, solver = Builder(Terms()), Solver(budget=300_000)
        report = Report(compare_on_demand(both_sides(before, after, {}, maps), build, solver, budget=100_000))
    check_verdict(before, after, report, {}, maps)
    return report.verdict


SUM = """
@T.prim_func
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((1,), "float32")):
    B[0] = {first}
    for i in range({start}, 16):
        B[0] = B[0] + A[i]
"""


@pytest.mark.parametrize("on_demand", [False, True])
def test_a_sum_that_does_not_begin_with_zero(*, on_demand: bool) -> None:
    before = parse_func(SUM.format(first="T.float32(0)", start=0))
    after = parse_func(SUM.format(first="A[0]", start=1))
    verdict = judged(before, after, on_demand=on_demand)
    assert isinstance(verdict, Different), verdict


COPY = """
@T.prim_func
def f(A: T.Buffer((40,), "int32"), B: T.Buffer((40,), "int32")):
    for i in range(40):
        B[i] = {value}
"""


def test_a_difference_at_a_constant_on_demand() -> None:
    before = parse_func(COPY.format(value="A[i]"))
    after = parse_func(COPY.format(value="T.if_then_else(A[i] == 1037, 0, A[i])"))
    verdict = judged(before, after)
    assert isinstance(verdict, Different) and verdict.inputs, verdict


PLAIN = """
@T.prim_func
def f(B: T.Buffer((30,), "float32")):
    for i in range(30):
        B[i] = B[i] * T.float32(3)
"""
TILED = """
@T.prim_func
def f(b: T.handle):
    B = T.match_buffer(b, (8, 4), "float32", strides={strides})
    for i, j in T.grid(8, 4):
        B[i, j] = B[i, j] * T.float32(3)
"""


@pytest.mark.sample(7)
@pytest.mark.parametrize("strides", ["(4, 1)", "(5, 1)"])
@pytest.mark.parametrize(
    ("padding", "verdict"), [(0.0, EqualInPart), (0, EqualInPart), (1, Different), ("undef", EqualInPart)]
)
def test_padding_that_is_owed_on_demand(strides: str, padding: float, verdict: type) -> None:
    moved = {"B": Correspondence(lambda i: (i // 4, i % 4), padding)}
    after = parse_func(TILED.format(strides=strides))
    found = judged(parse_func(PLAIN), after, moved)
    assert isinstance(found, verdict), found
    assert not isinstance(found, Different) or "padding" in found.element
