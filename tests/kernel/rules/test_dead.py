"""Stores that are overwritten, or stand where nobody looks: what may come in between."""

from __future__ import annotations

import pytest

from tests.kernel.programs import AB, accepted, buffer, gives, load, program, refused, store, variable
from verified_tir.ir.stmt import Seq
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.insert import Insert
from verified_tir.schedule.rule_builders import with_else

ABN = AB + ", n: T.int32"


@pytest.mark.parametrize(
    ("between", "wrong"),
    [
        ("B[0] = 1", ""),
        ("B[0] = A[1]", ""),
        ("B[0] = A[0]", "no later read sees it"),
        ('T.evaluate(T.call_extern("int32", "g", A.data))', "it is certainly overwritten later"),
        ('T.evaluate(T.call_extern("int32", "g"))', "it is certainly overwritten later"),
        ("assert B[0] > 0, 'no'", "it is certainly overwritten later"),
        ("while B[0] > 0:\n    B[0] = B[0] - 1", "it is certainly overwritten later"),
    ],
)
def test_what_comes_between_a_dead_store_and_what_overwrites_it(between: str, wrong: str) -> None:
    f = program(f"A[0] = 1\n{between}\nA[0] = 2")
    if wrong:
        refused(f, Erase((0,), overwritten_by=2), f"the store to A is dead: {wrong}")
    else:
        gives(f, Erase((0,), overwritten_by=2), f"{between}\nA[0] = 2")


@pytest.mark.parametrize(
    ("overwriting", "fine"),
    [("A[0] = 2", True), ("B[0] = A[0]", False), ("A[1] = 2", False), ("B[0] = 2", False), ("T.evaluate(A[0])", False)],
)
def test_an_overwriting_statement_writes(overwriting: str, fine: bool) -> None:
    f = program(f"A[0] = 1\n{overwriting}")
    accepted(f, Erase((0,), overwritten_by=1)) if fine else refused(
        f, Erase((0,), overwritten_by=1), "the store to A is dead"
    )


def test_in_the_other_branch_the_condition_is_false() -> None:
    f = program("T.assume(n >= -4 and n < 4)\nif n >= 0:\n    B[0] = 1\nA[0] = 1", ABN)
    a, n = buffer(f, "A"), variable(f, "n")
    f = accepted(f, with_else((1,)))
    accepted(f, Insert((1, 1), store(a, load(a, n + 4), n + 4)))
    refused(f, Insert((1, 1), store(a, load(a, n), n)), "safety: ")


@pytest.mark.parametrize(
    "text",
    ['T.evaluate(T.call_extern("int32", "g"))', 'A[0] = T.call_extern("int32", "g")', "assert A[0] > 0, 'no'",
     "while A[0] > 0:\n    A[0] = A[0] - 1", 'if A[0] > 0:\n    T.evaluate(T.call_extern("int32", "g"))'],
)  # fmt: skip
def test_what_others_could_notice_neither_comes_nor_goes(text: str) -> None:
    f = program(f"{text}\nA[0] = 1")
    for overwriting in (0, 1):
        refused(f, Erase((0,), overwriting), "an opaque call, an assert or a while loop cannot be erased")
    assert isinstance(f.body, Seq)
    added = f.body.stmts[0]
    g = f.with_body(f.body.stmts[1])
    for overwriting in (0, 1):
        refused(g, Insert((), added, "before", overwriting), "an opaque call, an assert or a while loop cannot be")


def test_an_else_takes_the_place_of_none() -> None:
    f = program("if n >= 0:\n    B[0] = 1\nelse:\n    B[0] = 2\nB[0] = 3", ABN)
    refused(f, with_else((0,)), "not an if without else")
    refused(f, with_else((1,)), "not an if without else")
    f = program("if n >= 0:\n    B[0] = 1\nB[0] = 3", ABN)
    f = accepted(f, with_else((0,)))
    refused(f, Insert((0, 1), store(buffer(f, "B"), 7, 0), "after", 1), "there are no 1 statements after this one")
