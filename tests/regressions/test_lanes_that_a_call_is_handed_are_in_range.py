"""A vector that was loaded for an opaque call was refused, in bounds or not: nothing said which lanes there are.

Found by writing down what a run of such a statement touches, for mutants of ``region`` that no test reached.
"""

from __future__ import annotations

import pytest

from verified_tir import Refuted, Schedule

TEXT = """
@T.prim_func
def f(A: T.Buffer((8,), "int32")):
    T.evaluate(T.call_extern("int32", "show", A[T.Ramp({start}, 1, 4)]))
"""


def test_lanes_that_a_call_is_handed_are_in_range() -> None:
    Schedule(TEXT.format(start=4))
    with pytest.raises(Refuted, match="lies within the bounds"):
        Schedule(TEXT.format(start=5))
