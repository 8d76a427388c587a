"""``false < true`` was asked of a theory that has no order of truth values."""

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


def test_bools_in_order() -> None:
    params = 'A: T.Buffer((2,), "bool"), B: T.Buffer((2,), "bool")'
    less = ["A[0] = A[0] < B[0]", "A[1] = A[1] <= B[1]"]
    assert isinstance(verdict(params, less, ["A[0] = not A[0] and B[0]", "A[1] = not A[1] or B[1]"]), Equal)
    assert isinstance(verdict(params, less, ["A[0] = A[0] and not B[0]", "A[1] = not A[1] or B[1]"]), Different)
