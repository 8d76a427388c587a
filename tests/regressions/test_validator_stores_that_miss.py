"""Found by a campaign: a store to a buffer without elements, in a branch that depends on data, crashed the validator.

What an element holds if the branch is not taken was looked up at an address that is none.

Finding: validator | crash | IndexError in validate/access.py:store
"""

from __future__ import annotations

from verified_tir import parse_func
from verified_tir.validate import Different, Equal, validate

FIRST = """
@T.prim_func
def main(A: T.Buffer((4,), "int32"), B: T.Buffer((0,), "int32")):
    for i in T.parallel(4):
        if A[i] == 0:
            A[i] = 1
"""


def test_what_goes_wrong_only_in_the_second_is_a_difference() -> None:
    found = validate(parse_func(FIRST), parse_func(FIRST.replace("A[i] = 1", "B[0] = 1"))).verdict
    assert isinstance(found, Different) and "B[0] is outside its shape [0]" in str(found)


def test_what_goes_wrong_in_the_first_allows_everything() -> None:
    wrong = FIRST.replace("A[i] = 1", "A[i] = 1\n            B[0] = 1")
    assert isinstance(validate(parse_func(wrong), parse_func(wrong)).verdict, Equal)
