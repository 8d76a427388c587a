"""What was found out about memory at one place is not taken for known at another one."""

from __future__ import annotations

import pytest

from tests.kernel.programs import PROVER, program, why
from verified_tir.kernel.entry import verify_program
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.obligation import NoMatch, Unproved
from verified_tir.logic.solver import Solver

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
