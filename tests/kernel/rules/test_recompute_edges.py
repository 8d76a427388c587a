"""What is repeated, where it is tight: each test is the smallest program that one forgotten condition accepts."""

from __future__ import annotations

from tests.kernel.programs import accepted, program, refused
from verified_tir.ir.expr import Var
from verified_tir.ir.sugar import const
from verified_tir.schedule.moves import NewLoop, recompute

NOT_EXPANDED = "its blocks are not expanded"
SECOND = """
t = T.alloc_buffer((1,), "int32")
t[0] = 0
{}
    {}
        {}B[0] = 7
    t[0] = 1
A[0] = 1
"""


def test_the_predicate_of_a_block_is_a_read() -> None:
    """The second run finds t[0] == 1, and stores to B what the first did not."""
    label, where = 'with T.sblock("b"):', 'with T.block("w"):'
    again = recompute((0, 2), (0, 1), (), (), ())
    refused(program(SECOND.format(label, where, "T.where(t[0] == 1)\n        ")), again, NOT_EXPANDED)
    expanded = SECOND.format(label, "if t[0] == 1:", "")
    refused(program(expanded), again, "the recomputed statement writes each element of t before it reads it")
    accepted(program(SECOND.format(label, "if B[1] == 1:", "")), again)


def test_what_appears_is_in_scope() -> None:
    f = program("B[0] = 1\nA[0] = 1")
    q = Var.fresh("q")
    found = refused(f, recompute((1,), (0,), (NewLoop(Var.fresh("y"), const(0), q),), (), ()), "q is not in scope here")
    assert found.reason == "there is no theorem about the result: variable q is not in scope here"  # type: ignore[union-attr]


def test_a_vector_bound_around_the_source() -> None:
    f = program("for i in range(4):\n    v: {} = A[{}]\n    B[i] = 5\nA[0] = 3".format("T.int32", 0))
    again = recompute((1,), (0, 0, 0), (), (), (const(2),))
    accepted(f, again)
    f = program("for i in range(4):\n    v: {} = A[{}]\n    B[i] = 5\nA[0] = 3".format("T.int32x4", "0:4"))
    refused(f, again, "a vector has no value in the logic, but each of its lanes has")
