"""Programs evaluated on demand, element by element, had no assertions: one that ends before its stores was equal."""

from __future__ import annotations

from verified_tir import parse_func
from verified_tir.ir.func import PrimFunc
from verified_tir.logic.solver import Solver
from verified_tir.validate import Equal, EqualInPart, Unknown
from verified_tir.validate.demand import compare_on_demand
from verified_tir.validate.interface import both_sides
from verified_tir.validate.operators import Builder
from verified_tir.validate.terms import Terms
from verified_tir.validate.verdict import Verdict


def program(params: str, *lines: str) -> PrimFunc:
    return parse_func("\n".join(["@T.prim_func(s_tir=True)", f"def f({params}):", *["    " + line for line in lines]]))


def on_demand(params: str, before: list[str], after: list[str], sizes: dict[str, int]) -> Verdict:
    pair = program(params, *before), program(params, *after)
    return compare_on_demand(both_sides(*pair, sizes, {}), Builder(Terms()), Solver(budget=300_000), budget=10**6)


def test_assertions_of_programs_that_are_evaluated_on_demand() -> None:
    params = 'A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32"), n: T.int32'
    plain, asserting = ["B[0] = A[0]"], ['assert n > 5, "too small"', "B[0] = A[0]"]
    inside = ["if n > 7:", '    assert n > 9, "too small"', "B[0] = A[0]"]
    assert isinstance(on_demand(params, plain, asserting, {"n": 6}), EqualInPart)
    assert isinstance(on_demand(params, plain, asserting, {"n": 5}), Unknown)
    assert isinstance(on_demand(params, plain, inside, {"n": 5}), EqualInPart)
    assert isinstance(on_demand(params, plain, inside, {"n": 8}), Unknown)
    ended = on_demand(params, asserting, [asserting[0], "B[0] = A[1]"], {"n": 5})
    assert isinstance(ended, Equal)
    assert ended.vacuous  # both end on every input; what memory holds then is unspecified
    assert isinstance(on_demand(params, asserting, ["B[0] = A[1]"], {"n": 5}), Unknown)  # an assertion is not erased
