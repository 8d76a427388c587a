"""Texts among the arguments of a pure call lost their places and their ends, and a vector that is passed to an opaque
call was as many scalars, or one: calls of other arguments counted as the same."""

from __future__ import annotations

import pytest

from verified_tir import parse_func
from verified_tir.ir.func import PrimFunc
from verified_tir.validate import Equal, validate

PURE = 'B[0] = T.call_pure_extern("float32", {})'
OPAQUE = 'T.evaluate(T.call_extern("int32", "g", {}))'


def program(line: str) -> PrimFunc:
    params = 'A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")'
    return parse_func(f"@T.prim_func\ndef f({params}):\n    {line}\n")


@pytest.mark.parametrize(
    ("call", "one", "other"),
    [
        (PURE, '"poly", "first", A[0], "second", A[1]', '"poly", "first", "second", A[0], A[1]'),
        (PURE, '"poly", "a b", A[0]', '"poly", "a", "b", A[0]'),
        (PURE, '"poly", "a", A[0]', '"poly", A[0], "a"'),
        (OPAQUE, "A[0:2]", "A[0], A[1]"),
        (OPAQUE, "T.Broadcast(A[0], 2)", "A[0]"),
        (OPAQUE, "T.Broadcast(A[0], 2)", "A[0], A[0]"),
        (OPAQUE, 'T.type_annotation("int8")', '"type int8"'),
    ],
)
def test_arguments_have_their_places(call: str, one: str, other: str) -> None:
    """A call is the same as itself, and no other."""
    before, after = program(call.format(one)), program(call.format(other))
    assert not isinstance(validate(before, after).verdict, Equal)
    copied = program(f"x: T.let[T.float32] = A[0]\n    {call.format(one.replace('A[0]', 'x'))}")
    assert isinstance(validate(before, copied).verdict, Equal)
