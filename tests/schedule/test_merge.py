"""merge: loops of nests that stand side by side, with the loops around them."""

from __future__ import annotations

import pytest

from tests.schedule.schedule_support import Steps, accepted, not_applicable, refused
from verified_tir import Schedule

NESTS = """
@T.prim_func
def nests(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4, 6), "float32"), D: T.Buffer((4, 6), "float32")):
    B = T.alloc_buffer((4, 6), "float32")
    for i, j in T.grid(4, 6):
        with T.block("B"):
            B[i, j] = A[i, j] * T.float32(2)
    for k, l in T.grid(4, 6):
        with T.block("C"):
            C[k, l] = B[{read}] + T.float32(1)
    for m, n in T.grid(4, {last}):
        with T.block("D"):
            D[m, n] = B[m, n] + T.float32(2)
"""


def nests(read: str = "k, l", last: int = 6) -> str:
    return NESTS.format(read=read, last=last)


def body(s: Schedule) -> str:
    return s.script().split("):\n", 1)[1].rstrip("\n")


def test_the_loops_around_are_merged_too_and_no_loop_inside() -> None:
    s = accepted(nests(), lambda s: s.merge("i", "k", "m"))
    assert (
        body(s)
        == """\
    B = T.alloc_buffer((4, 6), "float32")
    for i in range(4):
        for j in range(6):
            with T.sblock("B"):
                B[i, j] = A[i, j] * T.float32(2.0)
        for l in range(6):
            with T.sblock("C"):
                C[i, l] = B[i, l] + T.float32(1.0)
        for n in range(6):
            with T.sblock("D"):
                D[i, n] = B[i, n] + T.float32(2.0)"""
    )
    s = accepted(nests(), lambda s: s.merge("j", "l", "n"))
    assert (
        body(s)
        == """\
    B = T.alloc_buffer((4, 6), "float32")
    for i, j in T.grid(4, 6):
        with T.sblock("B"):
            B[i, j] = A[i, j] * T.float32(2.0)
        with T.sblock("C"):
            C[i, j] = B[i, j] + T.float32(1.0)
        with T.sblock("D"):
            D[i, j] = B[i, j] + T.float32(2.0)"""
    )


def test_all_handles_mean_the_merged_loop() -> None:
    s = Schedule(nests())
    i, j, k, l, *_ = s.loops()
    merged = s.merge(j, l)
    assert merged is j
    s.split(l, [2, 3])
    assert [v.name for v in s.loops("C")] == ["i", "j_0", "j_1"]
    s.parallel(k)
    assert i in s.loops()


def test_what_an_earlier_iteration_needs_of_a_later_one_is_in_the_way() -> None:
    refused(nests("3 - k, l"), lambda s: s.merge("i", "k"), "condition 1: what the first loop writes")
    accepted(nests("k, 5 - l"), lambda s: s.merge("i", "k"))
    refused(nests("k, 5 - l"), lambda s: s.merge("j", "l"), "condition 1: what the first loop writes")


@pytest.mark.parametrize(
    ("program", "steps", "words"),
    [
        (nests(), lambda s: s.merge("i"), "merge takes at least two loops"),
        (nests(), lambda s: s.merge(), "merge takes at least two loops"),
        (nests(), lambda s: s.merge("i", "i"), "a loop is named twice"),
        (nests(), lambda s: s.merge("i", "j"), "do not stand in nests side by side"),
        (nests(), lambda s: s.merge("i", "l"), "the loop over i is number 1 of its nest, that over l number 2"),
        (nests(), lambda s: (s.merge("i", "k"), s.merge("j", "n")),
         "the loop over j is not the only statement of the loop around it"),
        (nests(), lambda s: s.merge("i", "x"), "there is no loop called 'x'"),
        (nests(), lambda s: s.merge("k", "i"), "the loop over i comes before the loop over k"),
    ],
)  # fmt: skip
def test_arguments_that_make_no_sense(program: str, steps: Steps, words: str) -> None:
    not_applicable(program, steps, words)


def test_ranges_that_differ() -> None:
    refused(nests(last=4), lambda s: s.merge("l", "n"), "every new iteration is an old one")
