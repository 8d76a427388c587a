"""Every intrinsic of LLVM that is none of a target was taken to work lane by lane.  Many do not: `llvm.stepvector` is a
vector of the numbers of its lanes, `llvm.get.active.lane.mask` compares them, `llvm.vp.add` counts them."""

from __future__ import annotations

import pytest

from verified_tir import parse_func
from verified_tir.validate import Equal, validate
from verified_tir.validate.verdict import Verdict

HEAD = '@T.prim_func\ndef f(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):\n    B[0:4] = '
REVERSED = "T.Shuffle([{}], [3, 2, 1, 0])"
EVERY = "T.Broadcast(T.bool(True), 4)"
MASK = 'T.call_llvm_pure_intrin("boolx4", "llvm.get.active.lane.mask", A[0], A[1])'


def verdict(before: str, after: str) -> Verdict:
    return validate(parse_func(HEAD + before), parse_func(HEAD + after)).verdict


def call(name: str, *arguments: str) -> str:
    return f'T.call_llvm_pure_intrin("int32x4", {", ".join([repr(name), *arguments])})'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (call("llvm.stepvector"), REVERSED.format(call("llvm.stepvector"))),
        (f'T.Cast("int32x4", {MASK})', f'T.Cast("int32x4", {REVERSED.format(MASK)})'),
        (
            call("llvm.vp.add", "A[0:4]", "A[0:4]", EVERY, "A[0]"),
            REVERSED.format(call("llvm.vp.add", *[REVERSED.format("A[0:4]")] * 2, EVERY, "A[0]")),
        ),
        (call("llvm.smaxx", "A[0:4]"), REVERSED.format(call("llvm.smaxx", REVERSED.format("A[0:4]")))),
    ],
)
def test_intrinsics_that_count_lanes(before: str, after: str) -> None:
    assert isinstance(verdict(before, before), Equal)
    assert not isinstance(verdict(before, after), Equal)


@pytest.mark.parametrize("name", ["llvm.smax", "llvm.smax.v4i32", "llvm.sadd.sat.v4i32"])
def test_intrinsics_that_work_by_lane(name: str) -> None:
    before = call(name, "A[0:4]", "T.Broadcast(3, 4)")
    after = call(name, REVERSED.format("A[0:4]"), "T.Broadcast(3, 4)")
    assert isinstance(verdict(before, REVERSED.format(after)), Equal)
    assert not isinstance(verdict(before, after), Equal)
