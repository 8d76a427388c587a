"""Undefined behaviour, undef and poison of LLVM IR; memory by other widths; branches on data."""

from __future__ import annotations

import pytest

from tests.validate.llvm.llvm_support import check, kernel, program
from verified_tir.validate.llvm import validate_llvm
from verified_tir.validate.verdict import Different, Equal, Unknown, Verdict

COPY = program('A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")', "for i in range(4):\n    B[i] = A[i]")
BYTES = program('A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")', "for i in range(4):\n    B[i] = A[i]")
POINTERS = "ptr align 4 %A, ptr align 4 %B"


def verdict_of(*lines: str, more: str = "", signature: str = POINTERS) -> Verdict:
    """Of a kernel that is to copy four floats."""
    return validate_llvm(COPY, kernel(signature, *lines, more=more)).verdict


LOAD = "%v = load <4 x float>, ptr %A, align 4"
STORE = "store <4 x float> %v, ptr %B, align 4"


@pytest.mark.parametrize(
    "lines",
    [
        (LOAD, STORE),
        ("%v = load <2 x i64>, ptr %A, align 4", "store <2 x i64> %v, ptr %B, align 4"),
        ("%v = load <16 x i8>, ptr %A, align 4", "store <16 x i8> %v, ptr %B, align 4"),
        ("call void @llvm.memcpy.p0.p0.i64(ptr align 4 %B, ptr align 4 %A, i64 16, i1 false)",),
        ("call void @llvm.memmove.p0.p0.i64(ptr align 4 %B, ptr align 4 %A, i64 16, i1 false)",),
        (LOAD, "%l = alloca [16 x i8], align 16", "store <4 x float> %v, ptr %l, align 16",
         "%w = load <2 x i64>, ptr %l, align 16", "store <2 x i64> %w, ptr %B, align 4"),
        ("%v = load <2 x i64>, ptr %A, align 4", "%a = extractelement <2 x i64> %v, i64 0",
         "%b = extractelement <2 x i64> %v, i64 1", "%h = getelementptr i8, ptr %B, i64 8",
         "store i64 %b, ptr %h, align 4", "store i64 %a, ptr %B, align 4"),
        ("%v = load i64, ptr %A, align 4", "%l = trunc i64 %v to i32", "%s = lshr i64 %v, 32",
         "%h = trunc i64 %s to i32",
         "%f = bitcast i32 %l to float", "store float %f, ptr %B, align 4", "%p = getelementptr float, ptr %B, i64 1",
         "store i32 %h, ptr %p, align 4", "%a = getelementptr float, ptr %A, i64 2",
         "%w = load <2 x float>, ptr %a, align 4", "%b = getelementptr float, ptr %B, i64 2",
         "store <2 x float> %w, ptr %b, align 4"),
    ],
)  # fmt: skip
def test_copies_by_other_widths(lines: tuple[str, ...]) -> None:
    more = "".join(f"declare void @llvm.{name}.p0.p0.i64(ptr, ptr, i64, i1)\n" for name in ("memcpy", "memmove"))
    assert isinstance(verdict_of(*lines, more=more), Equal)


def test_data_wider_than_any_element_are_refused() -> None:
    verdict = verdict_of("%v = load i128, ptr %A, align 4", "store i128 %v, ptr %B, align 4")
    assert isinstance(verdict, Unknown)
    assert "i128" in verdict.reason


@pytest.mark.parametrize(
    "lines, what",
    [
        ((LOAD, STORE, "%p = getelementptr float, ptr %B, i64 4", "store float 0.0, ptr %p, align 4"),
         "store of bytes 16"),
        ((LOAD, STORE, "%p = getelementptr float, ptr %A, i64 -1", "%x = load float, ptr %p, align 4"),
         "load of bytes -4"),
        ((LOAD.replace("align 4", "align 8"), STORE), "not a multiple of 8"),
        ((LOAD, STORE, "%z = sdiv i32 1, 0"), "sdiv by zero"),
        ((LOAD, STORE, "call void @llvm.assume(i1 false)"), "llvm.assume"),
        ((LOAD, STORE, "%x = load i32, ptr null, align 4"), "outside every object"),
        ((LOAD, STORE, "%p = alloca i32, align 4", "call void @f(ptr %p)"), "after its life has ended"),
        ((LOAD, STORE, "br i1 poison, label %a, label %b", "a:", "unreachable", "b:"), "undef or poison"),
        ((LOAD, STORE, "br label %a", "a:", "unreachable", "b:"), "unreachable"),
    ],
)  # fmt: skip
def test_undefined_behaviour_is_a_difference(lines: tuple[str, ...], what: str) -> None:
    more = """
declare void @llvm.assume(i1)
define internal ptr @made() {
  %p = alloca i32, align 4
  ret ptr %p
}
define internal void @f(ptr %p) {
  %q = call ptr @made()
  %x = load i32, ptr %q, align 4
  ret void
}
"""
    verdict = verdict_of(*lines, more=more)
    assert isinstance(verdict, Different), verdict
    assert not verdict.element
    assert what in str(verdict.after)


def test_a_store_to_what_is_declared_readonly() -> None:
    verdict = verdict_of(LOAD, STORE, signature="ptr align 4 %A, ptr readonly align 4 %B")
    assert isinstance(verdict, Different)
    assert "declared readonly" in str(verdict.after)


@pytest.mark.parametrize(
    "lines",
    [
        ("%v = insertelement <4 x float> poison, float 0.0, i64 0", STORE),
        ("%p = alloca <4 x float>, align 16", "%v = load <4 x float>, ptr %p, align 16", STORE),
        (LOAD, "%w = shufflevector <4 x float> %v, <4 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 poison>",
         STORE.replace("%v", "%w")),
    ],
)  # fmt: skip
def test_undefined_values_are_a_difference(lines: tuple[str, ...]) -> None:
    assert isinstance(verdict_of(*lines), Different)


def test_what_the_program_leaves_undefined_may_be_anything() -> None:
    func = program('A: T.Buffer((2,), "float32")', 'A[0] = T.undef("float32")\nA[1] = T.float32(1)')
    for value in ("poison", "undef", "0.0", "2.0"):
        text = kernel(
            "ptr %A", f"store float {value}, ptr %A, align 4", "%p = getelementptr float, ptr %A, i64 1",
            "store float 1.0, ptr %p, align 4",
        )  # fmt: skip
        assert isinstance(validate_llvm(func, text).verdict, Equal)
    assert isinstance(validate_llvm(func, kernel("ptr %A", "store float 2.0, ptr %A, align 4")).verdict, Different)


def test_a_frozen_value_is_some_value() -> None:
    """``freeze`` makes poison a number, which then is not undefined; that it is any number is not forgotten."""
    lines = ("%f = freeze i32 poison", "%z = and i32 %f, 0", "%c = icmp eq i32 %z, 0", LOAD, STORE)
    verdict = verdict_of(*lines, "br i1 %c, label %a, label %b", "a:", "ret i32 0", "b:")
    assert isinstance(verdict, Unknown), verdict  # too little is known here, but no difference is made up


BRANCHES = program(
    'A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")',
    """
for i in range(4):
    if A[i] > T.float32(0):
        if B[i] > A[i]:
            B[i] = A[i] + T.float32(1)
        else:
            B[i] = T.float32(2)
            B[(i + 1) % 4] = A[i]
""",
)


def test_nested_branches_on_data() -> None:
    check(BRANCHES)


def test_a_loop_whose_end_depends_on_data_is_refused() -> None:
    """Though it does nothing, and no input shows a difference."""
    text = """
define i32 @vtir_kernel(ptr %A, ptr %B) {
entry:
  %all = load <4 x i32>, ptr %A, align 4
  store <4 x i32> %all, ptr %B, align 4
  %n = load i32, ptr %A, align 4
  %few = and i32 %n, 7
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %j, %head ]
  %j = add i32 %i, 1
  %c = icmp ult i32 %j, %few
  br i1 %c, label %head, label %done
done:
  ret i32 0
}
"""
    verdict = validate_llvm(BYTES, text).verdict
    assert isinstance(verdict, Unknown)
    assert verdict.reason == "LLVM IR: how often a loop runs depends on data"


def test_division_on_one_way_only() -> None:
    """What is undefined on a way that is not taken is not undefined."""
    func = program(
        'A: T.Buffer((2,), "int32"), B: T.Buffer((2,), "int32")',
        "for i in range(2):\n    if A[i] > 0:\n        B[i] = T.truncdiv(B[i], A[i])",
    )
    check(func)
    hoisted = """
define i32 @vtir_kernel(ptr %A, ptr %B) {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %j, %head ]
  %p = getelementptr i32, ptr %A, i64 %i
  %a = load i32, ptr %p, align 4
  %q = getelementptr i32, ptr %B, i64 %i
  %b = load i32, ptr %q, align 4
  %d = sdiv i32 %b, %a
  %c = icmp sgt i32 %a, 0
  %r = select i1 %c, i32 %d, i32 %b
  store i32 %r, ptr %q, align 4
  %j = add i64 %i, 1
  %more = icmp ult i64 %j, 2
  br i1 %more, label %head, label %done
done:
  ret i32 0
}
"""
    verdict = validate_llvm(func, hoisted).verdict
    assert isinstance(verdict, Different)
    assert "sdiv" in str(verdict.after)


def test_the_status_of_an_assertion() -> None:
    func = program('A: T.Buffer((2,), "int32"), n: T.int32', 'assert n > 2, "large"\nA[0] = n')
    check(func, n=3)
    ended = [validate_llvm(func, text, sizes={"n": 1}).verdict for text in (kernel("ptr %A, i32 %n"),)]
    assert isinstance(ended[0], Different)
    assert "returns 0" in str(ended[0].after)


def test_parameters_that_are_others() -> None:
    verdict = validate_llvm(COPY, kernel("ptr %A, i32 %n")).verdict
    assert isinstance(verdict, Unknown)
    assert "parameters of vtir_kernel" in verdict.reason
