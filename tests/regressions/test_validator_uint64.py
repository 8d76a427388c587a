"""Numbers of uint64 were kept in 64 bits with a sign: sums that overflow, and sizes from 2**63 on, went wrong."""

from __future__ import annotations

from typing import Any

import pytest

from verified_tir import parse_func
from verified_tir.ir.func import PrimFunc
from verified_tir.logic.solver import Solver
from verified_tir.validate import Different, Equal, EqualInPart, Unknown, validate
from verified_tir.validate.demand import compare_on_demand
from verified_tir.validate.interface import both_sides
from verified_tir.validate.memory import Refused
from verified_tir.validate.operators import Builder
from verified_tir.validate.terms import Terms
from verified_tir.validate.verdict import Verdict

WIDE = 'A: T.Buffer((1,), "uint64"), n: T.uint64'


def program(params: str, *lines: str) -> PrimFunc:
    return parse_func("\n".join(["@T.prim_func(s_tir=True)", f"def f({params}):", *["    " + line for line in lines]]))


def verdict(params: str, before: list[str], after: list[str], **options: Any) -> Verdict:
    return validate(program(params, *before), program(params, *after), **options).verdict


def on_demand(params: str, before: list[str], after: list[str], sizes: dict[str, int]) -> Verdict:
    pair = program(params, *before), program(params, *after)
    return compare_on_demand(both_sides(*pair, sizes, {}), Builder(Terms()), Solver(budget=300_000), budget=10**6)


def test_index_arithmetic_that_leaves_uint64() -> None:
    most = {"n": 2**63 - 1}
    assert isinstance(verdict(WIDE, ["A[0] = n"], ["A[0] = n + n - n"], sizes=most), Equal)
    assert isinstance(verdict(WIDE, ["A[0] = n"], ["A[0] = n + n + n - n - n"], sizes=most), Different)
    below = ["A[0] = T.uint64(1) - T.uint64(2) + T.uint64(1)"]
    assert isinstance(verdict(WIDE, ["A[0] = T.uint64(0)"], below, sizes=most), Different)
    top = ["A[0] = T.shift_left(n, T.uint64(1))"]
    assert isinstance(verdict(WIDE, top, top, sizes={"n": 2**62}), Equal)


def test_sizes_of_uint64_from_2_to_the_63_on() -> None:
    assert isinstance(verdict(WIDE, ["A[0] = n"], ["A[0] = n + T.uint64(0)"], sizes={"n": 2**63}), Equal)
    assert isinstance(verdict(WIDE, ["A[0] = n"], ["A[0] = n + n - n"], sizes={"n": 2**63}), Different)
    assert isinstance(verdict(WIDE, ["A[0] = n"], ["A[0] = n"], sizes={"n": 2**64}), Unknown)
    assert isinstance(on_demand(WIDE, ["A[0] = n"], ["A[0] = n + T.uint64(0)"], {"n": 2**63}), EqualInPart)
    assert isinstance(on_demand(WIDE, ["A[0] = n"], ["A[0] = n + n - n"], {"n": 2**63}), Different)
    with pytest.raises(Refused, match="does not fit its type"):
        on_demand(WIDE, ["A[0] = n"], ["A[0] = n"], {"n": 2**64})


def test_loops_over_uint64() -> None:
    once = ["for i in range({}):", "    A[0] = T.uint64(3)"]
    many = [once[0].format("T.uint64(9223372036854775808)"), once[1]]
    assert isinstance(verdict(WIDE, [once[0].format(4), once[1]], [once[0].format("T.uint64(4)"), once[1]]), Equal)
    assert isinstance(verdict(WIDE, many, ["A[0] = A[0]"]), Unknown)  # it is not a loop without iterations
