"""A store under a condition on data, through a view of another type or width, was read back and written back where the
condition does not hold: a NaN, or bytes beside undefined ones, then became undefined before the change, too."""

from __future__ import annotations

import pytest

from verified_tir import parse_func
from verified_tir.ir.func import PrimFunc
from verified_tir.validate import Equal, EqualInPart, validate

FLOAT = """
@T.prim_func
def f(A: T.Buffer(({n},), "float32"), C: T.Buffer(({n},), "int32")):
    V = T.decl_buffer(({n},), "{dtype}", data=A.data)
    for i in range({n}):
        {body}
"""
BYTES = """
@T.prim_func
def f(C: T.Buffer((1,), "int32"), B: T.Buffer((1,), "uint8")):
    X = T.alloc_buffer((4,), "uint8")
    V = T.decl_buffer((1,), "uint32", data=X.data)
    {first}
    {body}
    B[0] = X[0]
"""
CALL = """
@T.prim_func
def f(A: T.Buffer((2,), "{dtype}"), C: T.Buffer((1,), "int32")):
    V = T.decl_buffer((2,), "uint32", data=A.data)
    V[1] = T.uint32(7)
    if C[0] > 0:
        T.evaluate(T.call_extern("int32", "store", V.data))
    {last}
"""
GUARDED = "if C[{i}] > 0:\n{indent}V[{i}] = {five}"
ALWAYS = "V[{i}] = T.if_then_else(C[{i}] > 0, {five}, V[{i}])"


def float32(dtype: str, body: str, n: int = 1) -> PrimFunc:
    five = f"T.{dtype}(5)"
    return parse_func(FLOAT.format(n=n, dtype=dtype, body=body.format(i="i", five=five, indent=" " * 12)))


def in_bytes(first: str, body: str) -> PrimFunc:
    return parse_func(BYTES.format(first=first, body=body.format(i=0, five="T.uint32(5)", indent=" " * 8)))


@pytest.mark.parametrize(("n", "most", "kind"), [(1, 1000, Equal), (1 << 20, 1 << 20, EqualInPart)])
def test_a_nan_stays_where_nothing_is_stored(n: int, most: int, kind: type[Equal | EqualInPart]) -> None:
    """Also on demand.  Through a view of the same type, both programs are the same."""
    before, after = float32("int32", GUARDED, n), float32("int32", ALWAYS, n)
    assert not isinstance(validate(before, after, most_operations=most).verdict, (Equal, EqualInPart))
    before, after = float32("float32", GUARDED, n), float32("float32", ALWAYS, n)
    assert isinstance(validate(before, after, most_operations=most).verdict, kind)


def test_bytes_stay_beside_undefined_ones() -> None:
    """What was stored as one scalar may be read and written back; so may bytes that are all defined."""
    first = "X[0] = T.uint8(7)"
    before, after = in_bytes(first, GUARDED), in_bytes(first, ALWAYS)
    assert not isinstance(validate(before, after).verdict, Equal)
    for first in ("V[0] = T.uint32(77)", "for i in range(4):\n        X[i] = T.Cast('uint8', C[0] + i)"):
        before, after = in_bytes(first, GUARDED), in_bytes(first, ALWAYS)
        assert isinstance(validate(before, after).verdict, Equal)


def test_a_nan_stays_where_nothing_is_called() -> None:
    """What an opaque call leaves under a condition is known at one type only."""
    for dtype in ("float32", "int32"):
        before, after = (parse_func(CALL.format(dtype=dtype, last=last)) for last in ("pass", "V[0] = V[0]"))
        assert isinstance(validate(before, after).verdict, Equal) == (dtype == "int32")
