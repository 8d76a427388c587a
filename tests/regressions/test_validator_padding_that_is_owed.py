"""Padding left undef where a value is owed was shown with a value that is not there."""

from __future__ import annotations

from verified_tir import parse_func
from verified_tir.ir.func import PrimFunc
from verified_tir.validate import Correspondence, Different, validate


def program(params: str, *lines: str) -> PrimFunc:
    return parse_func("\n".join(["@T.prim_func(s_tir=True)", f"def f({params}):", *["    " + line for line in lines]]))


def test_padding_that_is_undef_where_a_value_is_owed() -> None:
    before = program('A: T.Buffer((6,), "float32")', "A[0] = A[0]")
    after = program('A: T.Buffer((2, 4), "float32")', "A[1, 3] = T.undef('float32')")
    for owed in (0.0, 2.0):
        maps = {"A": Correspondence(lambda i: (i // 4, i % 4), padding=owed)}
        found = validate(before, after, maps=maps).verdict
        assert isinstance(found, Different)
        assert (found.element, found.before, found.after) == ("the padding of A", owed, None)
