"""Claims of blocks within blocks, and of blocks whose loops depend on what they write."""

from __future__ import annotations

import pytest

from tests.kernel.test_entry import program, refusal
from verified_tir import Schedule

NESTED = """
for i in range(2):
    with T.block("outer"):
        v = T.axis.spatial(2, i)
        for j in range(4):
            with T.block("inner"):
                w = T.axis.spatial(4, j)
                {0}
"""
BOUNDED = """
for k in range(T.max(0, T.min({bound}, 8))):
    with T.block("b"):
        v = T.axis.spatial(8, {binding})
        X[v] = 1
"""
STARTING = """
for k in range(4):
    with T.block("b"):
        v = T.axis.spatial(({}), {})
        B[v + 1] = A[0]
"""
SHIFTED = "    with T.block('b'):\n        v = T.axis.spatial(4, i)\n        B[v + X[0]] = A[v]"


@pytest.mark.parametrize(
    ("bad", "claim", "good"),
    [
        (NESTED.format("B[v] = A[w]"), "block inner: ", NESTED.format("B[4 * v + w] = A[w]")),
        (NESTED.format("B[v] = B[v] + A[w]"), "block inner: ", NESTED.format("B[4 * v + w] = B[4 * v + w] + A[w]")),
        (
            BOUNDED.format(bound="X[0]", binding="k"),
            "the loops around it write nothing that their bounds or its bindings read",
            BOUNDED.format(bound="n", binding="k"),
        ),
        (
            BOUNDED.format(bound="n", binding="(k + X[0]) % 8"),
            "the loops around it write nothing that their bounds or its bindings read",
            BOUNDED.format(bound="n", binding="7 - k"),
        ),
        (STARTING.format("0, 4", "k - 1"), "the binding of v lies in its domain", STARTING.format("-1, 4", "k - 1")),
        (STARTING.format("1, 5", "k"), "the binding of v lies in its domain", STARTING.format("1, 5", "k + 1")),
        (  # another statement of the loop changes where the block stores
            "X[0] = 0\nfor i in range(4):\n    X[0] = 3 - i\n" + SHIFTED,
            "block b: instances that meet in B differ only in reduction axes",
            "X[0] = 3\nfor i in range(4):\n    A[7] = A[6]\n" + SHIFTED,
        ),
    ],
)
def test_a_false_claim_is_refused_and_its_neighbour_accepted(bad: str, claim: str, good: str) -> None:
    assert claim in str(refusal(bad, ", n: T.int32"))
    Schedule(program(good, ", n: T.int32"))
