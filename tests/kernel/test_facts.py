"""What the kernel knows of memory, asked through ``decide``: is a condition on a loaded value provably true here?

Each program ends in ``if <condition>``; the question is whether the kernel may drop the branch.
"""

from __future__ import annotations

import pytest

from tests.kernel.programs import take
from verified_tir.ir.paths import places
from verified_tir.ir.script import parse_func
from verified_tir.ir.stmt import If, Store
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.obligation import NoMatch, Unproved
from verified_tir.kernel.theorem import Refines, reflexive
from verified_tir.logic.solver import Solver
from verified_tir.schedule import moves

HEADER = """
@T.prim_func
def f(A: T.Buffer((8,), "{dtype}"), B: T.Buffer((8,), "{dtype}"), X: T.Buffer((8,), "int32"), n: T.int32):
"""


def known(body: str, dtype: str = "int32") -> bool:
    """Whether the last branch of the program is decided to be taken always."""
    lines = "\n".join("    " + line for line in body.strip("\n").split("\n"))
    func = parse_func(HEADER.format(dtype=dtype) + lines + "\n")
    path = [p for p, s in places(func.body, lambda s: isinstance(s, If) and isinstance(s.then_body, Store))][-1]
    result = take(moves.decide(path, True), reflexive(func), Prover(Solver()))
    assert not isinstance(result, NoMatch), result.reason
    assert isinstance(result, (Refines, Unproved))
    return isinstance(result, Refines)


LOCAL = "with T.alloc_buffer((2,), 'int32') as L:"

CASES = [
    # one store
    ("A[2] = 5\nif A[2] == 5:\n    B[0] = 1", True),
    ("A[2] = 5\nif A[3] == 5:\n    B[0] = 1", False),
    ("A[2] = 5\nA[3] = 6\nif A[2] == 5:\n    B[0] = 1", True),
    ("A[2] = 5\nA[X[0]] = 6\nif A[2] == 5:\n    B[0] = 1", False),
    ("A[2] = 5\nif X[0] != 2:\n    A[X[0]] = 6\nif A[2] == 5:\n    B[0] = 1", True),
    ("A[2] = A[1]\nif A[2] == A[1]:\n    B[0] = 1", True),
    ("A[2] = A[1]\nA[1] = 0\nif A[2] == A[1]:\n    B[0] = 1", False),
    # finished loops
    ("for i in range(8):\n    A[i] = i\nif A[3] == 3:\n    B[0] = 1", True),
    ("for i in range(8):\n    A[i] = i\nif A[3] == 4:\n    B[0] = 1", False),
    ("for i in range(4):\n    A[2 * i + 1] = i\nif A[5] == 2:\n    B[0] = 1", True),
    ("for i in range(4):\n    A[2 * i + 1] = i\nif A[4] == 2:\n    B[0] = 1", False),
    ("for i in range(8):\n    A[7 - i] = i\nif A[7] == 0:\n    B[0] = 1", True),
    ("for i in range(8):\n    if i != 3:\n        A[i] = 0\nif A[2] == 0:\n    B[0] = 1", True),
    ("for i in range(8):\n    if i != 3:\n        A[i] = 0\nif A[3] == 0:\n    B[0] = 1", False),
    ("for i, j in T.grid(2, 4):\n    A[i * 4 + j] = i + j\nif A[5] == 2:\n    B[0] = 1", True),
    ("for i in range(8):\n    A[i] = B[i]\nif A[3] == B[3]:\n    B[0] = 1", True),
    ("for i in range(8):\n    A[i] = B[i]\n    B[i] = 0\nif A[3] == B[3]:\n    B[0] = 1", False),
    ("for i in range(1, 8):\n    A[i] = A[i - 1]\nif A[3] == A[2]:\n    B[0] = 1", True),
    ("for i in range(7):\n    A[i] = A[i + 1]\nif A[3] == A[4]:\n    B[0] = 1", False),
    ("for i in range(8):\n    A[i] = 0\nfor i in range(8):\n    A[i] = 1\nif A[3] == 0:\n    B[0] = 1", False),
    ("for i in range(8):\n    A[i] = 0\nfor i in range(8):\n    A[i] = 1\nif A[3] == 1:\n    B[0] = 1", True),
    ("for i in range(8):\n    A[i] = 0\nfor i in range(4):\n    A[i] = 1\nif A[5] == 0:\n    B[0] = 1", True),
    ("for i, k in T.grid(8, 3):\n    A[i] = 7\nif A[5] == 7:\n    B[0] = 1", True),
    ("for i, k in T.grid(8, 3):\n    A[i] = k\nif A[5] == 2:\n    B[0] = 1", False),
    ("for i in range(n):\n    A[0] = 7\nif A[0] == 7:\n    B[0] = 1", False),
    ("A[0] = 7\nfor i in range(n):\n    A[0] = 7\nif A[0] == 7:\n    B[0] = 1", True),
    ("for i in range(8):\n    A[X[i]] = 0\nif A[5] == 0:\n    B[0] = 1", False),
    # assumptions
    ("T.assume(A[0] == 3)\nif A[0] == 3:\n    B[0] = 1", True),
    ("T.assume(A[0] == 3)\nA[0] = 4\nif A[0] == 3:\n    B[0] = 1", False),
    ("for i in range(8):\n    T.assume(A[i] == 3)\nif A[6] == 3:\n    B[0] = 1", True),
    ("for i in range(8):\n    T.assume(i < 5 or A[i] == 3)\nif A[6] == 3:\n    B[0] = 1", True),
    ("for i in range(8):\n    T.assume(i < 5 or A[i] == 3)\nif A[2] == 3:\n    B[0] = 1", False),
    ("for i in range(8):\n    T.assume(A[i] == 3)\nA[6] = 1\nif A[6] == 3:\n    B[0] = 1", False),
    ("for i in range(8):\n    T.assume(A[i] == 3)\nA[5] = 1\nif A[6] == 3:\n    B[0] = 1", True),
    ("for i in range(n):\n    T.assume(A[0] == 3)\nif A[0] == 3:\n    B[0] = 1", False),
    ("if X[0] == 0:\n    T.assume(A[0] == 3)\nif A[0] == 3:\n    B[0] = 1", False),
    ("for i in range(8):\n    T.assume(0 <= X[i] and X[i] < 4)\nif X[2] < 4:\n    B[0] = 1", True),
    # branches
    ("if X[0] == 0:\n    A[0] = 1\nelse:\n    A[0] = 1\nif A[0] == 1:\n    B[0] = 1", True),
    ("if X[0] == 0:\n    A[1] = 1\nif A[0] == A[0]:\n    B[0] = 1", True),
    # inside loops
    ("A[0] = 5\nfor i in range(4):\n    B[i] = 1\n    if A[0] == 5:\n        B[0] = 1", True),
    ("A[0] = 5\nfor i in range(4):\n    A[i + 1] = 1\n    if A[0] == 5:\n        B[0] = 1", True),
    ("A[0] = 5\nfor i in range(4):\n    if A[0] == 5:\n        B[0] = 1\n    A[i] = 1", False),
    ("for i in range(8):\n    A[i] = 2\n    if A[i] == 2:\n        B[0] = 1", True),
    ("for i in range(8):\n    A[i] = 2\n    A[X[i]] = 3\n    if A[i] == 2:\n        B[0] = 1", False),
    ("A[0] = 0\nfor i in range(8):\n    A[0] = A[0] + 0\nif A[0] >= 0:\n    B[0] = 1", True),
    # invariants
    ("A[0] = 0\nfor i in range(8):\n    A[0] = T.max(A[0], X[i])\nif A[0] >= 0:\n    B[0] = 1", True),
    ("A[0] = 0\nfor i in range(8):\n    A[0] = T.min(A[0], X[i])\nif A[0] >= 0:\n    B[0] = 1", False),
    ("A[0] = -1\nfor i in range(n):\n    A[0] = T.max(A[0], X[0])\nif A[0] >= 0:\n    B[0] = 1", False),
    # data wraps: a sum of non-negative numbers may become negative
    ("A[0] = 0\nfor i in range(8):\n    A[0] = A[0] + 1\nif A[0] >= 0:\n    B[0] = 1", False),
    # views
    ("V = T.decl_buffer((4, 2), 'int32', data=A.data)\nV[1, 1] = 5\nif A[3] == 5:\n    B[0] = 1", True),
    ("V = T.decl_buffer((4, 2), 'int32', data=A.data)\nA[3] = 1\nV[1, 1] = 5\nif A[3] == 1:\n    B[0] = 1", False),
    ("V = T.decl_buffer((4, 2), 'int32', data=A.data)\nA[2] = 1\nV[1, 1] = 5\nif A[2] == 1:\n    B[0] = 1", True),
    # parameters do not overlap
    ("A[0] = 1\nB[0] = 2\nif A[0] == 1:\n    B[0] = 1", True),
    # local buffers that are gone
    (f"{LOCAL}\n    L[0] = 3\n    A[1] = L[0] + 1\nif A[1] == 4:\n    B[0] = 1", True),
    (f"{LOCAL}\n    L[0] = 3\n    L[1] = X[0]\n    A[1] = L[1] + 1\nif A[1] == 4:\n    B[0] = 1", False),
    (f"A[1] = 4\n{LOCAL}\n    L[0] = X[0]\n    A[L[0] % 8] = 1\nif A[1] == 4:\n    B[0] = 1", False),
    (f"{LOCAL}\n    for i in range(2):\n        L[i] = i\n    A[1] = L[0] + L[1]\nif A[1] == 1:\n    B[0] = 1", True),
    (f"{LOCAL}\n    L[0] = X[0]\n    T.assume(L[0] < 4)\nif X[0] < 4:\n    B[0] = 1", True),
    (f"{LOCAL}\n    if X[1] > 0:\n        L[0] = X[0]\n        T.assume(L[0] < 4)\nif X[0] < 4:\n    B[0] = 1", False),
    (
        f"A[1] = 4\n{LOCAL}\n    L[0] = 5\nV = T.decl_buffer((8,), 'int32', data=A.data)\nif V[1] == 4:\n    B[0] = 1",
        True,
    ),
]


@pytest.mark.parametrize(("body", "expected"), CASES, ids=[str(k) for k in range(len(CASES))])
def test_what_is_known_of_memory(body: str, expected: bool) -> None:
    assert known(body) is expected, body


FLOAT_CASES = [
    ("A[0] = T.float32(0)\nfor i in range(8):\n    A[0] = A[0] + B[i]\nif A[0] == A[0]:\n    B[0] = A[0]", False),
    ("T.assume(A[0] == T.float32(0))\nif A[0] == T.float32(0):\n    B[0] = A[0]", True),
    ("if A[0] < T.float32(1):\n    if A[0] <= T.float32(1):\n        B[0] = A[0]", True),
    ("if not A[0] < T.float32(1):\n    if A[0] >= T.float32(1):\n        B[0] = A[0]", False),
]


@pytest.mark.parametrize(("body", "expected"), FLOAT_CASES)
def test_what_is_known_of_floats(body: str, expected: bool) -> None:
    assert known(body, "float32") is expected, body
