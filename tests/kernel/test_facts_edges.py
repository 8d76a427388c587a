"""What was found out about memory at one place is not taken for known at another one."""

from __future__ import annotations

import pytest

from tests.kernel.programs import PROVER, program, why
from tests.kernel.test_facts import known
from verified_tir.elaborate.claims import verify_program
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.obligation import NoMatch, Unproved
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict import Proved

PARAMS = 'A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), X: T.Buffer((8,), "int32"), n: T.int32'


def meaning(text: str, prover: Prover = PROVER) -> str:
    found = verify_program(program(text, PARAMS), prover)
    return why(found) if isinstance(found, (NoMatch, Unproved)) else ""


SHIFTED = """
T.assume(0 <= n and n <= 4)
A[0] = 0
for i in range(4):
    A[i + n] = 9
for j in range(1):
    if n > {first}:
        B[A[0]] = 1
    if n > {second}:
        B[A[0]] = 2
"""


@pytest.mark.parametrize(("first", "second"), [(0, 0), (0, -1), (-1, 0), (1, 0)])
def test_what_holds_in_a_branch_is_found_out_there(first: int, second: int) -> None:
    """With n = 0 the loop stores to A[0], otherwise it does not."""
    found = meaning(SHIFTED.format(first=first, second=second), Prover(Solver()))
    assert ("in bounds" in found) if -1 in (first, second) else found == ""


def test_what_is_not_known_yet_may_be_known_later() -> None:
    text = "B[X[0] % 8] = 1\nfor i in range(8):\n    T.assume(0 <= X[i] and X[i] < {})\nB[X[0]] = 2"
    assert meaning(text.format(8), Prover(Solver())) == ""
    assert "in bounds" in meaning(text.format(9), Prover(Solver()))


LAST = "if {}:\n    B[0] = 1"
OTHERS = "".join(f"for i in range(1, 8):\n    A[i] = {k}\n" for k in range(8))
BELOW = """
A[0] = 5
if {}:
    while X[0] > 0:
        X[0] = X[0] - 1
        A[n] = 9
    if A[0] == 5:
        B[0] = 1
"""
LOOKED_UP = """
A[X[1]] = 5
while {0}[0] > 0:
    {0}[0] = {0}[0] - 1
    for i in range(8):
        if i != X[1]:
            A[i] = 6
if A[X[1]] == 5:
    B[0] = 1
"""
FIVES = "for i in range({}):\n    T.assume(A[{}] == {})\n"

CASES = [
    # however many statements ran since
    ("A[0] = 5\n" + OTHERS + LAST.format("A[0] == 5"), True),
    ("A[0] = 5\n" + OTHERS.replace("range(1, 8)", "range(8)", 1) + LAST.format("A[0] == 5"), False),
    # what a statement does not touch, by what is known where the question stands
    (BELOW.format("n > 0"), True),
    (BELOW.format("n >= 0"), False),
    # blocks that nobody wrote are the same ones
    (LOOKED_UP.format("B"), True),
    (LOOKED_UP.format("X"), False),
    # assumptions about some elements, and about elements that others tell
    (FIVES.format(4, "2 * i", 3) + LAST.format("A[4] == 3"), True),
    (FIVES.format(4, "2 * i", 3) + LAST.format("A[5] == 3"), False),
    ("X[3] = 5\n" + FIVES.format(7, "i", "X[i + 1]") + LAST.format("A[2] == 5"), True),
    ("X[3] = 5\n" + FIVES.format(7, "i", "X[i + 1]") + LAST.format("A[3] == 5"), False),
]


@pytest.mark.parametrize(("body", "expected"), CASES, ids=[str(k) for k in range(len(CASES))])
def test_what_is_known(body: str, *, expected: bool) -> None:
    assert known(body) is expected, body


def test_every_lemma_is_kept_and_holds_by_itself() -> None:
    """Those that a store does not touch the element, and that a property held before and is kept."""
    prover = Prover(Solver())
    text = "A[0] = {}\nfor i in range(8):\n    if i > n:\n        A[i] = 3\n    A[0] = T.max(A[0], X[i])\n"
    loop = "if n >= 0:\n    " + text.format("n").replace("\n", "\n    ") + "B[A[0]] = 1"
    assert "in bounds" in meaning(loop, prover)
    claims = {lemma.obligation.claim for lemma in prover.lemmas}
    assert any(c.startswith("no instance of the store to A") for c in claims), claims
    assert {"A is defined before the loop", "A is never negative before the loop"} <= claims
    for lemma in prover.lemmas:
        assert isinstance(lemma.verdict, Proved)
        assert isinstance(Solver().prove(lemma.obligation.given, lemma.obligation.goal), Proved), lemma
