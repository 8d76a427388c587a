"""Statements go: stores of the bits that were there, of undef, and dead ones."""

from __future__ import annotations

import pytest

from tests.kernel.programs import accepted, gives, program, refused
from verified_tir.kernel.rules.erase import Erase

WROTE = "no-op: the erased store to {} wrote the bits that were there already (Refuted)"


def test_the_bits_that_were_there() -> None:
    gives(program("A[0] = 3\nA[0] = 3\nB[0] = 1"), Erase((1,)), "A[0] = 3\nB[0] = 1")
    refused(program("A[0] = 3\nA[0] = 4\nB[0] = 1"), Erase((1,)), WROTE.format("A"))
    refused(program("A[0] = 3\nA[0] = 3\nB[0] = 1"), Erase((0,)), WROTE.format("A"))


def test_undef() -> None:
    gives(program('A[0] = T.undef("int32")\nB[0] = 1'), Erase((0,)), "B[0] = 1")
    filled = program('t = T.alloc_buffer((1,), "int32")\nt[0] = 5\nB[0] = t[0]')
    refused(filled, Erase((0, 0)), WROTE.format("t"))  # it filled a place that was undefined


def test_what_never_runs() -> None:
    gives(program("for i in range(0):\n    A[i] = 1\nB[0] = 1"), Erase((0,)), "B[0] = 1")
    gives(program("if 2 < 1:\n    A[0] = 1\nB[0] = 1"), Erase((0,)), "B[0] = 1")
    refused(program("for i in range(B[1]):\n    A[i] = 1\nB[0] = 1"), Erase((0,)), WROTE.format("A"))


def test_what_nobody_reads() -> None:
    text = 't = T.alloc_buffer((2,), "int32")\nt[0] = 5\nB[0] = {}'
    gives(program(text.format(1)), Erase((0, 0)), 't = T.alloc_buffer((2,), "int32")\nB[0] = 1')
    refused(program(text.format("t[1]")), Erase((0, 0)), WROTE.format("t"))


def test_a_dead_store() -> None:
    text = "A[0] = 1\nB[0] = A[{}]\nfor i in range({}):\n    A[i] = 2"
    gives(program(text.format(1, 4)), Erase((0,), overwritten_by=2), "B[0] = A[1]\nfor i in range(4):\n    A[i] = 2")
    reads = "dead-store: the store to A is dead: no later read sees it (Refuted)"
    refused(program(text.format(0, 4)), Erase((0,), overwritten_by=2), reads)
    survives = "dead-store: the store to A is dead: it is certainly overwritten later (Refuted)"
    refused(program(text.format(1, "B[1]")), Erase((0,), overwritten_by=2), survives)
    refused(program("A[0] = 1\nA[0] = A[0] + 1"), Erase((0,), overwritten_by=1), reads)


def test_what_has_effects_stays() -> None:
    for text in ('assert A[0] > 0, "positive"', "while A[0] > 0:\n    A[0] = A[0] - 1"):
        refused(program(text + "\nB[0] = 1"), Erase((0,)), "cannot be erased")


def test_a_store_that_feeds_another_one_is_looked_at() -> None:
    """Where the block begins t[0] is 1, and B[1] would be left as it is; but it is B[2] that is stored to."""
    text = 't = T.alloc_buffer((1,), "int32")\nt[0] = 1\nwith T.block("s"):\n    t[0] = {}\n    B[{}] = B[1]\nB[0] = 3'
    for value, index, fine in ((2, "t[0]", False), (1, "t[0]", True), (2, "1", True)):
        f = program(text.format(value, index))
        if fine:
            accepted(f, Erase((0, 1)))
        else:
            refused(f, Erase((0, 1)), "the erased store to t wrote the bits that were there already")
    alone = program('t = T.alloc_buffer((1,), "int32")\nt[0] = 1\nt[0] = t[0] + 1\nB[0] = 3')
    accepted(alone, Erase((0, 1)))


@pytest.mark.parametrize("outer", ["if n > 0:", "for j in range(n):"])
def test_what_is_assumed_in_a_branch_is_known_there_only(outer: str) -> None:
    """That A[0] is overwritten rests on what is assumed where n is positive."""
    params = 'A: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32"), D: T.Buffer((4,), "int32"), n: T.int32'
    inner = "for k in range(2):\n        T.assume(C[0] > 3)\n    D[0] = A[1]"
    f = program(f"A[0] = 1\n{outer}\n    {inner}\nif C[0] > 3:\n    A[0] = 2", params)
    refused(f, Erase((0,), overwritten_by=2), "it is certainly overwritten later (Refuted)")
    g = program("A[0] = 1\nfor k in range(2):\n    T.assume(C[0] > 3)\nif C[0] > 3:\n    A[0] = 2", params)
    accepted(g, Erase((0,), overwritten_by=2))
