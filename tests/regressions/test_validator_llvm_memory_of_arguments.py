"""The validator of LLVM IR took what ``memory(…)`` says of several places as if it were said of any of them:
``memory(write, argmem: read)`` as allowing to write what arguments point to.

Finding: validator | undefined-missed | memory of arguments
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
declare i32 @vtir_parallel(ptr, ptr, i64, i64, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare <1 x i32> @llvm.masked.gather.v1i32.v1p0(<1 x ptr>, <1 x i1>, <1 x i32>)
declare void @llvm.masked.scatter.v1i32.v1p0(<1 x i32>, <1 x ptr>, <1 x i1>)
declare ptr @malloc(i64)
declare void @free(ptr)
define i32 @vtir_kernel(ptr %A, ptr %B) {outer} {{
  {call}
  ret i32 0
}}
define internal void @f(ptr %p, ptr %q) {inner} {{
{body}
  ret void
}}
define internal void @g(ptr %p, ptr %q) {{
  %v = load i32, ptr %p, align 4
  store i32 %v, ptr %q, align 4
  ret void
}}
define internal void @h(ptr %c) {inner} {{
  %p = load ptr, ptr %c, align 8
  %d = getelementptr i8, ptr %c, i64 8
  %q = load ptr, ptr %d, align 8
  %v = load i32, ptr %p, align 4
  store i32 %v, ptr %q, align 4
  ret void
}}
define internal i32 @part(ptr %c, i64 %low, i64 %high) {inner} {{
  call void @h(ptr %c)
  ret i32 0
}}
"""
CALL = "call void @f(ptr %A, ptr %B)"
PAIR = """%c = alloca [2 x ptr], align 8
  store ptr %A, ptr %c, align 8
  %d = getelementptr i8, ptr %c, i64 8
  store ptr %B, ptr %d, align 8
  """
DIRECT = "  %v = load i32, ptr %p, align 4\n  store i32 %v, ptr %q, align 4"
THROUGH = "  call void @g(ptr %p, ptr %q)"
MEMCPY = "  call void @llvm.memcpy.p0.p0.i64(ptr %q, ptr %p, i64 4, i1 false)"
OWN = """\
  %a = {memory}
  call void @llvm.memcpy.p0.p0.i64(ptr %a, ptr %p, i64 4, i1 false)
  %v = load i32, ptr %a, align 4
  store i32 %v, ptr %q, align 4"""
LOADED = """\
  %a = alloca ptr, align 8
  store ptr %q, ptr %a, align 8
  %r = load ptr, ptr %a, align 8
  %v = load i32, ptr %p, align 4
  store i32 %v, ptr %r, align 4"""
NUMBER = """\
  %i = ptrtoint ptr %q to i64
  %v = load i32, ptr %p, align 4
  call void @n(i64 %i, i32 %v)"""
STORES = """\
define internal void @n(i64 %i, i32 %v) {
  %p = inttoptr i64 %i to ptr
  store i32 %v, ptr %p
  ret void
}"""
SCATTERED = """\
  %s = insertelement <1 x ptr> poison, ptr %p, i64 0
  %t = insertelement <1 x ptr> poison, ptr %q, i64 0
  %v = call <1 x i32> @llvm.masked.gather.v1i32.v1p0(<1 x ptr> %s, <1 x i1> <i1 true>, <1 x i32> poison)
  %w = add <1 x i32> %v, zeroinitializer
  call void @llvm.masked.scatter.v1i32.v1p0(<1 x i32> %w, <1 x ptr> %t, <1 x i1> <i1 true>)"""
STACK, HEAP = (OWN.format(memory=memory) for memory in ("alloca i32, align 4", "call ptr @malloc(i64 4)"))


def verdict(body: str = DIRECT, inner: str = "", outer: str = "", call: str = CALL, more: str = "") -> Verdict:
    text = TEXT.format(body=body, inner=inner, outer=outer, call=call) + STORES + more
    return validate_llvm(parse_func(COPY), text).verdict


@pytest.mark.parametrize("body", [DIRECT, THROUGH, MEMCPY, STACK, SCATTERED])
@pytest.mark.parametrize("memory", ["write, argmem: read", "read, argmem: write", "readwrite, argmem: none"])
def test_what_arguments_point_to_is_excluded(body: str, memory: str) -> None:
    found = verdict(body, f"memory({memory})")
    assert isinstance(found, (Different, Unknown)) and "declared to" in str(found), found
    if body == DIRECT:
        assert isinstance(found, Different)
    outer = verdict(body, outer=f"memory({memory})")
    assert not isinstance(outer, Equal) and "declared to" in str(outer)


@pytest.mark.parametrize("body", [DIRECT, MEMCPY, STACK, HEAP, SCATTERED])
@pytest.mark.parametrize(
    "memory", ["argmem: readwrite", "read, argmem: readwrite", "readwrite, inaccessiblemem: none, errnomem: none"]
)  # fmt: skip
def test_what_arguments_point_to_is_allowed(body: str, memory: str) -> None:
    found = f"memory({memory})"
    assert isinstance(verdict(body, found), Equal)
    assert isinstance(verdict(body, found, found), Equal)


def test_addresses_that_come_from_memory() -> None:
    """They may have been arguments, and perhaps they were not."""
    call = PAIR + "call void @h(ptr %c)"
    for memory in ("readwrite, target_mem0: none", "read, argmem: readwrite", "readwrite, argmem: read"):
        found = verdict(inner=f"memory({memory})", call=call)
        assert isinstance(found, Equal if "target" in memory else Unknown), found
    for body in (LOADED, NUMBER):
        found = verdict(body, "memory(readwrite, argmem: read)")
        assert isinstance(found, Unknown), found
        assert isinstance(verdict(body), Equal)


def test_a_context_that_is_read_and_results_that_are_written() -> None:
    """What LLVM says of a part of a parallel loop that only stores."""
    constant = TEXT.replace("load i32, ptr %p, align 4\n  store i32 %v, ptr %q", "add i32 3, 4\n  store i32 %v, ptr %q")
    call = PAIR + "%s = call i32 @vtir_parallel(ptr @part, ptr %c, i64 0, i64 1, i64 1)"
    func = parse_func(COPY.replace("B[0] = A[0]", "B[0] = 7"))
    for memory, kind in (("write, argmem: readwrite", Equal), ("argmem: readwrite", Unknown), ("read", Different)):
        text = constant.format(body=DIRECT, inner=f"memory({memory})", outer="", call=call)
        assert isinstance(validate_llvm(func, text).verdict, kind), memory


def test_a_call_that_says_it_itself() -> None:
    more = "\nattributes #7 = { memory(readwrite, argmem: none) }\n"
    found = verdict(call=CALL + " #7", more=more)
    assert isinstance(found, Unknown) and "of a call" in found.reason
    assert isinstance(verdict(call=CALL + " #7", more=more.replace("argmem", "inaccessiblemem")), Equal)
