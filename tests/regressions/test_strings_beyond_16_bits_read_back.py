"""A string with a character beyond 16 bits was printed with JSON's two escapes, and read back as two characters."""

from __future__ import annotations

import pytest

from tests.parts.roundtrip import assert_round_trip
from verified_tir.ir.expr import TRUE, StringImm
from verified_tir.ir.script import parse_func, script
from verified_tir.ir.stmt import Assert

TEXT = """
@T.prim_func
def f(A: T.Buffer((1,), "int32")):
    assert A[0] == 0, "{message}"
"""


@pytest.mark.parametrize("message", ["\U0001f600", "é\U0001f600\u2028", "\U0010ffff"])
def test_messages_read_back(message: str) -> None:
    func = parse_func(TEXT.format(message=message))
    assert isinstance(func.body, Assert) and func.body.message == message
    assert_round_trip(func)
    assert script(func).isascii()


def test_the_text_of_one_character() -> None:
    assert script(StringImm("\U0001f600")) == '"\\U0001f600"'
    assert script(Assert(TRUE, "\u20ac\n")) == 'assert T.bool(True), "\\u20ac\\n"'
