"""What an opaque call is handed is evaluated: each part must be safe, also of what has no value in the logic."""

from __future__ import annotations

import pytest

from tests.kernel.programs import PROVER, buffer, program, why
from verified_tir.elaborate.claims import verify_program
from verified_tir.ir.dtype import HANDLE, INT32
from verified_tir.ir.expr import Call, LetExpr, Load, StringImm, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Evaluate
from verified_tir.ir.sugar import const

PARAMS = 'A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32"), n: T.int32'
LOCAL = "t = T.alloc_buffer((1,), 'int32')\n"


def found(func: PrimFunc) -> str:
    """What cannot be proved of a program; nothing if all is proved."""
    result = verify_program(func, PROVER)
    return "" if isinstance(result, tuple) else why(result)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("A.data, B.data", ""),
        ("A[0], n", ""),
        ("5 // n", "5 // n: no division by zero"),
        ("n, 5 // n", "5 // n: no division by zero"),
        ("A[n]", "A[n]: in bounds"),
        ("T.Ramp(5 // n, 1, 4)", "5 // n: no division by zero"),
        ("T.address_of(A[3])", ""),
        ("T.address_of(A[n])", "A[n]: in bounds"),
        ("T.address_of(A[5 // n])", "5 // n: no division by zero"),
        ("T.if_then_else(n > 0, A.data, B.data)", ""),
        ("T.if_then_else(5 // n > 0, A.data, B.data)", "5 // n: no division by zero"),
        ("T.if_then_else(n > 0, A.data, T.address_of(B[n]))", "B[n]: in bounds"),
        ("T.Select(5 // n > 0, A.data, B.data)", "5 // n: no division by zero"),
        ("T.Select(n > 0, A.data, T.address_of(B[n]))", "B[n]: in bounds"),
    ],
)
def test_what_is_evaluated(arguments: str, reason: str) -> None:
    said = found(program(f"T.evaluate(T.call_extern('int32', 'g', {arguments}))", PARAMS))
    assert reason in said and bool(reason) is bool(said), said


def test_a_choice_of_pointers_is_a_branch() -> None:
    for choice, reason in (("if_then_else", "t[0] > 0: a branch on undef (Refuted)"), ("Select", "")):
        text = f"{LOCAL}T.evaluate(T.call_extern('int32', 'g', T.{choice}(t[0] > 0, A.data, B.data)))"
        assert found(program(text, PARAMS)).endswith(reason)


@pytest.mark.parametrize(("index", "fine"), [(2, True), (9, False)])
def test_a_pointer_that_is_bound_on_the_way(index: int, *, fine: bool) -> None:
    f = program("B[0] = 1", PARAMS)
    v = Var.fresh("v")
    pointer = LetExpr(v, const(index), Call(HANDLE, "address_of", (Load(buffer(f, "A"), (v,)),)))
    said = found(f.with_body(Evaluate(Call(INT32, "call_extern", (StringImm("g"), pointer)))))
    assert said == "" if fine else "A[v]: in bounds (Refuted)" in said
