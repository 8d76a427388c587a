"""The validator of LLVM IR: a store through a ``readonly`` parameter was undefined behaviour, but not one at an address
that a phi or a select had it from, or that went to another function or through memory.

Finding: validator | undefined-missed | declared readonly
"""

from __future__ import annotations

import pytest

from verified_tir import parse_func
from verified_tir.validate.llvm import validate_llvm
from verified_tir.validate.verdict import Different, Equal, Unknown, Verdict

PROGRAM = """
@T.prim_func
def f(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
    for i in range({n}):
        B[i] = 7
"""
TEXT = """
define i32 @vtir_kernel(ptr %A, ptr %B) {{
  call void @f(ptr %A, ptr %B, i1 false)
  ret i32 0
}}
define internal void @f(ptr %p, ptr {word} %q, i1 %c) {{
entry:
{body}
}}
define internal void @g(ptr {inner} %x) {{
  store i32 7, ptr %x
  ret void
}}
"""
LOOP = """\
  br label %loop
loop:
  %at = phi ptr [ %q, %entry ], [ %next, %loop ]
  %k = phi i32 [ 0, %entry ], [ %more, %loop ]
  store i32 7, ptr %at
  %next = getelementptr i32, ptr %at, i64 1
  %more = add i32 %k, 1
  %go = icmp ult i32 %more, 4
  br i1 %go, label %loop, label %end
end:
  ret void"""
CHOICE = """\
  %r = select i1 %c, ptr %{yes}, ptr %{no}
  store i32 7, ptr %r
  ret void"""
CALL = "  call void @g(ptr %q)\n  ret void"
MEMORY = """\
  %m = alloca ptr
  store ptr %q, ptr %m
  %r = load ptr, ptr %m
  store i32 7, ptr %r
  ret void"""


def verdict(body: str, word: str, *, n: int = 1, inner: str = "") -> Verdict:
    text = TEXT.format(body=body, word=word, inner=inner)
    return validate_llvm(parse_func(PROGRAM.format(n=n)), text).verdict


def test_an_address_that_moves_in_a_loop() -> None:
    found = verdict(LOOP, "readonly", n=4)
    assert isinstance(found, Different) and found.after == "store at an address that is declared readonly"
    assert isinstance(verdict(LOOP, "", n=4), Equal)
    assert isinstance(verdict(LOOP, "writeonly", n=4), Equal)


@pytest.mark.parametrize("yes, no, kind", [("q", "q", Different), ("p", "q", Unknown), ("q", "p", Unknown)])
def test_an_address_that_is_chosen(yes: str, no: str, kind: type[Verdict]) -> None:
    body = CHOICE.format(yes=yes, no=no)
    assert isinstance(verdict(body, "readonly"), kind)
    if no == "q":
        assert isinstance(verdict(body, ""), Equal)


@pytest.mark.parametrize("body", [CALL, MEMORY])
def test_an_address_that_is_handed_on(body: str) -> None:
    found = verdict(body, "readonly")
    assert isinstance(found, Unknown) and "is handed on" in found.reason
    assert isinstance(verdict(body, ""), Equal)


def test_a_function_that_promises_it_too() -> None:
    assert isinstance(verdict(CALL, "writeonly", inner="writeonly"), Equal)
    found = verdict(CALL, "readonly", inner="readonly")
    assert isinstance(found, Different) and found.after == "store at an address that is declared readonly"
