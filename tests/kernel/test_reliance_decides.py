"""On what more depends than the value that is stored: whatever a sum in another order may not change."""

from __future__ import annotations

import pytest

from tests.kernel.programs import program
from verified_tir.kernel.obligation import Discharged
from verified_tir.kernel.reliance import decides, on_results
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.logic.verdict import Obligation, Proved

PARAMS = 'F: T.Buffer((4,), "float32"), D: T.Buffer((8,), "int32"), A: T.Buffer((4,), "float32")'
PARAMS += ', E: T.Buffer((4,), "int32"), n: T.int32'
SUM = "for k in range(4):\n    F[0] = F[0] + A[k]\n"
RESULT = 'T.Cast("int32", F[0])'


@pytest.mark.parametrize(
    "text",
    [
        "if {0} > 0:\n    A[1] = T.float32(0)",
        "while {0} > 7:\n    A[1] = T.float32(0)",
        "assert {0} > 0, 'no'",
        "T.assume({0} > 0)",
        "for i in range({0}):\n    A[1] = T.float32(0)",
        "for i in range({0}, 3):\n    A[1] = T.float32(0)",
        "A[{0}] = T.float32(0)",
        "A[1] = A[{0}]",
        "A[0:4] = A.vload([T.Ramp(0, 1, 4)], predicate=T.Broadcast({0}, 4) > T.Ramp(0, 1, 4))",
        "A.vstore([T.Ramp({0}, 1, 2)], T.Broadcast(A[1], 2), predicate=T.Ramp(0, 1, 2) < T.Broadcast(n, 2))",
        "x: T.let[T.int32] = {0}\nv = T.decl_buffer((2,), 'float32', data=A.data, strides=(x,))\nA[1] = T.float32(0)",
        "x: T.let[T.int32] = {0}\nt = T.alloc_buffer((x,), 'int32')\nA[1] = T.float32(0)",
        "x: T.let[T.int32] = {0}\nv = T.decl_buffer((2,), 'float32', data=A.data, elem_offset=x)\nA[1] = T.float32(0)",
        "D[0] = T.if_then_else({0} > 0, 1, 2)",
        "D[0] = T.Select({0} > 0, 1, 2)",
        "D[0] = T.Select({0} > 0 and n > 0, 1, 2)",
        "D[0] = {0} // n",
        "D[0] = n // {0}",
        "D[0] = n % {0}",
        "D[0] = T.truncdiv(n, {0})",
        "D[0] = T.truncmod(n, {0})",
        "D[0] = n << {0}",
        "D[0] = n >> {0}",
        "D[0] = T.Let(T.Select(x > 0, 1, 2), where={{x: {0}}})",
        "D[0] = T.Let(E[0], where={{x: T.Let(n >> y, where={{y: {0}}})}})",
    ],
)
def test_a_result_decides(text: str) -> None:
    assert decides(program(SUM + text.format(RESULT), PARAMS))
    assert not decides(program(SUM + text.format("E[0]"), PARAMS))


@pytest.mark.parametrize("text", ["D[0] = {0}", "D[0] = {0} * n + 1", "A[1] = F[0] / A[2]", "D[0] = {0} << 2",
                                  "D[0] = T.Let(x + 1, where={{x: {0}}})"])  # fmt: skip
def test_a_result_that_is_stored_decides_nothing(text: str) -> None:
    assert not decides(program(SUM + text.format(RESULT), PARAMS))


def test_an_opaque_call_decides_and_writing_nothing_does_not() -> None:
    assert decides(program("T.evaluate(T.call_extern('int32', 'g', F.data))", PARAMS))
    assert decides(program("T.evaluate(T.call_extern('int32', 'g'))", PARAMS))
    assert not decides(program("T.evaluate(E[0])", PARAMS))
    assert not decides(program("x: T.let[T.int32] = E[0]\nT.evaluate(x)", PARAMS))


F32 = "F32"


def of(block: str, sort: str = F32) -> Term:
    """The element 0 of the second version of a block."""
    return f.app(f"{block}@2", (f.integer(0),), sort)


@pytest.mark.parametrize(
    ("given", "used"),
    [
        (f.fp("fp.add", F32, of("F"), of("A")), True),
        (f.fp("fp.add", F32, f.var("F!7", F32), of("A")), True),
        (of("F"), False),  # the element itself: equalities hold in every order
        (f.fp("fp.add", F32, of("A"), of("A")), False),  # the program does not store to A
        (f.fp("fp.add", F32, f.convert("fp.from_int", of("D", f.INT), F32), of("A")), False),  # integers are exact
        (f.fp_round("RTZ", of("A")), False),  # a way of rounding is no buffer, whatever that one is called
        (f.fp_round("RTZ", of("RTZ")), True),
    ],
)
def test_operations_on_computed_floats_use_their_bits(given: Term, used: bool) -> None:
    params = PARAMS + ', RTZ: T.Buffer((1,), "float32")'
    func = program(SUM + "RTZ[0] = F[0]\nD[0] = E[0]", params)
    claim = Obligation("n", "the claim", (f.eq(given, of("A")),), f.FALSE)
    assert on_results([Discharged(claim, Proved())], func) == ("the claim" if used else None)
