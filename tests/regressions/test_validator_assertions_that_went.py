"""Where an assertion ends the first program on every input, any other program was equal, vacuously: also one from which
the assertion was erased, and that then leaves its buffers."""

from __future__ import annotations

import pytest

from verified_tir import parse_func
from verified_tir.ir.func import PrimFunc
from verified_tir.validate import Equal, Unknown, validate
from verified_tir.validate.pairs import Budget, judge

PARAMS = 'A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32"), n: T.int32'
ASSERT, LOOP = 'assert n <= 3, "at most three"', "for i in range(n):\n        B[i] = A[i]"
CALL = 'T.evaluate(T.call_extern("int32", "g", {}))'


def program(*lines: str) -> PrimFunc:
    return parse_func("\n".join([f"@T.prim_func\ndef f({PARAMS}):", *["    " + line for line in lines]]))


@pytest.mark.parametrize("after", [(LOOP,), ("B[0] = A[0]",), ("B[4] = A[0]",)])
def test_an_assertion_is_not_erased(after: tuple[str, ...]) -> None:
    before = program(ASSERT, LOOP)
    assert isinstance(validate(before, program(*after), sizes={"n": 17}).verdict, Unknown)
    assert judge("f", before, program(*after), {}, Budget()).word in ("unknown", "different")


def test_both_programs_end() -> None:
    """What memory holds then is unspecified; what was called before was called."""
    before = program(ASSERT, LOOP)
    found = validate(before, program("B[0] = A[1]", ASSERT, LOOP), sizes={"n": 17}).verdict
    assert isinstance(found, Equal) and found.vacuous
    assert str(found) == "equal (vacuous: both programs end by the assertion 'at most three', on every input)"
    again = program(ASSERT, LOOP.replace("[i]", "[n - 1 - i]"))
    assert judge("f", before, again, {}, Budget()).word == "equal at sizes"
    calls = [program(*[CALL.format(k) for k in numbers], ASSERT, LOOP) for numbers in ((1, 2), (2, 1), (1, 2))]
    assert isinstance(validate(*calls[:2], sizes={"n": 17}).verdict, Unknown)
    assert isinstance(validate(calls[0], calls[2], sizes={"n": 17}).verdict, Equal)
