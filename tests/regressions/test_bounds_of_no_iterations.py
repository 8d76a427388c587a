"""Found by a campaign: a quotient by the variable of a loop without iterations, at least 1 and at most 0."""

import pytest

from tests.parts.index_values import assert_simplifies_alike
from verified_tir import Schedule, parse_func, script

EMPTY = """
@T.prim_func
def main(n: T.int32):
    for i in range(1):
        for j in range(i):
            T.evaluate(T.Select(n < 1 // i, n, n))
"""
QUOTIENT = """
@T.prim_func
def main(A: T.Buffer((8,), "int32")):
    for i in range({last}):
        for j in range(i):
            if {value} // i <= {value}:
                A[j] = 1
"""


def test_a_quotient_by_a_loop_variable_where_nothing_runs() -> None:
    assert_simplifies_alike(parse_func(EMPTY))


@pytest.mark.parametrize(("last", "value", "kept"), [(4, 7, False), (4, -7, True), (1, -7, False)])
def test_a_quotient_by_a_loop_variable_is_bounded(last: int, value: int, kept: bool) -> None:
    s = Schedule(QUOTIENT.format(last=last, value=value))
    s.simplify()
    assert ("if" in script(s.func)) == kept
    assert_simplifies_alike(s.func)
