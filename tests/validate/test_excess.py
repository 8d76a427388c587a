"""Excess precision: bfloat16 that is computed in float32."""

import pytest

from verified_tir import parse_func, script
from verified_tir.ir.func import PrimFunc
from verified_tir.validate.excess import written
from verified_tir.validate.pairs import Budget, judge

PARAMS = 'A: T.Buffer((4,), "bfloat16"), C: T.Buffer((4,), "bfloat16"), B: T.Buffer((4,), "bfloat16")'


def program(value: str, local: str = "bfloat16", last: str = "L[i]"):
    body = f"""
@T.prim_func
def f({PARAMS}):
    L = T.alloc_buffer((4,), "{local}")
    for i in range(4):
        L[i] = {value}
    for i in range(4):
        B[i] = {last}
"""
    return parse_func(body)


def up(x: str) -> str:
    return f'T.reinterpret("float32", T.Cast("uint32", T.reinterpret("uint16", {x})) << T.uint32(16))'


def down(x: str) -> str:
    bits = f'T.reinterpret("uint32", {x})'
    odd = f"({bits} >> T.uint32(16) & T.uint32(1))"
    return f'T.reinterpret("bfloat16", T.Cast("uint16", {bits} + ({odd} + T.uint32(32767)) >> T.uint32(16)))'


def word(before, after, *, asked: bool = True, constants=()) -> str:
    return judge("f", before, after, {}, Budget(), excess_precision=asked, constants=constants).word


BEFORE = "A[i] * C[i] + A[i]"
WIDE = f"{up('A[i]')} * {up('C[i]')} + {up('A[i]')}"
EXCESS = "equal up to excess precision"


def test_what_is_computed_in_float32_is_equal_if_that_is_asked_for():
    after = program(WIDE, "float32", down("L[i]"))
    assert word(program(BEFORE), after) == EXCESS
    assert word(program(BEFORE), after, asked=False) != EXCESS
    assert word(program(BEFORE), program(BEFORE)) == "equal"


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "after",
    [
        program(WIDE.replace(" + ", " - "), "float32", down("L[i]")),
        program(WIDE.replace("C[i]", "A[i]"), "float32", down("L[i]")),
        program(WIDE, "float32", down("L[3 - i]")),
        program(WIDE, "float32", down("L[i]").replace("32767", "32768")),  # ties away from even
        program(WIDE, "float32", down("L[i]").replace("T.uint32(32767)", "T.uint32(0)")),  # truncation
        program(WIDE.replace("T.uint32(16)", "T.uint32(15)"), "float32", down("L[i]")),
        program(f"{WIDE} + T.float32(0.001)", "float32", down("L[i]")),
        program(f"{up('A[i]')} * {up('C[i]')}", "float32", down("L[i]")),
        program(WIDE, "float32", 'T.Cast("bfloat16", T.Cast("float16", L[i]))'),
    ],
)
def test_other_programs_are_not(after):
    assert word(program(BEFORE), after) not in (EXCESS, "equal", "equal over the reals", "equal in part")


def scaled(constant: float, *, wide: bool) -> PrimFunc:
    if wide:
        return program(f"{up('A[i]')} * T.float32({constant})", "float32", down("L[i]"))
    return program(f"A[i] * T.bfloat16({constant})")


def test_constants_as_they_were_written():
    before = scaled(0.1, wide=False)
    assert word(before, scaled(0.1, wide=True), constants={0.1}) == EXCESS
    assert word(before, scaled(0.10009765625, wide=True), constants={0.1}) == EXCESS
    assert word(before, scaled(0.11, wide=True), constants={0.1}) != EXCESS
    least = program("T.max(A[i], T.bfloat16(-3.4028234663852886e+38))")
    wide = program(f"T.max({up('A[i]')}, T.float32(-3.4028234663852886e+38))", "float32", down("L[i]"))
    assert word(least, wide, constants=written(script(least))) != EXCESS  # it is printed as -inf
    assert word(least, wide, constants={-3.4028234663852886e38}) == EXCESS
    other = program(f"T.max({up('A[i]')}, T.float32(-1e38))", "float32", down("L[i]"))
    assert word(least, other, constants={-3.4028234663852886e38}) != EXCESS


def test_bfloat16_in_an_opaque_call_is_not_widened():
    call = program('T.call_extern("bfloat16", "g", A[i])')
    wide = program(up('T.call_extern("bfloat16", "g", A[i])'), "float32", down("L[i]"))
    assert word(call, wide) != EXCESS
