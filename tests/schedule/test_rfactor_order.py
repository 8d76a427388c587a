"""reorder of reductions, and what the second opinion says of another order."""

from __future__ import annotations

from tests.regressions.test_sums_whose_buffers_went import summed as summed_and_inlined
from tests.schedule.schedule_support import accepted, not_applicable, refused
from verified_tir import Schedule, parse_func
from verified_tir.derivation.assumptions import reassociated
from verified_tir.schedule.other_order import may_reach
from verified_tir.schedule.second_opinion import _contradiction
from verified_tir.validate import Different, Report

# -- reorder -----------------------------------------------------------------------------------------------------------

SUM = """
@T.prim_func
def f(A: T.Buffer((4, 4), "{dtype}"), B: T.Buffer((1,), "{dtype}")):
    for i, j in T.grid(4, 4):
        if A[i, j] > {zero}:
            B[0] = {value}
"""


def summed(dtype: str = "int32", value: str = "B[0] + A[i, j]") -> str:
    return SUM.format(dtype=dtype, value=value, zero="0" if dtype == "int32" else "T.float32(0)")


def test_an_integer_reduction_runs_in_any_order() -> None:
    for value in ("B[0] + A[i, j]", "B[0] * A[i, j]", "T.max(B[0], A[i, j])", "B[0] ^ A[i, j]"):
        s = accepted(summed(value=value), lambda s: s.reorder("j", "i"))
        assert s.theorem.reassociated == frozenset()
        assert f"for j, i in T.grid(4, 4):\n        if A[i, j] > 0:\n            B[0] = {value}" in s.script()
    refused(summed(value="B[0] * 2 + A[i, j]"), lambda s: s.reorder("j", "i"), "iterations change their order")


def test_the_initialisation_stays_first() -> None:
    """It is set aside, and put back into the iteration that now begins the sum."""
    text = """
@T.prim_func
def f(A: T.Buffer((4, 4), "{dtype}"), B: T.Buffer((1,), "{dtype}")):
    for i, j in T.grid(4, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("RR", [i, j])
            with T.init():
                B[0] = {zero}
            B[0] = B[0] + A[vi, vj]
"""
    after = """
    for j, i in T.grid(4, 4):
        with T.sblock("B"):
            if j == 0 and i == 0:
                B[0] = {zero}
            B[0] = B[0] + A[i, j]"""
    integers, floats = {"dtype": "int32", "zero": "0"}, {"dtype": "float32", "zero": "T.float32(0.0)"}
    s = accepted(text.format(**integers), lambda s: s.reorder("j", "i"))
    assert s.script().endswith(after.format(**integers))
    refused(text.format(**floats), lambda s: s.reorder("j", "i"), 'allowed: reorder(…, reassociate="B"))')
    s = Schedule(text.format(**floats))
    s.reorder("j", "i", reassociate="B")
    assert s.script().endswith(after.format(**floats))


def test_a_float_sum_runs_in_another_order_with_the_users_word() -> None:
    words = "iterations change their order: no dependence between the read and the write of B (another order may be "
    refused(summed("float32"), lambda s: s.reorder("j", "i"), words + 'allowed: reorder(…, reassociate="B"))')
    s = Schedule(summed("float32"))
    s.reorder("j", "i", reassociate="B")
    assert reassociated(s.theorem) == ["B"] and "B may be those of another order" in s.assumptions[-1]
    s = Schedule(summed("float32").replace("if A[i, j] > T.float32(0)", "if i < 3"))
    s.reorder("j", "i", reassociate="B")
    opinion = s.validate()
    assert opinion.word == "agrees" and "equal over the reals" in opinion.sentence
    not_applicable(
        summed("float32"), lambda s: s.reorder("j", "i", reassociate="A"), "the reduction is one into B, not into 'A'"
    )
    kept = summed("float32").replace("B[0]", "B[i]").replace("(1,)", "(4,)")
    assert accepted(kept, lambda s: s.reorder("j", "i", reassociate="B")).theorem.reassociated == frozenset()


def test_a_float_maximum_runs_in_another_order() -> None:
    terms = "T.max(B[0], T.max(A[i, j], T.float32(1)))"
    start = summed("float32", terms).replace("    for", "    B[0] = T.float32(0)\n    for")
    assert accepted(start, lambda s: s.reorder("j", "i")).theorem.reassociated == frozenset()
    plain = summed("float32", "T.max(B[0], A[i, j])").replace("if A[i, j] > T.float32(0)", "if i < 3")
    refused(plain, lambda s: s.reorder("j", "i"), "iterations change their order")
    refused(plain, lambda s: s.reorder("j", "i", reassociate="B"), "no term of the max into B is NaN")
    unlucky = summed("float32", terms)  # right, but only because a NaN is dropped by the first term
    refused(unlucky, lambda s: s.reorder("j", "i", reassociate="B"), "that the max begins with is NaN", confirmed=False)


# -- the second opinion ------------------------------------------------------------------------------------------------

AFTERWARDS = """
@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((1,), "float32"), C: T.Buffer((2,), "int8"), D: T.Buffer((1,), "int8")):
    B[0] = T.float32(0)
    for k in range(8):
        B[0] = B[0] + A[k]
    D[0] = T.int8(3)
    if B[0] > T.float32(1):
        C[0] = T.int8(1)
    C[1] = D[0]
"""


def test_what_depends_on_a_sum_may_differ_where_the_order_was_allowed() -> None:
    func = parse_func(AFTERWARDS)
    assert may_reach("B[0]", {"B"}, func) and may_reach("C[1]", {"B"}, func)
    assert not may_reach("D[0]", {"B"}, func) and not may_reach("A[3]", {"B"}, func)
    s = Schedule(AFTERWARDS)
    s.rfactor(s.split("k", [None, 4])[0], reassociate="B")
    assert s.validate(every_step=True).word == "agrees"


def test_a_sum_in_a_local_buffer_that_went_is_remembered() -> None:
    """Neither the first program nor the last one has the buffer that the word names."""
    s = summed_and_inlined()
    assert "C_local[" not in s.script()
    before, after = s.theorem.before, s.theorem.after
    said = {e: _contradiction(Report(Different({}, {}, e, 1, 2)), s.theorem, before, after) for e in ("C[1]", "D[1]")}
    assert said["C[1]"] == "" and said["D[1]"] != ""


def test_a_difference_that_no_order_explains_is_a_bug() -> None:
    """A theorem about one program, and a word about another reduction, do not excuse a wrong integer."""
    s = Schedule(AFTERWARDS)
    s.rfactor(s.split("k", [None, 4])[0], reassociate="B")
    before, after = s.theorem.before, s.theorem.after

    def said(element: str) -> str:
        return _contradiction(Report(Different({}, {}, element, 1, 2)), s.theorem, before, after)

    assert said("B[0]") == "" and said("C[0]") == ""
    assert said("D[0]").startswith("different: D[0] was 1 and is 2")
    assert said("").startswith("different: after has undefined behaviour")
    nothing_allowed = Schedule(AFTERWARDS).theorem
    assert _contradiction(Report(Different({}, {}, "B[0]", 1, 2)), nothing_allowed, before, after) != ""
