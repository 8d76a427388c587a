"""A loop that runs once is its body, and the other way round."""

from __future__ import annotations

from tests.kernel.programs import AB, accepted, gives, program, refused, variable
from verified_tir.ir.expr import Var
from verified_tir.ir.visit import bound_vars
from verified_tir.ir.wellformed import problem
from verified_tir.kernel.rules.unit import Unit, Unroll, WrapUnit

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


def test_unroll() -> None:
    f = program(
        "for i in range(1, 4):\n    A[i * 2 - 2] = i + B[i]", 'A: T.Buffer((8,), "int32"), B: T.Buffer((4,), "int32")'
    )
    gives(f, Unroll(()), "A[0] = 1 + B[1]\nA[2] = 2 + B[2]\nA[4] = 3 + B[3]")
    gives(program("for i in T.unroll(1):\n    A[i] = i"), Unroll(()), "A[0] = 0")
    gives(program("for i in range(-1, 1):\n    A[i + 1] = i // 2"), Unroll(()), "A[0] = -1\nA[1] = 0")
    no = "not a loop with a constant start and a positive constant extent"
    refused(program("for i in range(0):\n    A[i] = i"), Unroll(()), no)
    refused(program("for i in range(n):\n    A[i] = i", ABN), Unroll(()), no)
    refused(program("for i in range(n, n + 2):\n    A[i] = i", ABN), Unroll(()), no)


def test_each_copy_has_its_own_variables() -> None:
    text = """
for i in range(2):
    t = T.alloc_buffer((1,), "int32")
    for j in range(2):
        t[0] = j
        A[i] = t[0]
"""
    one = accepted(program(text), Unroll(()))
    assert problem(one) is None
    bound = bound_vars(one.body)
    assert [v.name for v in bound].count("j") == 2
    assert [v.name for v in bound].count("t") == 2


def test_what_overflowed_still_does() -> None:
    f = program("for i in range(2):\n    A[(i + 2147483647) * 0] = 1")
    gives(f, Unroll(()), "A[0] = 1\nA[T.Add(1, 2147483647) * 0] = 1")
