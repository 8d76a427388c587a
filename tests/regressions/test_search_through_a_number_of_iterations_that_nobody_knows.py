"""Found by a campaign: the search for the last iteration of a loop did not end, since their number comes from a float.

Nothing was known of the number but its type, so that each of two thousand million iterations was asked whether it is
one. A look at one of them takes as long as one at many together, but counted as one.
"""

import pytest

from verified_tir import parse_func
from verified_tir.validate import Equal, Unknown, validate
from verified_tir.validate.demand import validator
from verified_tir.validate.demand.instances import Effort, TooMuch

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((3,), "uint64"), B: T.Buffer((1,), "uint64"), n: T.int32):
    for j in range(T.Cast("int64", {n})):
        B[0] = A[T.int64(2) - j]
"""


def test_the_search_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validator, "_MOST_BOXES", 300_000)  # it takes seconds with as many as there are
    before, after = (parse_func(PROGRAM.format(n=n)) for n in ("n", 'T.Cast("int32", T.Cast("float32", n))'))
    verdict = validate(before, after, sizes={"n": 3}, most_operations=10).verdict
    assert isinstance(verdict, Unknown) and "takes too long" in verdict.reason
    plain = parse_func(PROGRAM.format(n='T.Cast("int32", T.Cast("int16", n))'))
    assert isinstance(validate(before, plain, sizes={"n": 3}, most_operations=20).verdict, Equal)


def test_a_look_at_one_box_counts() -> None:
    effort = Effort(10_000, 0)
    with pytest.raises(TooMuch):
        for _ in range(100):
            effort.look(1)
