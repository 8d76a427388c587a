"""One expression for another: equal, as defined, as safe, under the facts of its place."""

from __future__ import annotations

import pytest

from tests.kernel.programs import AB, buffer, gives, load, program, refused, variable
from verified_tir.ir.expr import FloatImm, IfThenElse, Select, Undef, Var
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import substitute
from verified_tir.schedule.edits import rewritten

ABN = AB + ", n: T.int32"
FG = 'F: T.Buffer((4,), "float32"), G: T.Buffer((4,), "float32")'


def test_rewrite() -> None:
    f = program("for i in range(4):\n    B[i] = A[i // 4 + i % 4]")
    i = variable(f, "i")
    gives(f, rewritten((0,), (0, 0), i), "for i in range(4):\n    B[i] = A[i]")
    equal = "equal: i + 1 equals i // 4 + i % 4 (Refuted)"
    refused(f, rewritten((0,), (0, 0), i + 1), equal)


def test_a_new_expression_is_safe_where_the_old_one_was_evaluated() -> None:
    f = program("B[0] = T.Select(n > 0, A[0], 0)", ABN)
    a, n = buffer(f, "A"), variable(f, "n")
    lazy, eager = (kind(n > 0, load(a, 4 // n), const(0)) for kind in (IfThenElse, Select))
    refused(f, rewritten((), (0,), eager), "safety: 4 // n: no division by zero (Refuted)")
    refused(f, rewritten((), (0,), lazy), "safety: A[4 // n]: in bounds (Refuted)")


def test_a_new_expression_is_defined_where_the_old_one_was() -> None:
    f = program("B[0] = A[0]")
    a, b = buffer(f, "A"), buffer(f, "B")
    refused(f, rewritten((), (0,), Undef(b.dtype)), "equal")
    gives(program('B[0] = T.undef("int32")'), rewritten((), (0,), const(7)), "B[0] = 7")
    refused(f, rewritten((), (0,), Select(load(a, 1) > 0, load(a, 0), load(a, 0))), "equal")


def test_facts_about_memory() -> None:
    text = "for i in range(4):\n    A[i] = i * 2\n{}\nB[0] = A[3]"
    f = program(text.format("B[1] = 0"))
    gives(f, rewritten((2,), (0,), const(6)), "for i in range(4):\n    A[i] = i * 2\nB[1] = 0\nB[0] = 6")
    refused(program(text.format("A[3] = 0")), rewritten((2,), (0,), const(6)), "equal: 6 equals A[3] (Refuted)")
    refused(program(text.format("A[B[0]] = 0")), rewritten((2,), (0,), const(6)), "equal: 6 equals A[3]")


def test_floats() -> None:
    f = program("F[0] = G[0] * T.float32(1)", FG)
    g = buffer(f, "G")
    gives(f, rewritten((), (0,), load(g, 0)), "F[0] = G[0]")
    f = program("F[0] = G[0] + T.float32(0)", FG)
    refused(f, rewritten((), (0,), load(buffer(f, "G"), 0)), "equal: G[0] equals G[0] + T.float32(0.0) (Refuted)")
    f = program("F[0] = G[0] * T.float32(0)", FG)
    zero = FloatImm(buffer(f, "G").dtype, 0.0)
    refused(f, rewritten((), (0,), zero), "equal: T.float32(0.0) equals G[0] * T.float32(0.0) (Refuted)")


def test_data_that_wraps_is_not_unmasked() -> None:
    f = program('B[0] = T.Cast("int32", T.Cast("int64", n)) * 65536', ABN)
    refused(f, rewritten((), (0, 0), variable(f, "n")), "what wrapped would overflow")


def test_what_does_not_fit() -> None:
    f = program("for i in range(4):\n    B[i] = A[i]\nB[0] = 1")
    refused(f, rewritten((1,), (0,), variable(f, "i")), "variable i is not in scope")
    refused(f, rewritten((1,), (0,), FloatImm(load(buffer(f, "A"), 0).dtype.parse("float32"), 1.0)), "has type int32")
    refused(f, rewritten((1,), (5,), const(1)), "there is no such expression")


@pytest.mark.parametrize("names", [("x", "y", "n", "m"), ("a b", "c d", "float F32 a b", "float F32 c d")])
def test_a_number_is_not_the_number_of_a_float(names: tuple[str, ...]) -> None:
    """Where floats are numbered, no variable of the program is such a number, whatever it is called."""
    f = program("if n == m:\n    F[0] = x", FG + ", n: T.int32, m: T.int32, x: T.float32, y: T.float32")
    old = [variable(f, name) for name in "xynm"]
    renamed = {v: Var.fresh(name, v.type) for v, name in zip(old, names, strict=True)}
    f = substitute(f, renamed)
    refused(f, rewritten((0,), (0,), renamed[old[1]]), "equal: ")
