"""The validator of LLVM IR took ``llvm.ldexp`` for a product of two powers of two, which it is only for the arguments
that it has in expansions: ``ldexp(x, 256)`` for ``x * inf * inf``.

Finding: validator | equal-but-differs | ldexp
"""

from __future__ import annotations

import re

import pytest

from verified_tir import parse_func
from verified_tir.codegen.emit import emit
from verified_tir.codegen.target import Target
from verified_tir.validate.llvm import validate_llvm
from verified_tir.validate.verdict import Different, Equal, Unknown, Verdict

PROGRAM = """
@T.prim_func
def f(A: T.Buffer((2,), "float32"), N: T.Buffer((2,), "int32"), B: T.Buffer((2,), "float32")):
    for i in range({count}):
        B[i] = {value}
"""
TEXT = """
declare float @llvm.ldexp.f32.i32(float, i32)
define i32 @vtir_kernel(ptr %A, ptr %N, ptr %B) {{
  %a = load float, ptr %A, align 4
  %n = load i32, ptr %N, align 4
  %r = call float @llvm.ldexp.f32.i32(float {x}, i32 {n})
  store float %r, ptr %B, align 4
  ret i32 0
}}
"""
POWER = 'T.reinterpret("float32", ({} + 127) << 23)'
TWO_STEPS = f"A[i] * {POWER.format('(N[i] >> 1)')} * {POWER.format('(N[i] - (N[i] >> 1))')}"
SCALES = Target("x86_64-unknown-linux-gnu", "skylake-avx512", "+avx512f,+avx512dq,+avx512vl,+f16c,+fma")


def verdict(value: str, x: str = "%a", n: str = "%n") -> Verdict:
    func = parse_func(PROGRAM.format(value=value, count=1))
    return validate_llvm(func, TEXT.format(x=x, n=n)).verdict


def test_a_product_that_is_nan_for_zero() -> None:
    found = verdict('A[i] * T.float32("inf") * T.float32("inf")', n="256")
    assert isinstance(found, Different) and found.element == "B[0]"


def test_a_product_that_is_rounded_twice() -> None:
    assert isinstance(verdict(TWO_STEPS), (Different, Unknown))
    assert isinstance(verdict("A[i] * T.float32(0.25)", n="-2"), Unknown), "what is known of ldexp is what it is called"


def test_a_function_that_is_called_so() -> None:
    assert isinstance(verdict("T.ldexp(A[i], N[i])"), Unknown)


@pytest.mark.parametrize(
    "value, x, n",
    [
        ("12.0", "3.0", "2"),
        ("inf", "1.0", "2147483647"),
        ("-0.0", "-1.0", "-2147483648"),
        ("nan", "0x7FF8000000000000", "1"),
        ("0.0", "0.0", "5000"),
        ("1.1754943508222875e-38", "0x3FEFFFFFE0000000", "-126"),
        ("2.0", "0x36A0000000000000", "150"),
    ],
)
def test_numbers(value: str, x: str, n: str) -> None:
    """Rounded once, also below the normal numbers."""
    found = verdict(f'T.float32("{value}")' if value in ("inf", "nan") else f"T.float32({value})", x, n)
    assert isinstance(found, Equal)
    assert not isinstance(verdict("T.float32(7.0)", x, n), Equal)


@pytest.mark.parametrize("call", ["exp", "exp2", "sigmoid", "cosh"])
def test_expansions(call: str) -> None:
    func = parse_func(PROGRAM.format(value=f"T.{call}(A[i])", count=2))
    text = emit(func, SCALES).text
    assert "@llvm.ldexp." in text
    assert isinstance(validate_llvm(func, text).verdict, Equal)
    wrong, times = re.subn(r"(@llvm\.ldexp\.\S+\(\w+) %\w+", r"\1 3.0", text, count=1)
    assert times
    assert not isinstance(validate_llvm(func, wrong).verdict, Equal)
