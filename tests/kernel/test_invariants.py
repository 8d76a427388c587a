"""Properties that an element has before a statement, and that each store keeps: one condition at a time."""

from __future__ import annotations

import pytest

from tests.kernel.test_facts import known

POSITIVE = "if A[0] >= 0:\n    B[0] = 1"
IN_BRANCH = POSITIVE.replace("\n", "\n    ")
BYTES = "V = T.decl_buffer((32,), 'int8', data=A.data)\n"
SOMETIMES = "if {}:\n    A[0] = 0\n    for i in range(8):\n        if X[i] > 3:\n            A[0] = n\n    " + IN_BRANCH

CASES = [
    # it holds before
    ("if n >= 0:\n    A[0] = n\n    for i in range(8):\n        A[0] = T.max(A[0], X[i])\n    " + IN_BRANCH, True),
    ("if n > -2:\n    A[0] = n\n    for i in range(8):\n        A[0] = T.max(A[0], X[i] - 2)\n    " + IN_BRANCH, False),
    # every store keeps it
    ("A[0] = 0\nfor i in range(8):\n    A[0] = T.max(A[0], X[i])\n    A[0] = T.max(A[0], 3)\n" + POSITIVE, True),
    ("A[0] = 0\nfor i in range(8):\n    A[0] = T.max(A[0], X[i])\n    A[0] = A[0] - X[i]\n" + POSITIVE, False),
    # a store to this element loads this element
    ("A[0] = 0\nfor i in range(8):\n    A[i] = T.max(A[i], X[i])\n" + POSITIVE, True),
    ("A[0] = 0\nfor i in range(7):\n    A[i] = T.max(A[i + 1], X[i])\n" + POSITIVE, False),
    # what another block holds at the same place, or these bytes at another type, is something else
    ("A[0] = 0\nfor i in range(8):\n    if X[i] > 3:\n        A[0] = X[0]\n" + POSITIVE, False),
    (BYTES + "A[1] = 0\nfor i in range(8):\n    if X[i] > 3:\n        A[1] = T.Cast('int32', V[1])\n"
     + POSITIVE.replace("A[0]", "A[1]"), False),
    # what is known where the question stands, and on the way to the store
    (SOMETIMES.format("n >= 0"), True),
    (SOMETIMES.format("n > -2"), False),
    ("A[0] = 0\nfor i in range(8):\n    if X[i] > 3:\n        A[0] = X[i]\n" + POSITIVE, True),
    ("A[0] = 0\nfor i in range(8):\n    if X[i] > -3:\n        A[0] = X[i]\n" + POSITIVE, False),
    # and of what is stored
    ("X[2] = n\nA[0] = 0\nfor i in range(8):\n    if B[i] > 0 and n >= 0:\n        A[0] = X[2]\n" + POSITIVE, True),
    ("X[2] = n\nA[0] = 0\nfor i in range(8):\n    if B[i] > 0 and n >= -1:\n        A[0] = X[2]\n" + POSITIVE, False),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), CASES, ids=[str(k) for k in range(len(CASES))])
def test_what_every_store_keeps(body: str, *, expected: bool) -> None:
    assert known(body) is expected, body


LARGEST = """
A[0] = T.float32(0)
for i in range(8):
    A[0] = T.if_then_else({}, B[i], A[0])
if A[0] == A[0]:
    B[0] = A[0]
"""


def test_a_maximum_is_no_nan() -> None:
    """What is compared with a NaN is never less."""
    assert known(LARGEST.format("A[0] < B[i]"), "float32")
    assert not known(LARGEST.format("not B[i] < A[0]"), "float32")
