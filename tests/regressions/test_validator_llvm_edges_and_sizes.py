"""The validator of LLVM IR crashed where a block has two edges to another one, whose phis then list it twice, and took
``malloc`` of 4 bytes for undefined behaviour, as if it were ``aligned_alloc``.

Finding: validator | crash | ValueError in validate/llvm/machine.py:run
"""

from __future__ import annotations

import pytest

from verified_tir import parse_func
from verified_tir.validate.llvm import validate_llvm
from verified_tir.validate.verdict import Different, Equal, Verdict

COPY = """
@T.prim_func
def f(A: T.Buffer((1,), "int32"), B: T.Buffer((1,), "int32")):
    B[0] = A[0]
"""
TEXT = """
declare ptr @malloc(i64)
declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
define i32 @vtir_kernel(ptr %A, ptr %B) {{
entry:
  %v = load i32, ptr %A, align 4
{body}
  store i32 %p, ptr %B, align 4
  ret i32 0
}}
"""
BRANCH = """\
  %c = icmp eq i32 %v, 0
  br i1 %c, label %end, label %end
end:
  %p = phi i32 [ %v, %entry ], [ %v, %entry ]"""
SWITCH = """\
  switch i32 {on}, label %other [ i32 1, label %end
    i32 2, label %end ]
other:
  br label %end
end:
  %q = phi i32 [ 0, %entry ], [ 0, %entry ], [ {other}, %other ]
  %r = phi i32 [ %v, %entry ], [ %v, %entry ], [ %v, %other ]
  %p = add i32 %q, %r"""
MEMORY = """\
  %m = call ptr @{call}
  store i32 %v, ptr %m, align 4
  %p = load i32, ptr %m, align 4
  call void @free(ptr %m)"""


def verdict(body: str) -> Verdict:
    return validate_llvm(parse_func(COPY), TEXT.format(body=body)).verdict


@pytest.mark.parametrize("on", ["1", "2", "3", "%v"])
@pytest.mark.parametrize("other, kind", [(0, Equal), (1, Different)])
def test_two_cases_that_lead_to_one_block(on: str, other: int, kind: type[Verdict]) -> None:
    expected = Equal if on in ("1", "2") else kind
    assert isinstance(verdict(SWITCH.format(on=on, other=other)), expected)


def test_a_branch_to_one_block() -> None:
    assert isinstance(verdict(BRANCH), Equal)


@pytest.mark.parametrize(
    "call, kind", [("malloc(i64 4)", Equal), ("malloc(i64 3)", Different), ("aligned_alloc(i64 64, i64 64)", Equal),
                   ("aligned_alloc(i64 64, i64 4)", Different), ("aligned_alloc(i64 12, i64 12)", Different)]
)  # fmt: skip
def test_sizes_of_memory_on_the_heap(call: str, kind: type[Verdict]) -> None:
    assert isinstance(verdict(MEMORY.format(call=call)), kind)
