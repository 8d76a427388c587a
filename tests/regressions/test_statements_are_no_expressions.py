"""Found by a campaign: ``+T.assume(c)`` was read as an opaque call, and printed as the assumption that it is not.

Finding: parser | reads-back-as-another | script
"""

from __future__ import annotations

import pytest

from verified_tir import parse_func, script
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.script import ScriptError
from verified_tir.ir.stmt import Assume

TEXT = """
@T.prim_func
def f(A: T.Buffer((4,), "int32")):
    {0}
    A[0] = 1
"""


@pytest.mark.parametrize(
    "call",
    [
        "+T.assume(A[0] == 0)",
        "T.evaluate(T.evaluate(1))",
        'T.evaluate(T.attr(A.data, "x", 1))',
        "T.evaluate(T.reads(A[0]))",
        '+T.launch_thread("threadIdx.x", 4)',
        '+T.Assert(A[0] == 0, "x")',
        "A[1] = T.assume(A[0] == 0)",
    ],
)
def test_they_stand_alone(call: str) -> None:
    with pytest.raises(ScriptError, match="is a statement of its own"):
        parse_func(TEXT.format(call))


def test_an_assumption_may_stand_in_evaluate() -> None:
    func = parse_func(TEXT.format("T.evaluate(T.assume(A[0] == 0))"))
    assert structural_equal(func, parse_func(TEXT.format("T.assume(A[0] == 0)")))
    assert any(isinstance(s, Assume) for s in func.body.stmts)  # type: ignore[attr-defined]


def test_other_calls_are_opaque_as_before() -> None:
    func = parse_func(TEXT.format("T.evaluate(T.touch(1))"))
    assert structural_equal(func, parse_func(script(func)))
