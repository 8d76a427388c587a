"""What is computed of indices alone did not count, so that loops of a billion iterations that do nothing else went on
and on, however few operations were allowed."""

from __future__ import annotations

import pytest

from verified_tir import parse_func
from verified_tir.ir.func import PrimFunc
from verified_tir.validate import Equal, Unknown, validate

CALL = 'T.evaluate(T.call_extern("int32", "g", A[0]))'
BESIDE = f"""\
    {CALL}
    for i in range({{}}):
        if i * 2 == {{}}:
            B[0] = A[0]
"""
INSIDE = f"""\
    for i in range({{}}):
        if i * 2 == {{}}:
            {CALL}
"""


def program(body: str, extent: int, number: int) -> PrimFunc:
    head = '@T.prim_func\ndef f(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):\n'
    return parse_func(head + body.format(extent, number))


@pytest.mark.parametrize(("body", "few", "many"), [(BESIDE, 10**5, 10**8), (INSIDE, 500, 10**6)])
def test_loops_of_indices_alone_are_counted(body: str, few: int, many: int) -> None:
    for extent, kind in ((few, Equal), (many, Unknown)):
        pair = [program(body, extent, number) for number in (9, 11)]
        report = validate(*pair, most_operations=20_000)
        assert isinstance(report.verdict, kind)
    assert "more than 20000 operations" in str(report.verdict) or "opaque" in str(report.verdict)
