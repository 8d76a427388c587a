"""Cases 24, 25 and 27: passes of TVM 0.27 that change results, each beside a neighbour that they get right.

docs/tvm-findings.md shows the programs and says why.
"""

from __future__ import annotations

import re

import pytest
import tvm
from tvm.s_tir import transform as s_tir

from tests.interop_tvm.programs import TWO_STAGES, function
from tests.must_reject.tvm_support import LIMITS, on_the_machine, passed, replayed, same
from verified_tir.interop.tvm import ValidatedSchedule, ValidatingInstrument

# -- 24: identities that floats do not have

VALUES = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((8,), "{dtype}"), B: T.Buffer((8,), "{dtype}"), C: T.Buffer((8,), "{dtype}")):
    for i in range(8):
        C[i] = {value}
"""
WRONG = {
    "(A[i] + B[i]) - A[i]": "B[i]",
    "A[i] - A[i]": "T.float32(0.0)",
    "T.Select(A[i] == A[i], A[i], B[i])": "A[i]",
    "T.Mul(A[i], T.float32(0))": "T.float32(0.0)",
    "T.Add(A[i], T.float32(0))": "A[i]",
    "T.Select(not A[i] < B[i], T.float32(1), T.float32(2))": "T.Select(B[i] <= A[i], T.float32(1.0), T.float32(2.0))",
    "T.Select(A[i] <= B[i] or B[i] < A[i], A[i], B[i])": "A[i]",
}
RIGHT = ("A[i] + (B[i] - A[i])", "A[i] / A[i]", "T.max(A[i], B[i])", "T.Select(A[i] < B[i], A[i], B[i])")


@pytest.mark.sample(4)
@pytest.mark.parametrize("value", WRONG)
def test_24_simplifying_floats(value: str) -> None:
    report = passed(VALUES.format(dtype="float32", value=value), s_tir.StmtSimplify())
    assert report.after.rstrip().endswith(f"C[i] = {WRONG[value]}")
    before, after = replayed(report)
    assert same(on_the_machine(report)[1], after)
    assert not same(before, after)


@pytest.mark.parametrize("value", WRONG)
def test_24_simplifying_integers(value: str) -> None:
    text = VALUES.format(dtype="int32", value=value).replace("float32", "int32")
    report = passed(text, s_tir.StmtSimplify())
    expected = re.sub(r"T\.float32\((\d)\.0\)", r"\1", WRONG[value])
    assert report.after.rstrip().endswith(f"C[i] = {expected}")
    assert report.status == "equal"


@pytest.mark.parametrize("value", RIGHT)
def test_24_floats_that_are_left_alone(value: str) -> None:
    with pytest.raises(AssertionError, match="nothing changed"):
        passed(VALUES.format(dtype="float32", value=value), s_tir.StmtSimplify())


def test_24_a_product_whose_zero_was_inlined() -> None:
    text = TWO_STAGES.replace("A[vi] * T.float32(2)", "T.float32(0)").replace("B[vi] + T.float32(1)", "B[vi] * A[vi]")
    sch = ValidatedSchedule(function(text), limits=LIMITS)
    sch.compute_inline("B")
    assert [r.status for r in sch.reports] == ["equal"]
    instrument = ValidatingInstrument(on_different="collect", limits=LIMITS)
    with tvm.transform.PassContext(instruments=[instrument]):
        tvm.compile(sch.mod, target="llvm")
    report = instrument.different[0]
    before, after = replayed(report)
    assert same(on_the_machine(report)[1], after)
    assert not same(before, after)


# -- 25: a store of which one part is undefined

PADDED = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((14,), "int32"), C: T.Buffer((4, 4), "int32")):
    for i, j in T.grid(4, 4):
        C[i, j] = {value}
"""


def test_25_a_store_that_is_undefined_in_part_is_removed_whole() -> None:
    value = "T.if_then_else(i * 4 + j < 14, A[T.min(i * 4 + j, 13)] * 2, T.undef())"
    report = passed(PADDED.format(value=value), s_tir.RemoveStoreUndef())
    assert "C[" not in report.after.partition("\n    ")[2]
    before, after = replayed(report)
    assert not same(before, after)


def test_25_as_transform_layout_writes_it() -> None:
    sch = ValidatedSchedule(function(TWO_STAGES.replace("16", "14")), on_different="raise", limits=LIMITS)
    undefined = tvm.tirx.call_intrin("float32", "tirx.undef")
    sch.transform_layout("B", ("write", 0), lambda i: [i // 4, i % 4], pad_value=lambda i, j: undefined)
    instrument = ValidatingInstrument(on_different="collect", limits=LIMITS)
    with tvm.transform.PassContext(instruments=[instrument]):
        s_tir.RemoveStoreUndef()(sch.mod)
    _, after = replayed(instrument.different[0])
    assert after is None


def test_25_a_store_of_undef_is_removed() -> None:
    report = passed(PADDED.format(value="T.undef()"), s_tir.RemoveStoreUndef())
    assert report.status == "equal"


# -- 27: computing too much, by an assumption that is true

ASSUMED = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4, 2), "{dtype}"), W: T.Buffer((4, 2), "{dtype}"), C: T.Buffer((4, 2), "{dtype}")):
    for i, j in T.grid(4, 2):
        T.evaluate(T.assume(i < 3 or j < 1 or A[i, j] == T.{dtype}(0)))
    for i, j in T.grid(4, 2):
        C[i, j] = T.if_then_else(i == 3 and j == 1, T.{dtype}({rest}), A[i, j] * W[i, j] + T.{dtype}({rest}))
"""
ELEMENTWISE = {"op_pattern": 0}


@pytest.mark.parametrize("rest", ["0", "1"])
def test_27_the_other_factor_is_infinite(rest: str) -> None:
    report = passed(ASSUMED.format(dtype="float32", rest=rest), s_tir.UseAssumeToReduceBranches(), **ELEMENTWISE)
    assert "if_then_else" not in report.after
    before, after = replayed(report)
    assert same(before, float(rest)) and not same(before, after)
    if rest == "1":
        assert same(after, float("nan"))  # 0 * inf + 1
    machine = on_the_machine(report)
    assert same(machine[0], before) and same(machine[1], after)


def test_27_integers() -> None:
    report = passed(ASSUMED.format(dtype="int32", rest="1"), s_tir.UseAssumeToReduceBranches(), **ELEMENTWISE)
    assert "if_then_else" not in report.after
    assert report.status == "equal"
