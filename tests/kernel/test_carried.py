"""What one iteration leaves to the next: a buffer that moves into the loop, a statement that goes."""

from __future__ import annotations

import pytest

from tests.kernel.programs import accepted, buffer, load, program, refused
from verified_tir.ir.sugar import const
from verified_tir.kernel.rules.erase import Erase
from verified_tir.schedule import moves
from verified_tir.schedule.edits import rewritten
from verified_tir.schedule.rule_builders import moved

LOCAL = 't = T.alloc_buffer((1,), "int32")\n'


@pytest.mark.parametrize(("read"), ["B[i] = t[0]", "for j in range(t[0]):\n            B[j] = 1"])
def test_an_iteration_that_reads_what_the_one_before_stored(read: str) -> None:
    later = f"{LOCAL}for i in range(4):\n    if i > 0:\n        {read}\n    t[0] = 2"
    refused(program(later), moved((), "sink"), "the read of t sees a write of its own iteration")
    own = f"{LOCAL}for i in range(4):\n    t[0] = 2\n    if i > 0:\n        {read}"
    accepted(program(own), moved((), "sink"))


def test_an_erased_loop_that_feeds_itself() -> None:
    """The first iteration stores to B what is there, but leaves to the second one something else."""
    text = LOCAL + "t[0] = 1\nB[0] = 1\nfor i in range(2):\n    B[0] = t[0]\n    t[0] = {}"
    accepted(program(text.format(1)), Erase((0, 2)))
    refused(program(text.format(2)), Erase((0, 2)), "wrote the bits that were there already")


@pytest.mark.parametrize(("place", "fine"), [("A[0]", False), ("B[2]", True)])
def test_what_runs_again_found_what_its_producer_had_stored(place: str, *, fine: bool) -> None:
    """``A[B[1]]`` was A[0] when it ran, whatever B[1] was before the loop."""
    f = program(f"B[1] = 3\nfor x in range(2):\n    B[x] = 0\n    A[B[x]] = 5\n{place} = 7\nB[3] = 1")
    again = moves.recompute((3,), (1, 0, 1), (), (), (const(1),))
    if fine:
        accepted(f, again)
    else:
        refused(f, again, "was not overwritten since")


WHILE = "A[0] = 0\nB[0] = 9\nwhile A[0] < 3:\n    B[0] = A[0]\n    A[0] = A[0] + 1\nif B[0] == {}:\n    A[1] = 1"


@pytest.mark.parametrize("value", [0, 9])
def test_a_while_loop_does_not_leave_what_its_first_round_stored(value: int) -> None:
    refused(program(WHILE.format(value)), moves.decide((3,), True), "the branch is always taken here")


@pytest.mark.parametrize(("index", "known"), [(0, False), (1, True)])
def test_the_condition_of_a_while_loop_is_evaluated_in_every_round(index: int, *, known: bool) -> None:
    f = program(f"A[0] = 0\nB[0] = 0\nwhile A[0] < 3:\n    A[{index}] = 3")
    rule = rewritten((2,), (0, 0), load(buffer(f, "B"), 0))
    if known:
        accepted(f, rule)
    else:
        refused(f, rule, "equal: B[0] equals A[0]")
