"""A loop that runs once is its body, and the other way round."""

from __future__ import annotations

from tests.kernel.programs import AB, gives, program, refused, variable
from verified_tir.ir.expr import Var
from verified_tir.kernel.rules.unit import Unit, WrapUnit

ABN = AB + ", n: T.int32"


def test_unit() -> None:
    gives(program("for i in range(2, 3):\n    A[i] = i"), Unit(()), "A[2] = 2")
    known = program("T.assume(n == 3)\nfor i in range(n, n + 1):\n    A[i] = i", ABN)
    gives(known, Unit((1,)), "T.assume(n == 3)\nA[n] = n")
    once = "domain: the loop over i runs exactly once (Refuted)"
    refused(program("for i in range(n):\n    A[i] = i", ABN), Unit(()), once)
    refused(program("for i in range(2):\n    A[i] = i"), Unit(()), once)
    refused(program("A[0] = 1"), Unit(()), "not a loop")


def test_the_start_is_read_again() -> None:
    text = "for i in range(A[0], A[0] + 1):\n    {}[0] = 2\n    B[1] = i"
    refused(program(text.format("A")), Unit(()), "the body writes what the loop's start reads")


def test_wrap_unit() -> None:
    o = Var.fresh("o")
    gives(program("A[0] = 1"), WrapUnit((), o), "for o in range(1):\n    A[0] = 1")
    f = program("for i in range(2):\n    A[i] = 1")
    refused(f, WrapUnit((), variable(f, "i")), "not a fresh integer")
    refused(f, WrapUnit((), Var.fresh("x", "float32")), "not a fresh integer")
