"""Which stores an element may have met: through other types, in other iterations."""

from __future__ import annotations

import pytest

from tests.kernel.programs import accepted, program, refused
from verified_tir.kernel.rules.branch import Decide

BYTES = 'A: T.Buffer((2,), "int32"), B: T.Buffer((4,), "int32"), X: T.Buffer((8,), "int8")'
TYPED = """
V = T.decl_buffer((8,), "int8", data={block}.data)
A[1] = 0
{store}
if A[1] == 0:
    B[0] = 1
"""


@pytest.mark.parametrize("store", ["V[4] = T.int8(1)", "for i in range(8):\n    V[i] = T.int8(1)", "V[0:8] = X[0:8]"])
def test_a_store_at_another_type_changes_the_element(store: str) -> None:
    f = program(TYPED.format(block="A", store=store), BYTES)
    refused(f, Decide((0, 2), True), "the condition is always true here")
    g = program(TYPED.format(block="B", store=store), BYTES)  # another block
    accepted(g, Decide((0, 2), True))


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
        accepted(f, Decide((1, 0, 0, 0), True))
    else:
        refused(f, Decide((1, 0, 0, 0), True), "the condition is always true here")


def test_what_later_iterations_store_is_not_there_yet() -> None:
    body = "for i in range(4):\n    if i == 1:\n        if B[{k}] == 5:\n            A[i] = 1\n    B[i] = 5"
    accepted(program(body.format(k=0)), Decide((0, 0, 0), True))
    for k in (1, 3):
        refused(program(body.format(k=k)), Decide((0, 0, 0), True), "the condition is always true here")
