"""Index arithmetic on a bool parameter that is not known became a term, which wraps, where the program overflows."""

from __future__ import annotations

from typing import Any

from verified_tir import parse_func
from verified_tir.ir.func import PrimFunc
from verified_tir.validate import Different, Equal, validate
from verified_tir.validate.verdict import Verdict


def program(params: str, *lines: str) -> PrimFunc:
    return parse_func("\n".join(["@T.prim_func(s_tir=True)", f"def f({params}):", *["    " + line for line in lines]]))


def verdict(params: str, before: list[str], after: list[str], **options: Any) -> Verdict:
    return validate(program(params, *before), program(params, *after), **options).verdict


def test_index_arithmetic_that_overflows_if_a_bool_parameter_is_true() -> None:
    params = 'A: T.Buffer((1,), "int32"), c: T.bool, n: T.int32'
    before, after = ["A[0] = T.Select(c, n, 0)"], ["A[0] = T.Select(c, n, 0) + 1 - 1"]
    assert isinstance(verdict(params, before, before, sizes={"n": 2**31 - 1}), Equal)
    assert isinstance(verdict(params, before, after, sizes={"n": 2**31 - 1}), Different)
