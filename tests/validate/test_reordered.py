"""A sum in another order is equal over the reals also where data decide about undefined behaviour or addresses, and
differences elsewhere are found all the same."""

from __future__ import annotations

import pytest

from verified_tir import parse_func
from verified_tir.validate import Different, EqualOverReals, Unknown, validate

HEAD = """
@T.prim_func
def f(A: T.Buffer((8, 6), "float32"), I: T.Buffer((8,), "int32"), B: T.Buffer((8,), "float32")):
"""
ASSUMED = (
    HEAD
    + """
    T.assume(I[0] > 0)
    for i, k in T.grid(8, 6):
        B[i] = B[i] + A[i, {}]
    I[1] = {}
"""
)
GATHERED = (
    HEAD
    + """
    for i, k in T.grid(8, 6):
        B[I[i] % 8] = B[I[i] % 8] + A[i, {}] * T.float32({})
"""
)


def verdict(text: str, before: tuple[str, ...], after: tuple[str, ...]) -> object:
    return validate(parse_func(text.format(*before)), parse_func(text.format(*after))).verdict


def test_with_an_assumption() -> None:
    assert isinstance(verdict(ASSUMED, ("k", "0"), ("5 - k", "0")), EqualOverReals)
    for other in (("5 - k", "1"), ("k", "1"), ("k // 2 * 2", "0")):
        found = verdict(ASSUMED, ("k", "0"), other)
        assert isinstance(found, Different)
        assert found.element.startswith("I[1]" if other[1] == "1" else "B[")


@pytest.mark.parametrize("factor", ["1", "1.25"])
def test_at_addresses_that_depend_on_data(factor: str) -> None:
    assert isinstance(verdict(GATHERED, ("k", factor), ("5 - k", factor)), (Unknown, EqualOverReals))
    assert isinstance(verdict(GATHERED, ("k", factor), ("k // 2 * 2", factor)), Different)
    assert isinstance(verdict(GATHERED, ("k", factor), ("k", "2.5")), Different)
