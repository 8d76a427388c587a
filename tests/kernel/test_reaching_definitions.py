"""What several stores of one statement leave in an element, and what they leave alone."""

from __future__ import annotations

import pytest

from tests.kernel.programs import PROVER, program
from tests.kernel.test_facts import known
from verified_tir.elaborate.claims import verify_program
from verified_tir.kernel.obligation import Unproved

CASES = [
    # the later store of an iteration, and the later iteration
    ("for i in range(8):\n    A[i] = 1\n    A[i] = 2\nif A[3] == 2:\n    B[0] = 1", True),
    ("for i in range(8):\n    A[i] = 1\n    A[i] = 2\nif A[3] == 1:\n    B[0] = 1", False),
    ("for i in range(7):\n    A[i] = 1\n    A[i + 1] = 2\nif A[3] == 1:\n    B[0] = 1", True),
    ("for i in range(7):\n    A[i] = 1\n    A[i + 1] = 2\nif A[7] == 2:\n    B[0] = 1", True),
    ("for i in range(7):\n    A[i] = 1\n    A[i + 1] = 2\nif A[3] == 2:\n    B[0] = 1", False),
    ("for i in range(1, 8):\n    A[i] = 1\n    A[i - 1] = 2\nif A[3] == 2:\n    B[0] = 1", True),
    ("for i in range(1, 8):\n    A[i] = 1\n    A[i - 1] = 2\nif A[3] == 1:\n    B[0] = 1", False),
    ("for i in range(2):\n    for j in range(8):\n        A[j] = 1\n    A[i] = 2\nif A[1] == 2:\n    B[0] = 1", True),
    ("for i in range(2):\n    for j in range(8):\n        A[j] = 1\n    A[i] = 2\nif A[0] == 2:\n    B[0] = 1", False),
    ("for i in range(2):\n    for j in range(8):\n        A[j] = 1\n    A[i] = 2\nif A[0] == 1:\n    B[0] = 1", False),
    # both arms of a branch
    ("for i in range(8):\n    if i < 3:\n        A[i] = 1\n    else:\n        A[i] = 2\n"
     "if A[3] == 2:\n    B[0] = 1", True),
    ("for i in range(8):\n    if i < 3:\n        A[i] = 1\n    else:\n        A[i] = 2\n"
     "if A[2] == 2:\n    B[0] = 1", False),
    ("for i in range(8):\n    if X[i] < 3:\n        A[i] = 1\n    else:\n        A[i] = 2\n"
     "if X[4] < 3:\n    if A[4] == 1:\n        B[0] = 1", True),
    ("for i in range(8):\n    if X[i] < 3:\n        A[i] = 1\n    else:\n        A[i] = 2\n"
     "if X[4] < 3:\n    if A[5] == 1:\n        B[0] = 1", False),
    # the condition was another when it was asked
    ("for i in range(8):\n    if X[i] < 3:\n        A[i] = 1\n    else:\n        A[i] = 2\n"
     "X[4] = 0\nif X[4] < 3:\n    if A[4] == 1:\n        B[0] = 1", False),
    ("for i in range(8):\n    if A[i] < 3:\n        A[i] = 1\n    else:\n        A[i] = 2\n"
     "if A[4] == 1:\n    B[0] = 1", False),
    # which iteration came last
    ("for k in range(4):\n    if X[k] == 0:\n        A[0] = 7\n    else:\n        A[0] = 8\n"
     "if X[0] == 0:\n    if A[0] == 7:\n        B[0] = 1", False),
    # two statements
    ("for i in range(8):\n    A[i] = 0\nfor i in range(4):\n    A[i + 2] = 1\nif A[5] == 1:\n    B[0] = 1", True),
    ("for i in range(8):\n    A[i] = 0\nfor i in range(4):\n    A[i + 2] = 1\nif A[6] == 0:\n    B[0] = 1", True),
    # what no store reached is as it was
    ("A[2] = 5\nfor i in range(4):\n    if X[i] == 0:\n        A[i] = 6\n"
     "if X[2] != 0:\n    if A[2] == 5:\n        B[0] = 1", True),
    ("A[2] = 5\nfor i in range(4):\n    if X[i] == 0:\n        A[i] = 6\nif A[2] == 5:\n    B[0] = 1", False),
    ("A[2] = 5\nfor i in range(4):\n    if X[i] == 0:\n        A[i] = 6\n"
     "if X[1] != 0:\n    if A[2] == 5:\n        B[0] = 1", False),
    ("A[2] = 5\nfor i in range(4):\n    if X[i] == 0:\n        A[i] = 6\n    if X[i] == 1:\n        A[i] = 7\n"
     "if X[2] == 3:\n    if A[2] == 5:\n        B[0] = 1", True),
    ("A[2] = 5\nfor i in range(4):\n    if X[i] == 0:\n        A[i] = 6\n    if X[i] == 1:\n        A[i] = 7\n"
     "if X[2] == 1:\n    if A[2] == 5:\n        B[0] = 1", False),
    # loops that may make no iteration
    ("A[0] = 5\nfor i in range(n):\n    A[0] = 7\nif n <= 0:\n    if A[0] == 5:\n        B[0] = 1", True),
    ("A[0] = 5\nfor i in range(n):\n    A[0] = 7\nif n > 0:\n    if A[0] == 7:\n        B[0] = 1", True),
    ("A[0] = 5\nfor i in range(n):\n    A[0] = 7\nif A[0] == 7:\n    B[0] = 1", False),
    ("A[0] = 5\nfor i in range(n):\n    A[0] = 7\nif A[0] == 5:\n    B[0] = 1", False),
    # some iteration may have stored, and not the first
    ("A[0] = 5\nfor k in range(4):\n    if X[k] == 0:\n        A[0] = 7\n"
     "if X[0] != 0:\n    if A[0] == 5:\n        B[0] = 1", False),
    # memory of the iteration's own
    ("for i in range(8):\n    t = T.alloc_buffer((1,), 'int32')\n    t[0] = X[i]\n    if t[0] == 0:\n        A[i] = 1\n"
     "    else:\n        A[i] = 2\nif A[3] == 2:\n    B[0] = 1", False),
    # through another view
    ("V = T.decl_buffer((4, 2), 'int32', data=A.data)\nfor i in range(4):\n    V[i, 0] = 1\n    A[2 * i + 1] = 2\n"
     "if A[4] == 1:\n    B[0] = 1", True),
    ("V = T.decl_buffer((4, 2), 'int32', data=A.data)\nfor i in range(4):\n    A[2 * i] = 2\n    V[i, 0] = 1\n"
     "if A[4] == 2:\n    B[0] = 1", False),
    # values made of what the statement stores, too, and does not store again
    ("for i in range(8):\n    X[i] = B[i]\n    A[i] = X[i]\nif A[3] == X[3]:\n    B[0] = 1", True),
    ("for i in range(8):\n    X[i] = B[i]\n    A[i] = X[i]\n    X[i] = 0\nif A[3] == X[3]:\n    B[0] = 1", False),
    ("for i in range(7):\n    A[i] = X[i]\n    X[i + 1] = 0\nif A[3] == X[3]:\n    B[0] = 1", True),
    ("for i in range(7):\n    A[i] = X[i + 1]\n    X[i + 1] = 0\nif A[3] == X[4]:\n    B[0] = 1", False),
    ("for i in range(1, 8):\n    A[i] = X[i]\n    X[i - 1] = 0\nif A[3] == X[3]:\n    B[0] = 1", False),
    ("for i in range(8):\n    A[i] = A[i] + 1\nif A[3] == A[3] + 1:\n    B[0] = 1", False),
    ("for i, k in T.grid(8, 3):\n    A[i] = A[i] + X[k]\nif A[3] == A[3] + X[0]:\n    B[0] = 1", False),
    ("for i in range(8):\n    X[0] = B[i]\n    A[i] = X[0]\nif A[3] == X[0]:\n    B[0] = 1", False),
    ("for i in range(8):\n    for k in range(4):\n        X[k] = k\n    for k in range(4):\n        A[i] = X[k]\n"
     "if A[7] == X[0]:\n    B[0] = 1", False),
    ("for k in range(4):\n    X[k] = B[k]\n    A[0] = X[0]\nif A[0] == X[0]:\n    B[0] = 1", True),
    ("for k in range(4):\n    X[k] = B[k]\n    A[0] = X[k]\nif A[0] == X[0]:\n    B[0] = 1", False),
    ("for i in range(8):\n    X[i] = B[i]\n    for k in range(X[i]):\n        A[i] = X[i]\n"
     "if A[3] == X[3]:\n    B[0] = 1", False),
    ("for i in range(8):\n    t = T.alloc_buffer((1,), 'int32')\n    t[0] = X[i]\n    A[i] = t[0]\n"
     "if A[3] == X[3]:\n    B[0] = 1", False),
    # lanes that meet
    ("A[T.Ramp(0, 0, 4)] = T.Ramp(3, 1, 4)\nif A[0] == 3:\n    B[0] = 1", False),
    # undef
    ("for i in range(8):\n    A[i] = 1\n    if i == 3:\n        A[i] = T.undef('int32')\n"
     "if A[2] == 1:\n    B[0] = 1", True),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), CASES, ids=[str(k) for k in range(len(CASES))])
def test_what_several_stores_leave(body: str, expected: bool) -> None:
    assert known(body) is expected, body


ORDER = """
for i in range(1):
    with T.block("a"):
        va = T.axis.spatial(1, Z[0] % 1)
        vb = T.axis.spatial(1, Z[1] % 1)
        for j in range(1, 2):
            A[0] = {0}
        for k in range(1):
            X[2] = 1
with T.block("b"):
    vi = T.axis.spatial(2, A[0])
    B[vi % 2] = 0
"""
"""X[2] is read before it is stored to, though j is greater than k."""


def test_a_block_that_is_not_expanded_says_nothing_of_the_order() -> None:
    params = ", ".join(f'{name}: T.Buffer((4,), "int32")' for name in "ABXZ")
    refusal = verify_program(program(ORDER.format("X[2]"), params), PROVER)
    assert isinstance(refusal, Unproved)
    assert refusal.obligation.claim == "the binding of vi lies in its domain"
    assert isinstance(verify_program(program(ORDER.format("1"), params), PROVER), tuple)
