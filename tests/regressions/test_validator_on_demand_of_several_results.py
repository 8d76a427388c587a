"""Found by a campaign: the evaluation on demand did not end where one element of each of two results is too much.

It was to try again with half of the two elements; one of each is two again.

Finding: validator | hang | validate/validator.py:validate
"""

from __future__ import annotations

from verified_tir import parse_func
from verified_tir.validate import Unknown, validate

STOP = """
@T.prim_func
def stop(A: T.Buffer((6,), "int32"), S: T.Buffer((1,), "int32"), B: T.Buffer((6,), "int32")):
    for i in range(6):
        if S[0] > 0:
            B[i] = A[i]
            if A[i] > 2:
                S[0] = 0
"""


def test_it_ends() -> None:
    first, second = parse_func(STOP), parse_func(STOP.replace("S[0] > 0", "not S[0] <= 0"))
    found = validate(first, second, most_operations=30).verdict
    assert isinstance(found, Unknown) and "on demand" in str(found)
