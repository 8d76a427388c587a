"""Found by a campaign: TVM prints lanes of a negative stride as ``A[2:0:-1]``, which could not be read.

Finding: tvm | crash | ScriptError in ir/script/reader.py:_lanes
"""

from __future__ import annotations

import pytest

from verified_tir import parse_func, script
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.script import ScriptError

TEXT = """
@T.prim_func
def f(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    B[{0}] = A[{1}]
"""


@pytest.mark.parametrize(
    ("part", "ramp"),
    [("2:0:-1", "T.Ramp(2, -1, 2)"), ("7:-1:-1", "T.Ramp(7, -1, 8)"), ("7:0:-3", "T.Ramp(7, -3, 3)"), ("1:0:-1", "1")],
)
def test_the_lanes_are_those_of_python(part: str, ramp: str) -> None:
    func = parse_func(TEXT.format(part, part))
    assert structural_equal(func, parse_func(TEXT.format(ramp, ramp)))
    assert structural_equal(func, parse_func(script(func)))


@pytest.mark.parametrize("part", ["0:2:-1", "2:0", "2:2:-1", "0:2:0"])
def test_no_lane_is_refused(part: str) -> None:
    with pytest.raises(ScriptError):
        parse_func(TEXT.format(part, "0"))
