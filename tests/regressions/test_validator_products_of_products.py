"""Found by a campaign: Z3 took minutes, within its budget, for products of products of 64-bit integers.

Finding: validator | hang | validate/validator.py:validate
"""

from __future__ import annotations

from verified_tir import parse_func
from verified_tir.validate import Different, Equal, Unknown, validate

FIRST = """
@T.prim_func
def main(A: T.Buffer((8,), "uint64")):
    for i in range(0, 5):
        A[i] = T.uint64(1)
        for j in range(8):
            A[i] = A[i] * A[j]
"""


def test_it_ends() -> None:
    first = parse_func(FIRST)
    assert isinstance(validate(first, first).verdict, Equal)
    found = validate(first, parse_func(FIRST.replace("range(0, 5)", "range(1, 6)"))).verdict
    assert isinstance(found, (Different, Unknown))


def test_the_order_of_factors_is_no_matter() -> None:
    turned = parse_func(FIRST.replace("A[i] * A[j]", "A[j] * A[i]"))
    assert isinstance(validate(parse_func(FIRST), turned).verdict, Equal)
