"""LLVM IR: ``cttz`` of a zero that is promised not to be one had a result, though it is poison.

Finding: llvm | equal-but-undefined | cttz
"""

from __future__ import annotations

import pytest

from verified_tir import parse_func
from verified_tir.validate import Different, Equal
from verified_tir.validate.llvm import validate_llvm

PROGRAM = """
@T.prim_func
def f(B: T.Buffer((1,), "int32")):
    B[0] = {value}
"""
KERNEL = """
declare i32 @llvm.{name}.i32(i32, i1)
define i32 @vtir_kernel(ptr align 4 %B) {{
entry:
  %z = call i32 @llvm.{name}.i32(i32 {number}, i1 {poison})
  store i32 %z, ptr %B, align 4
  ret i32 0
}}
"""


@pytest.mark.parametrize("name", ["cttz", "ctlz"])
def test_zero_has_no_result_where_it_is_promised_not_to_be_there(name: str) -> None:
    program = parse_func(PROGRAM.format(value=32))
    for poison, verdict in (("false", Equal), ("true", Different)):
        found = validate_llvm(program, KERNEL.format(name=name, number=0, poison=poison)).verdict
        assert isinstance(found, verdict), found


def test_other_numbers_have_one() -> None:
    program = parse_func(PROGRAM.format(value=3))
    found = validate_llvm(program, KERNEL.format(name="cttz", number=8, poison="true")).verdict
    assert isinstance(found, Equal), found
