"""Unrolled loops; a loop that runs once is its body, and the other way round, which reindexing does."""

from __future__ import annotations

from tests.kernel.programs import AB, accepted, gives, gives_folded, program, refused, variable
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Var
from verified_tir.ir.visit import bound_vars
from verified_tir.ir.wellformed import problem
from verified_tir.schedule import moves
from verified_tir.schedule.rule_builders import in_a_loop, moved, run_once

ABN = AB + ", n: T.int32"


def test_unit() -> None:
    gives(program("for i in range(2, 3):\n    A[i] = i"), run_once(()), "A[2] = 2")
    known = program("T.assume(n == 3)\nfor i in range(n, n + 1):\n    A[i] = i", ABN)
    gives(known, run_once((1,)), "T.assume(n == 3)\nA[n] = n")
    some = "bijection: every new iteration is an old one of (i) (Refuted)"
    refused(program("for i in range(n):\n    A[i] = i", ABN), run_once(()), some)
    refused(program("for i in range(0):\n    A[i] = i"), run_once(()), some)
    each = "bijection: each old iteration is run as itself (Refuted)"
    refused(program("for i in range(2):\n    A[i] = i"), run_once(()), each)
    refused(program("A[0] = 1"), run_once(()), "not a loop")


def test_the_start_is_read_again() -> None:
    text = "for i in range(A[0], A[0] + 1):\n    {}[0] = 2\n    B[1] = i"
    refused(program(text.format("A")), run_once(()), "the body writes what bounds or guards read")


def test_a_start_that_is_data_was_evaluated_before() -> None:
    text = "if A[0] < 4:\n    for i in range(A[0], A[0] + 1):\n        B[1] = i"
    gives(program(text), run_once((0,)), "if A[0] < 4:\n    B[1] = A[0]")


def test_the_extent_is_read_once() -> None:
    text = "T.assume(A[0] == 1)\n{}A[{}] = 2"
    gives(program(text.format("for i in range(A[0]):\n    ", "i")), run_once((1,)), text.format("", "0"))


def test_wrap_unit() -> None:
    o = Var.fresh("o")
    gives(program("A[0] = 1"), in_a_loop((), o), "for o in range(1):\n    A[0] = 1")
    f = program("for i in range(2):\n    A[i] = 1")
    refused(f, in_a_loop((), variable(f, "i")), "is bound twice")
    refused(f, in_a_loop((), Var.fresh("x", DType.parse("float32"))), "loop x of type float32")


def test_unroll() -> None:
    f = program(
        "for i in range(1, 4):\n    A[i * 2 - 2] = i + B[i]", 'A: T.Buffer((8,), "int32"), B: T.Buffer((4,), "int32")'
    )
    gives_folded(f, moves.unroll(()), "A[0] = 1 + B[1]\nA[2] = 2 + B[2]\nA[4] = 3 + B[3]")
    gives(program("for i in T.unroll(1):\n    A[i] = i"), moves.unroll(()), "A[0] = 0")
    gives_folded(program("for i in range(-1, 1):\n    A[i + 1] = i // 2"), moves.unroll(()), "A[0] = -1\nA[1] = 0")
    no = "not a loop with a constant start and a positive constant extent"
    refused(program("for i in range(0):\n    A[i] = i"), moves.unroll(()), no)
    refused(program("for i in range(n):\n    A[i] = i", ABN), moves.unroll(()), no)
    refused(program("for i in range(n, n + 2):\n    A[i] = i", ABN), moves.unroll(()), no)


def test_each_copy_has_its_own_variables() -> None:
    text = """
for i in range(2):
    t = T.alloc_buffer((1,), "int32")
    for j in range(2):
        t[0] = j
        A[i] = t[0]
"""
    one = accepted(program(text), moves.unroll(()))
    assert problem(one) is None
    bound = bound_vars(one.body)
    assert [v.name for v in bound].count("j") == 2
    assert [v.name for v in bound].count("t") == 2


def test_what_overflowed_still_does() -> None:
    f = program("for i in range(2):\n    A[(i + 2147483647) * 0] = 1")
    gives_folded(f, moves.unroll(()), "A[0] = 1\nA[T.Add(1, 2147483647) * 0] = 1")


def test_a_place_that_there_is_not() -> None:
    f = program("for i in range(1):\n    B[i] = 1")
    for builder in (run_once((7,)), moved((7,), "hoist"), in_a_loop((7,), Var.fresh("k"))):
        refused(f, builder, "no statement at step 7")
