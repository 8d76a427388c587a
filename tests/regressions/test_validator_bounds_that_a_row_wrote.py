"""Iterations ran at once although the bounds of an inner loop read what one of them writes."""

from __future__ import annotations

from typing import Any

import pytest

from verified_tir import parse_func
from verified_tir.ir.func import PrimFunc
from verified_tir.validate import Different, Equal, validate
from verified_tir.validate.verdict import Verdict

COUNTS = 'N: T.Buffer((5,), "int32")'


def program(params: str, *lines: str) -> PrimFunc:
    return parse_func("\n".join(["@T.prim_func(s_tir=True)", f"def f({params}):", *["    " + line for line in lines]]))


def verdict(params: str, before: list[str], after: list[str], **options: Any) -> Verdict:
    return validate(program(params, *before), program(params, *after), **options).verdict


@pytest.mark.parametrize("fast", [True, False])
def test_bounds_of_an_inner_loop_that_an_earlier_iteration_of_the_outer_one_wrote(fast: bool) -> None:
    before = [
        "for z in range(5):",
        "    N[z] = 1",
        "for i in range(3):",
        "    for j in range(N[i]):",
        "        N[i + 1] = 0",
    ]  # the second iteration of i is empty, so the third is not
    right, wrong = ([f"N[{k}] = {v}" for k, v in enumerate(digits)] for digits in ("10101", "10001"))
    assert isinstance(verdict(COUNTS, before, right, fast=fast), Equal)
    assert isinstance(verdict(COUNTS, before, wrong, fast=fast), Different)
