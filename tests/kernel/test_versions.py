"""Which stores an element may have met: through other types, in other iterations."""

from __future__ import annotations

import pytest

from tests.kernel.programs import accepted, program, refused
from verified_tir.kernel.rules.erase import Erase
from verified_tir.schedule import moves

BYTES = 'A: T.Buffer((2,), "int32"), B: T.Buffer((4,), "int32"), X: T.Buffer((8,), "int8")'
TYPED = """
V = T.decl_buffer((8,), "int8", data={block}.data)
A[1] = 0
{store}
if A[1] == 0:
    B[0] = 1
"""


@pytest.mark.parametrize(
    "store",
    [
        "V[4] = T.int8(1)",
        "for i in range(8):\n    V[i] = T.int8(1)",
        "V[0:8] = X[0:8]",
        "for i in range(1):\n    V[4] = T.int8(1)\n    A[0] = 1",
    ],
)
def test_a_store_at_another_type_changes_the_element(store: str) -> None:
    f = program(TYPED.format(block="A", store=store), BYTES)
    refused(f, moves.decide((0, 2), True), "the branch is always taken here")
    g = program(TYPED.format(block="B", store=store), BYTES)  # another block
    accepted(g, moves.decide((0, 2), True))


LOOP = """
B[0] = 7
for i in range(4):
    if i == {asked}:
        if B[0] == {value}:
            A[i] = 1
    if i == {stored}:
        B[0] = 5
"""


@pytest.mark.parametrize(
    ("stored", "asked", "value", "known"),
    [(0, 0, 7, True), (0, 1, 7, False), (0, 2, 7, False), (2, 2, 7, True), (3, 2, 7, True), (2, 3, 7, False),
     (0, 2, 5, True), (0, 3, 5, True), (0, 0, 5, False), (2, 1, 5, False)],
)  # fmt: skip
def test_what_earlier_iterations_stored(stored: int, asked: int, value: int, *, known: bool) -> None:
    """Every earlier iteration counts, not the last one alone; and none that is yet to come."""
    f = program(LOOP.format(stored=stored, asked=asked, value=value))
    if known:
        accepted(f, moves.decide((1, 0, 0, 0), True))
    else:
        refused(f, moves.decide((1, 0, 0, 0), True), "the branch is always taken here")


@pytest.mark.parametrize(("k", "known"), [(0, False), (1, True)])
def test_how_far_an_inner_loop_runs_may_change_with_each_iteration(k: int, *, known: bool) -> None:
    """It begins with one iteration; if it has four the next time, B[3] is stored to."""
    body = f"A[0] = 1\nB[3] = 0\nfor i in range(2):\n    for j in range(A[0]):\n        B[j] = 5\n    A[{k}] = 4\n"
    f = program(body + "if B[3] == 0:\n    A[1] = 1")
    if known:
        accepted(f, moves.decide((3,), True))
    else:
        refused(f, moves.decide((3,), True), "the branch is always taken here")


def test_what_later_iterations_store_is_not_there_yet() -> None:
    body = "for i in range(4):\n    if i == 1:\n        if B[{k}] == 5:\n            A[i] = 1\n    B[i] = 5"
    accepted(program(body.format(k=0)), moves.decide((0, 0, 0), True))
    for k in (1, 3):
        refused(program(body.format(k=k)), moves.decide((0, 0, 0), True), "the branch is always taken here")


@pytest.mark.parametrize(
    ("index", "value", "known"), [("j + i", 0, False), ("j + 2 * i", 0, True), ("j + 2 * i", 10, False)]
)
def test_which_of_several_instances_stored_last(index: str, value: int, *, known: bool) -> None:
    """``B[j + i]`` is stored to by (0, 1) and, later, by (1, 0)."""
    f = program(f"for i, j in T.grid(2, 2):\n    B[{index}] = i * 10\nif B[1] == {value}:\n    A[0] = 1")
    if known:
        accepted(f, moves.decide((1,), True))
    else:
        refused(f, moves.decide((1,), True), "the branch is always taken here")


def test_the_last_of_three_stores_counts() -> None:
    body = "for i in range(4):\n    B[i] = 1\n    B[i] = 2\n    B[i] = 3\nif B[0] == {}:\n    A[0] = 1"
    accepted(program(body.format(3)), moves.decide((1,), True))
    for value in (1, 2):
        refused(program(body.format(value)), moves.decide((1,), True), "the branch is always taken here")


@pytest.mark.parametrize(("loaded", "fine"), [("B[0]", True), ("B[1]", False), ("B[i]", False)])
def test_what_one_element_keeps_another_need_not_have(loaded: str, *, fine: bool) -> None:
    """B[0] is never -0.0, if nothing else gets there; of B[1] that is not known."""
    body = f"B[0] = 0.0\nfor i in range(2):\n    B[0] = {loaded} * T.float32(1)\nB[0] = B[0] + T.float32(0)"
    f = program(body, 'B: T.Buffer((4,), "float32")')
    if fine:
        accepted(f, Erase((2,)))
    else:
        refused(f, Erase((2,)), "wrote the bits that were there already")
