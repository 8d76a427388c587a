"""The validator of LLVM IR forgot, where the ways of a branch on data met, that one of them had freed memory, or had
ended the lifetime of an alloca.

Finding: validator | undefined-missed | on one way of a branch
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
declare ptr @malloc(i64)
declare void @free(ptr)
declare void @llvm.lifetime.start.p0(ptr)
declare void @llvm.lifetime.end.p0(ptr)
define i32 @vtir_kernel(ptr %A, ptr %B) {{
  %p = call ptr @malloc(i64 16)
  %a = alloca i32, align 4
  {before}
  %v = load i32, ptr %A, align 4
  %c = icmp sgt i32 %v, 3
  br i1 %c, label %x, label %y
x:
  {yes}
  br label %z
y:
  {no}
  br label %z
z:
  {after}
  store i32 %v, ptr %B, align 4
  ret i32 0
}}
"""
FREE = "call void @free(ptr %p)"
START, END = (f"call void @llvm.lifetime.{word}.p0(ptr %a)" for word in ("start", "end"))
STORE = "store i32 %v, ptr {}, align 4"
LOAD = "%w = load i32, ptr {}, align 4"


def verdict(yes: str = "", no: str = "", after: str = "", before: str = "") -> Verdict:
    text = TEXT.format(yes=yes, no=no, after=after, before=before)
    return validate_llvm(parse_func(COPY), text).verdict


def refused(found: Verdict) -> bool:
    """Or an input was found on which that way is taken."""
    return isinstance(found, Different) or (isinstance(found, Unknown) and "data decide" in found.reason)


@pytest.mark.parametrize("after", [FREE, STORE.format("%p"), LOAD.format("%p")])
def test_memory_that_one_way_freed(after: str) -> None:
    assert refused(verdict(FREE, "", after)) and refused(verdict("", FREE, after))
    both = verdict(FREE, FREE, after)
    assert isinstance(both, Different) and "life has ended" in str(both.after)
    assert isinstance(verdict("", "", after), Equal)
    assert isinstance(verdict(FREE, FREE), Equal) and isinstance(verdict(FREE, after), Equal)


@pytest.mark.parametrize("after", [FREE, STORE.format("%p"), LOAD.format("%p")])
def test_memory_that_was_freed_on_the_same_way(after: str) -> None:
    assert isinstance(verdict(f"{FREE}\n  {after}", FREE), Different)
    assert isinstance(verdict(f"{after.replace(FREE, '')}\n  {FREE}", FREE), Equal)


def test_a_lifetime_that_one_way_ended() -> None:
    after = STORE.format("%a")
    assert refused(verdict(END, "", after, START)) and refused(verdict("", END, after, START))
    assert refused(verdict(START, "", after, f"{START}\n  {END}"))
    assert isinstance(verdict(END, END, after, START), Different)
    assert isinstance(verdict(f"{END}\n  {after}", END, "", START), Different)
    for yes, no, end in (("", "", after), (END, "", f"{START}\n  {after}"), (END, after, ""), (END, "", END)):
        assert isinstance(verdict(yes, no, end, START), Equal)
    for begun in (START, f"{START}\n  {after}\n  {END}"):
        assert isinstance(verdict(begun, begun, after if begun == START else "", f"{START}\n  {END}"), Equal)


def test_what_was_there_before_one_way_ended_the_lifetime() -> None:
    """It is poison then, and the element that is copied from it."""
    before = f"{START}\n  store i32 5, ptr %a, align 4"
    use = f"{LOAD.format('%a')}\n  %o = sub i32 %w, 5\n  store i32 %o, ptr %B, align 4"
    assert isinstance(verdict("", "", use, before), Equal)
    use = "%u = load i32, ptr %a, align 4\n  %o = mul i32 %u, 0\n  %t = add i32 %v, %o\n  store i32 %t, ptr %A, align 4"
    assert isinstance(verdict("", "", use, before), Equal)
    assert not isinstance(verdict(END, "", use, before), Equal)
