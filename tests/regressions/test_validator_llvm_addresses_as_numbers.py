"""The validator of LLVM IR lost an address that is declared ``readonly`` or ``writeonly`` where the code computed with
it as a number, or handed it to a function by its pointer or to the pool of threads.

Finding: validator | undefined-missed | addresses as numbers
"""

from __future__ import annotations

import pytest

from verified_tir import parse_func
from verified_tir.validate.llvm import validate_llvm
from verified_tir.validate.verdict import Equal, Unknown, Verdict

COPY = """
@T.prim_func
def f(A: T.Buffer((1,), "int32"), B: T.Buffer((1,), "int32")):
    B[0] = A[0]
"""
TEXT = """
declare i32 @vtir_parallel(ptr, ptr, i64, i64, i64)
define i32 @vtir_kernel(ptr %A, ptr %B) {{
  call void @f(ptr %A, ptr %B, i64 4)
  ret i32 0
}}
define internal void @f(ptr {from_} %p, ptr {to} %q, i64 %n) {{
{body}
  ret void
}}
define internal void @g(ptr %p, ptr %q) {{
  %v = load i32, ptr %p, align 4
  store i32 %v, ptr %q, align 4
  ret void
}}
define internal i32 @part(ptr %q, i64 %low, i64 %high) {{
  store i32 7, ptr %q, align 4
  ret i32 0
}}
"""
LOAD = "  %v = load i32, ptr %p, align 4\n"
STORE = "  store i32 %v, ptr %q, align 4\n"


def through_numbers(address: str, steps: str) -> str:
    return f"  %i = ptrtoint ptr %{address} to i64\n{steps}\n  %r = inttoptr i64 %j to ptr\n"


STEPS = [
    "  %j = add i64 %i, 0",
    "  %k = sub i64 %i, %n\n  %j = add i64 %n, %k",
    "  %k = trunc i64 %i to i1\n  %l = zext i1 %k to i64\n  %m = or i64 %i, %l\n  %j = and i64 %m, %i",
    "  %j = call i64 @llvm.umax.i64(i64 %i, i64 0)",
]
UMAX = "declare i64 @llvm.umax.i64(i64, i64)\n"


def verdict(body: str, from_: str = "", to: str = "") -> Verdict:
    return validate_llvm(parse_func(COPY), UMAX + TEXT.format(body=body, from_=from_, to=to)).verdict


def refused(found: Verdict) -> bool:
    return isinstance(found, Unknown) and "is handed on" in found.reason


@pytest.mark.parametrize("steps", STEPS)
def test_a_store_through_a_number(steps: str) -> None:
    body = LOAD + through_numbers("q", steps) + STORE.replace("%q", "%r")
    assert refused(verdict(body, to="readonly"))
    assert isinstance(verdict(body, from_="readonly"), Equal)


@pytest.mark.parametrize("steps", STEPS)
def test_a_load_through_a_number(steps: str) -> None:
    body = through_numbers("p", steps) + LOAD.replace("%p", "%r") + STORE
    assert refused(verdict(body, from_="writeonly"))
    assert isinstance(verdict(body, to="writeonly"), Equal)


def test_a_call_of_a_pointer() -> None:
    body = "  %c = icmp eq i64 %n, 4\n  %h = select i1 %c, ptr @g, ptr null\n  call void %h(ptr %p, ptr %q)"
    assert refused(verdict(body, to="readonly"))
    assert isinstance(verdict(body), Equal)


def test_a_parallel_loop() -> None:
    body = "  %s = call i32 @vtir_parallel(ptr @part, ptr %q, i64 0, i64 1, i64 1)\n" + LOAD + STORE
    assert refused(verdict(body, to="readonly"))
    assert isinstance(verdict(body), Equal)
    assert isinstance(verdict(body, from_="readonly"), Equal)
