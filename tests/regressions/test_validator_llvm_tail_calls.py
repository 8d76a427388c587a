"""The validator of LLVM IR read ``tail`` and forgot it: that the function which is called accesses no alloca of the one
that calls it.

Finding: validator | undefined-missed | tail call
"""

from __future__ import annotations

import pytest

from verified_tir import parse_func
from verified_tir.validate.llvm import validate_llvm
from verified_tir.validate.verdict import Different, Equal, Unknown, Verdict

COPY = """
@T.prim_func
def f(A: T.Buffer((1,), "int32"), B: T.Buffer((1,), "int32")):
    B[0] = A[0]
"""
TEXT = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.lifetime.end.p0(ptr)
declare <1 x i32> @llvm.masked.load.v1i32.p0(ptr, <1 x i1>, <1 x i32>)
declare i32 @vtir_parallel(ptr, ptr, i64, i64, i64)
declare ptr @malloc(i64)
define i32 @vtir_kernel(ptr %A, ptr %B) {{
  %a = {memory}
  store i32 7, ptr %a, align 4
{body}
  %v = load i32, ptr %a, align 4
  store i32 %v, ptr %B, align 4
  ret i32 0
}}
define internal void @g(ptr %x, ptr %y) {{
  {inner} void @h(ptr %x, ptr %y)
  ret void
}}
define internal void @h(ptr %x, ptr %y) {{
  %v = load i32, ptr %y, align 4
  store i32 %v, ptr %x, align 4
  ret void
}}
define internal i1 @null(ptr %x) {{
  %n = icmp eq ptr %x, null
  ret i1 %n
}}
define internal i32 @part(ptr %x, i64 %low, i64 %high) {{
  store i32 7, ptr %x, align 4
  ret i32 0
}}
"""
STACK, HEAP = "alloca i32, align 4", "call ptr @malloc(i64 4)"
COPIES = [
    "call void @llvm.memcpy.p0.p0.i64(ptr %a, ptr %A, i64 4, i1 false)",
    "call void @g(ptr %a, ptr %A)",
    "call void %g(ptr %a, ptr %A)",
]


def verdict(body: str, memory: str = STACK, inner: str = "call") -> Verdict:
    body = "  %c = icmp eq ptr %a, null\n  %g = select i1 %c, ptr null, ptr @g\n  " + body
    return validate_llvm(parse_func(COPY), TEXT.format(body=body, memory=memory, inner=inner)).verdict


@pytest.mark.parametrize("call", COPIES)
def test_a_tail_call_that_fills_an_alloca(call: str) -> None:
    found = verdict("tail " + call)
    assert isinstance(found, Different) and "in a tail call" in str(found.after)
    for right in (call, "notail " + call):
        assert isinstance(verdict(right), Equal)
    assert isinstance(verdict("tail " + call, HEAP), Equal)


@pytest.mark.parametrize(
    "call",
    [
        "call void @h(ptr %B, ptr %a)",
        "call i32 @vtir_parallel(ptr @part, ptr %a, i64 0, i64 1, i64 1)",
        "call <1 x i32> @llvm.masked.load.v1i32.p0(ptr %a, <1 x i1> <i1 true>, <1 x i32> poison)",
    ],
)
def test_a_tail_call_that_reads_or_writes_an_alloca(call: str) -> None:
    copy = f"\n  {COPIES[1]}"
    result = "" if "void" in call else "%r = "
    found = verdict(f"{result}tail {call}{copy}")
    assert isinstance(found, Different) and "in a tail call" in str(found.after)
    assert isinstance(verdict(f"{result}{call}{copy}"), Equal)


@pytest.mark.parametrize("word", ["tail call", "musttail call", "call"])
def test_what_a_function_was_given_is_not_its_own(word: str) -> None:
    """The alloca is that of the kernel, whose own call is no tail call."""
    assert isinstance(verdict(COPIES[1], inner=word), Equal)


def test_a_tail_call_that_accesses_nothing() -> None:
    copy = f"\n  {COPIES[1]}"
    assert isinstance(verdict(f"%n = tail call i1 @null(ptr %a){copy}"), Equal)
    assert isinstance(verdict(f"tail call void @llvm.memset.p0.i64(ptr %a, i8 0, i64 0, i1 false){copy}"), Equal)
    assert isinstance(verdict(f"{copy}\n  tail call void @llvm.lifetime.end.p0(ptr %a)"), Unknown)
