"""The validator of LLVM IR passed promises over: of what is captured, of functions that are only declared, of arguments
of intrinsics, and that a function does not recurse, free, synchronise, or do more than to compute.

Finding: validator | undefined-missed | promises unread
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
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i32 @llvm.abs.i32(i32, i1)
declare i32 @llvm.smax.i32(i32, i32)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define i32 @vtir_kernel(ptr %A, ptr %B) {{
  %a = alloca i64, align 8
  store i32 7, ptr %a, align 8
  %v = load i32, ptr %A, align 4
  {call}
  store i32 %v, ptr %B, align 4
  ret i32 0
}}
{more}
"""


def verdict(call: str = "", more: str = "") -> Verdict:
    return validate_llvm(parse_func(COPY), TEXT.format(call=call, more=more)).verdict


def refused(found: Verdict, what: str) -> bool:
    return isinstance(found, Unknown) and what in found.reason


# ----------------------------------------------------------------------------------------------------------- captures

KEEPS = {
    "ret": ("ptr", "ret ptr %p"),
    "store": ("void", "store ptr %p, ptr %q\n  ret void"),
    "gep": ("ptr", "%r = getelementptr i8, ptr %p, i64 0\n  ret ptr %r"),
    "number": ("i64", "%r = ptrtoint ptr %p to i64\n  ret i64 %r"),
    "compare": ("i1", "%r = icmp ult ptr %p, %q\n  ret i1 %r"),
    "call": ("void", "call void @keep(ptr %p, ptr %q)\n  ret void"),
    "pointer": ("void", "%r = load ptr, ptr %q\n  %c = icmp eq ptr %r, null\n  br i1 %c, label %x, label %y\nx:\n"
                "  ret void\ny:\n  call void %r(ptr %p)\n  ret void"),
}  # fmt: skip
USES = {
    "access": ("i32", "%r = load i32, ptr %p\n  store i32 %r, ptr %p\n  ret i32 %r"),
    "null": ("i1", "%r = icmp eq ptr %p, null\n  ret i1 %r"),
    "other": ("ptr", "ret ptr %q"),
    "call": ("void", "call void @use(ptr %p)\n  ret void"),
    "status": ("i32", "%r = call i32 @status(ptr %p)\n  %s = or i32 %r, 0\n  ret i32 %s"),
    "gather": (
        "float",
        "%s = insertelement <1 x ptr> poison, ptr %p, i64 0\n"
        "  %r = call <1 x i32> @llvm.masked.gather.v1i32.v1p0(<1 x ptr> %s, <1 x i1> <i1 true>, "
        "<1 x i32> poison)\n"
        "  call void @llvm.masked.scatter.v1i32.v1p0(<1 x i32> %r, <1 x ptr> %s, <1 x i1> <i1 true>)\n"
        "  ret float 0.0",
    ),
    "copy": ("void", "call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 4, i1 false)\n  ret void"),
}
HELPERS = """
define internal void @keep(ptr %p, ptr %q) {
  store ptr %p, ptr %q
  ret void
}
define internal void @use(ptr captures(none) %p) {
  store i32 1, ptr %p
  ret void
}
define internal i32 @status(ptr captures(none) %p) {
  %r = load i32, ptr %p
  ret i32 %r
}
declare <1 x i32> @llvm.masked.gather.v1i32.v1p0(<1 x ptr>, <1 x i1>, <1 x i32>)
declare void @llvm.masked.scatter.v1i32.v1p0(<1 x i32>, <1 x ptr>, <1 x i1>)
"""


def captures(kind: str, body: str, said: str) -> Verdict:
    more = f"{HELPERS}\ndefine internal {kind} @g(ptr {said} %p, ptr %q) {{\nentry:\n  {body}\n}}"
    result = "" if kind == "void" else "%g = "
    return verdict(f"%q = alloca ptr\n  store ptr null, ptr %q\n  {result}call {kind} @g(ptr %a, ptr %q)", more)


@pytest.mark.parametrize("name", KEEPS)
def test_what_captures_an_address(name: str) -> None:
    kind, body = KEEPS[name]
    assert refused(captures(kind, body, "captures(none)"), "not to be captured")
    assert isinstance(captures(kind, body, ""), Equal)
    allowed = {"ret": "ret: address, provenance", "gep": "ret: address, provenance", "compare": "address"}
    for said in set(allowed.values()):
        found = captures(kind, body, f"captures({said})")
        assert isinstance(found, Equal) if allowed.get(name) == said else refused(found, "not to be captured")
    assert isinstance(captures(kind, body, "captures(address, provenance)"), Equal)


@pytest.mark.parametrize("name", USES)
def test_what_uses_an_address_and_does_not_keep_it(name: str) -> None:
    assert isinstance(captures(*USES[name], "captures(none)"), Equal)


def test_a_call_that_says_it_itself() -> None:
    call = "call void @{}(ptr captures(none) %a{})"
    assert refused(verdict(call.format("keep", ", ptr %B"), HELPERS), "what a call promises")
    assert isinstance(verdict(call.format("use", ""), HELPERS), Equal)


# ------------------------------------------------------------------------------------- functions defined elsewhere

PARALLEL = "%s = call i32 @vtir_parallel(ptr @part, ptr %a, i64 0, i64 1, i64 2)"
PART = """
define internal i32 @part(ptr %c, i64 %low, i64 %high) {
  ret i32 0
}
"""


@pytest.mark.parametrize(
    "line, right",
    [
        ("i32 @vtir_parallel(ptr, ptr, i64, i64, i64) nounwind willreturn", True),
        ("i32 @vtir_parallel(ptr, ptr, i64, i64, i64) memory(none)", False),
        ("i32 @vtir_parallel(ptr, ptr, i64, i64, i64) nosync", False),
        ("i32 @vtir_parallel(ptr, ptr, i64, i64, i64) nocallback", False),
        ("i32 @vtir_parallel(ptr, ptr captures(none), i64, i64, i64)", False),
        ("i32 @vtir_parallel(ptr, ptr readonly, i64, i64, i64)", False),
        ("range(i32 1, 2) i32 @vtir_parallel(ptr, ptr, i64, i64, i64)", False),
    ],
)
def test_what_is_declared_of_the_pool_of_threads(line: str, right: bool) -> None:
    found = verdict(PARALLEL, f"declare {line}\n{PART}")
    assert isinstance(found, Equal if right else Unknown), found


def test_what_a_call_of_the_pool_says() -> None:
    more = f"declare i32 @vtir_parallel(ptr, ptr, i64, i64, i64)\n{PART}"
    assert isinstance(verdict(PARALLEL.replace("ptr %a", "ptr nonnull noundef %a") + " nounwind", more), Equal)
    assert refused(verdict(PARALLEL.replace("ptr %a", "ptr captures(none) %a"), more), "what a call promises")
    assert refused(verdict(PARALLEL + " nosync", more), "'nosync'")


@pytest.mark.parametrize(
    "line, call, right",
    [
        ("noalias noundef ptr @aligned_alloc(i64 allocalign noundef, i64 noundef) nofree allocsize(1) memory("
         "inaccessiblemem: readwrite)", "ptr @aligned_alloc(i64 64, i64 64)", True),
        ("ptr @aligned_alloc(i64, i64) memory(none)", "ptr @aligned_alloc(i64 64, i64 64)", False),
        ("ptr @aligned_alloc(i64, i64 allocalign)", "ptr @aligned_alloc(i64 64, i64 64)", False),
        ("ptr @aligned_alloc(i64, i64) allocsize(0)", "ptr @aligned_alloc(i64 64, i64 64)", False),
        ('ptr @malloc(i64) allockind("alloc,zeroed")', "ptr @malloc(i64 64)", False),
        ("align 64 ptr @malloc(i64)", "ptr @malloc(i64 64)", False),
    ],
)  # fmt: skip
def test_what_is_declared_of_the_library(line: str, call: str, right: bool) -> None:
    """LLVM adds what it knows of the library, and believes what else is there."""
    found = verdict(f"%m = call {call}\n  call void @free(ptr %m)",
                    f"declare {line}\ndeclare void @free(ptr allocptr captures(none))")  # fmt: skip
    assert isinstance(found, Equal if right else Unknown), found


# ----------------------------------------------------------------------------------------------- arguments of LLVM's


@pytest.mark.parametrize(
    "call",
    [
        "%p = add nsw i32 %v, 1\n  %q = call i32 @llvm.abs.i32(i32 noundef %p, i1 false)",
        "call void @llvm.memset.p0.i64(ptr dereferenceable(9) %a, i8 0, i64 4, i1 false)",
        "call void @llvm.memset.p0.i64(ptr nonnull noundef null, i8 0, i64 0, i1 false)",
        "call void @llvm.memset.p0.i64(ptr readonly %a, i8 0, i64 4, i1 false)",
        "call void @llvm.memcpy.p0.p0.i64(ptr readonly %a, ptr %B, i64 4, i1 false)",
        "call void @llvm.memcpy.p0.p0.i64(ptr %a, ptr readnone %B, i64 4, i1 false)",
        "call void @llvm.memset.p0.i64(ptr initializes((0, 8)) %a, i8 0, i64 4, i1 false)",
        "%p = call noundef i32 @llvm.smax.i32(i32 %v, i32 poison)",
    ],
)
def test_promises_of_arguments_of_intrinsics(call: str) -> None:
    assert isinstance(verdict(call), (Different, Unknown))


@pytest.mark.parametrize(
    "call",
    [
        "%p = add i32 %v, 1\n  %q = call noundef i32 @llvm.abs.i32(i32 noundef %p, i1 false)",
        "%p = add nsw i32 %v, 1\n  %q = call i32 @llvm.abs.i32(i32 %p, i1 false)",
        "call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 captures(none) dereferenceable(8) %a, i8 0, i64 4, "
        "i1 false)",
        "call void @llvm.memcpy.p0.p0.i64(ptr writeonly align 8 %a, ptr readonly align 4 %B, i64 4, i1 false)",
    ],
)
def test_promises_of_arguments_of_intrinsics_that_are_kept(call: str) -> None:
    assert isinstance(verdict(call), Equal)


# ------------------------------------------------------------------------------------------------- functions as such

COUNTS = """
define internal i32 @g(i32 %n) {} {{
  %z = icmp eq i32 %n, 0
  br i1 %z, label %x, label %y
x:
  ret i32 0
y:
  %m = sub i32 %n, 1
  %r = call i32 @g(i32 %m)
  ret i32 %r
}}
"""
FREES = """
declare ptr @malloc(i64)
declare void @free(ptr)
define internal void @g(ptr %p) {0} {{
  call void @h(ptr {1} %p)
  ret void
}}
define internal void @h(ptr {1} %p) {{
  call void @free(ptr %p)
  ret void
}}
"""
RUNS = f"""
declare i32 @vtir_parallel(ptr, ptr, i64, i64, i64)
define internal i32 @g(ptr %a) {{}} {{{{
  {PARALLEL}
  ret i32 %s
}}}}
{PART.replace("{", "{{").replace("}", "}}")}
"""
COMPUTES = """
define internal i32 @g(i32 %x, i32 %y) {attribute} {{
  {body}
  ret i32 %z
}}
"""


def test_a_function_that_calls_itself() -> None:
    for attribute, n, kind in (("", 2, Equal), ("norecurse", 0, Equal), ("norecurse", 2, Different)):
        assert isinstance(verdict(f"%g = call i32 @g(i32 {n})", COUNTS.format(attribute)), kind)


def test_a_function_that_frees() -> None:
    call = "%m = call ptr @malloc(i64 8)\n  call void @g(ptr %m)"
    assert isinstance(verdict(call, FREES.format("", "")), Equal)
    assert refused(verdict(call, FREES.format("nofree", "")), "nofree")
    assert isinstance(verdict(call, FREES.format("", "nofree")), Unknown)
    own = "  %m = call ptr @malloc(i64 8)\n  call void @free(ptr %m)\n"
    more = FREES.format("nofree", "").replace("  call void @h(ptr  %p)\n", own)
    assert isinstance(verdict("call void @g(ptr %a)", more), Equal)


def test_a_function_that_runs_threads() -> None:
    assert isinstance(verdict("%g = call i32 @g(ptr %a)", RUNS.format("")), Equal)
    assert refused(verdict("%g = call i32 @g(ptr %a)", RUNS.format("nosync")), "nosync")


@pytest.mark.parametrize(
    "body, right",
    [
        ("%u = add nsw i32 %x, 1\n  %z = call i32 @llvm.smax.i32(i32 %u, i32 %y)", True),
        ("%z = sdiv i32 %x, 3", False),
        ("%p = alloca i32\n  %z = load i32, ptr %p", False),
        ("%z = call i32 @llvm.smax.i32(i32 noundef %x, i32 %y)", False),
    ],
)
def test_a_function_that_is_executed_where_it_was_not_called(body: str, right: bool) -> None:
    call = "%g = call i32 @g(i32 2, i32 3)"
    assert isinstance(verdict(call, COMPUTES.format(body=body, attribute="")), Equal)
    found = verdict(call, COMPUTES.format(body=body, attribute="speculatable"))
    assert isinstance(found, Equal) if right else refused(found, "speculatable")


@pytest.mark.parametrize(
    "attribute", ["nocreateundeforpoison", "allocsize(0)", 'allockind("free")', '"alloc-family"="malloc"', "convergent"]
)
def test_words_that_are_not_known_there(attribute: str) -> None:
    more = COMPUTES.format(body="%z = add i32 %x, %y", attribute=attribute)
    assert isinstance(verdict("%g = call i32 @g(i32 2, i32 3)", more), Unknown)


@pytest.mark.parametrize("attribute", ["writable dereferenceable(8)", "allocptr", "dead_on_unwind"])
def test_parameters_of_which_something_unknown_is_said(attribute: str) -> None:
    more = f"define internal void @g(ptr {attribute} %p) {{\n  ret void\n}}"
    assert isinstance(verdict("call void @g(ptr %a)", more), Unknown)
