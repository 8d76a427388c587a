"""Pairs of programs that differ in little: one is equal, the other one is not."""

import pytest

from tests.validate.test_validate import INTS, program, store, verdict
from verified_tir.validate import Correspondence, Different, Equal, Unknown, validate
from verified_tir.validate.pairs import Budget, judge


@pytest.mark.parametrize(("way", "equal"), [("int64", True), ("int8", False)])
def test_an_integer_comes_back_from_a_wider_type_only(way: str, equal: bool) -> None:
    found = verdict(store(f"T.Cast('int32', T.Cast('{way}', A[0]))"), store("A[0]"), INTS)
    assert isinstance(found, Equal if equal else Different), found


SUM = """
for k in range(4):
    with T.block("sum"):
        v = T.axis.reduce(4, k)
        with T.init():
            B[0] = 0
        B[0] = B[0] + A[v]
"""
STEPS = "for k in range(4):\n    if {}:\n        B[0] = 0\n    B[0] = B[0] + A[k]"


@pytest.mark.parametrize(("when", "equal"), [("k == 0", True), ("k >= 0", False), ("k == 3", False)])
def test_a_reduction_is_initialised_once(when: str, equal: bool) -> None:
    found = verdict(SUM, STEPS.format(when), INTS)
    assert isinstance(found, Equal if equal else Different), found


def test_an_element_past_the_end_of_a_row_is_none() -> None:
    params = 'A: T.Buffer((2, 4), "int32"), B: T.Buffer((4,), "int32")'
    assert isinstance(verdict(store("A[1, 0]"), store("A[1, 0] + 0"), params), Equal)
    found = verdict(store("A[1, 0]"), store("A[0, 4]"), params)
    assert isinstance(found, Different) and "out-of-bounds" in str(found)


def test_calls_keep_their_order_and_number() -> None:
    g, h = (f'T.evaluate(T.call_extern("int32", "{name}"))\n' for name in "gh")
    assert isinstance(verdict(g + h, g + h + store("B[0]")), Equal)
    assert isinstance(verdict(g + h, g + h, "n: T.int32"), Equal)
    for other in (h + g, g, g + h + h):
        assert isinstance(verdict(g + h, other), Unknown)
        assert isinstance(verdict(g + h, other, "n: T.int32"), Unknown)  # there is the world, besides memory


@pytest.mark.parametrize(("filled", "equal"), [(0, True), (1, False)])
def test_padding_of_zeros_is_owed(filled: int, equal: bool) -> None:
    params = 'A: T.Buffer((6,), "float32"), B: T.Buffer({}, "float32")'
    before = program("for i in range(6):\n    B[i] = A[i]", params.format((6,)))
    value = f"T.if_then_else(i * 4 + j < 6, A[i * 4 + j], T.float32({filled}))"
    after = program(f"for i, j in T.grid(2, 4):\n    B[i, j] = {value}", params.format((2, 4)))
    moved = {"B": Correspondence(lambda i: (i // 4, i % 4), 0.0)}
    assert isinstance(validate(before, after, maps=moved).verdict, Equal if equal else Different)


def test_a_size_at_which_nothing_runs_settles_nothing() -> None:
    """At n = 1 there is too much to do, and at n = 0 nothing."""
    params = 'A: T.Buffer((n,), "int32"), C: T.Buffer((1,), "int32"), n: T.int32'
    body = "for i in range(n):\n    for k in range(100000):\n        A[i] = A[i] * 3 + {}\nC[0] = 2"
    found = judge("f", program(body.format(1), params), program(body.format(2), params), {}, Budget(1000))
    assert found.word == "unknown" and [r.sizes["n"] for r in found.reports] == [0, 1]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("A[0] - A[1]", "A[1] - A[0]"),
        ("A[2] * (A[0] - A[1])", "A[2] * (A[1] - A[0])"),
        ("A[0] + A[0] + A[1]", "A[0] + A[1] + A[1]"),
        ("(A[0] + A[1]) + A[0]", "A[1] + (A[0] + A[1])"),
    ],
)
def test_other_summands_are_another_sum(before: str, after: str) -> None:
    assert isinstance(verdict(store(before), store(before)), Equal)
    assert isinstance(verdict(store(before), store(after)), Different)
