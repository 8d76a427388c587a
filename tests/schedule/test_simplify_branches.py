"""simplify: branches under labels become one, equal arms, what assumptions say (RFC 77, "Enhancement - Simplify")."""

from __future__ import annotations

import pytest

from tests.schedule.schedule_support import accepted
from tests.schedule.test_overcompute import body, buffers, text
from verified_tir import Refuted, Schedule

FOUR = buffers(A="4x4 int32", B="4x4 int32")

PRODUCER = """
for i in range(14):
    with T.block("compute"):
        A[i] = 1000 + i
"""


def simplify(s: Schedule) -> int:
    return s.simplify()


def test_the_producer_of_the_rfc() -> None:
    def steps(s: Schedule) -> None:
        s.transform_layout("A", lambda i: [i // 4, i % 4], pad_value=0)
        s.sequential_buffer_access("A")
        outer, inner, *padding = s.loops()
        s.merge_loops(outer, padding[0])
        s.merge_loops(inner, padding[1])
        assert body(s).count("if ") == 2
        s.simplify()

    s = accepted(text(buffers(A="14 int32"), PRODUCER), steps)
    assert body(s) == (
        "for i_0, i_1 in T.grid(4, 4):\n    if 4 * i_0 + i_1 < 14:\n"
        '        with T.sblock("compute"):\n            A[i_0, i_1] = 1000 + (4 * i_0 + i_1)\n'
        '    else:\n        with T.sblock("A_padding"):\n            A[i_0, i_1] = 0'
    )
    assert s.blocks == ["compute", "A_padding"]


LABELS = """
for i, j in T.grid(4, 4):
    with T.block("outer"):
        with T.block("one"):
            if {first}:
                A[i, j] = 1
    with T.block("two"):
        if {second}:
            {then}
"""


@pytest.mark.parametrize(
    ("first", "second", "arms"),
    [
        ("4 * i + j < 14", "4 * i + j >= 14", 2),
        ("4 * i + j < 14", "i == 3 and j >= 2", 2),
        ("4 * i + j < 14", "i < 3 or j < 2", 1),
        ("B[i, j] < 3", "B[i, j] >= 3", 2),
        ("B[i, j] < 3", "not B[i, j] < 3", 2),
    ],
)
def test_nested_labels_go_into_the_arms(first: str, second: str, arms: int) -> None:
    s = accepted(text(FOUR, LABELS.format(first=first, second=second, then="A[i, j] = 2")), simplify)
    assert body(s).count("if ") == 1
    assert body(s).count("else:") == arms - 1
    assert s.blocks == ["outer", "one", "two"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("4 * i + j < 14", "4 * i + j > 14"),
        ("4 * i + j < 14", "i == 3 and j >= 1"),
        ("A[i, j] < 3", "A[i, j] >= 3"),  # the first one changes what the second reads
        ("A[i, j] < 3", "A[i, j] < 3"),
    ],
)
def test_neither_equal_nor_opposite(first: str, second: str) -> None:
    s = accepted(text(FOUR, LABELS.format(first=first, second=second, then="B[i, j] = 2")), simplify)
    assert body(s).count("if ") == 2


def test_the_label_of_a_branch_with_two_arms_is_dropped() -> None:
    program = """
for i in range(4):
    with T.block("one"):
        if i < 2:
            A[i, 0] = 1
        else:
            A[i, 0] = 2
    with T.block("two"):
        if i >= 2:
            B[i, 0] = 3
"""
    s = accepted(text(FOUR, program), simplify)
    assert body(s) == (
        "for i in range(4):\n    if i < 2:\n        A[i, 0] = 1\n    else:\n        A[i, 0] = 2\n"
        '        with T.sblock("two"):\n            B[i, 0] = 3'
    )


def test_other_statements_under_a_label_stay_where_they_are() -> None:
    program = """
for i in range(4):
    with T.block("one"):
        B[i, 1] = 7
        if i < 2:
            A[i, 0] = 1
    with T.block("two"):
        if i >= 2:
            B[i, 0] = 3
"""
    assert body(accepted(text(FOUR, program), simplify)).count("if ") == 2


def test_equal_arms_evaluate_what_has_an_effect() -> None:
    program = "if {condition}:\n    A[0, 0] = 1\nelse:\n    A[0, 0] = 1"
    opaque = Schedule(text(FOUR, program.format(condition='T.call_extern("bool", "look", A.data)')))
    opaque.simplify()
    assert body(opaque).startswith('if T.call_extern("bool", "look", A.data):')
    pure = accepted(text(FOUR, program.format(condition="B[0, 0] > 3")), simplify)
    assert body(pure) == "A[0, 0] = 1"


def test_a_branch_on_undef_has_no_meaning_even_if_the_arms_are_equal() -> None:
    program = 't = T.alloc_buffer((1,), "int32")\nif t[0] > 3:\n    A[0, 0] = 1\nelse:\n    A[0, 0] = 1'
    with pytest.raises(Refuted, match=r"the condition t\[0\] > 3 depends on nothing undefined"):
        Schedule(text(FOUR, program))


def test_assumptions_decide_branches_until_memory_changes() -> None:
    program = """
T.assume(B[0, 0] >= 5)
if B[0, 0] > 4:
    A[0, 0] = 1
B[0, 0] = A[1, 1]
if B[0, 0] > 4:
    A[0, 1] = 1
"""
    s = accepted(text(FOUR, program), simplify)
    assert body(s).count("if ") == 1
    assert "A[0, 0] = 1\nB[0, 0]" in body(s)


CHOICES = """
for i in range(4):
    A[i] = {}
"""


@pytest.mark.parametrize("dtype", ["int32", "float32"])
@pytest.mark.parametrize(
    ("value", "left"),
    [
        ("T.if_then_else(T.bool(True), B[i], T.Cast('{0}', 7))", "B[i]"),
        ("T.Select(T.bool(False), B[i], B[i + i - i])", "B[i]"),
        ("B[i] + T.if_then_else(i < 4, T.Select(i >= 4, B[0], B[1]), B[2])", "B[i] + B[1]"),
        ("T.if_then_else(i < 4, B[i], T.undef('{0}'))", "B[i]"),
        ("T.if_then_else(i < 4, T.if_then_else(i < 3, B[i], B[0]), B[2])", "T.if_then_else(i < 3, B[i], B[0])"),
    ],
)  # fmt: skip
def test_choices_that_are_decided(dtype: str, value: str, left: str) -> None:
    program = text(buffers(A=f"4 {dtype}", B=f"4 {dtype}"), CHOICES.format(value.format(dtype)))
    s = accepted(program, lambda s: s.simplify())
    assert body(s) == f"for i in range(4):\n    A[i] = {left}"


@pytest.mark.parametrize("dtype", ["int32", "float32"])
@pytest.mark.parametrize("value", ["T.if_then_else(i < 3, B[i], B[0])", "T.if_then_else(i < 4, T.undef('{0}'), B[i])"])
def test_choices_that_stay(dtype: str, value: str) -> None:
    """One that is not decided; undef, which is a comparison or none depending on where it stands in an assumption."""
    s = Schedule(text(buffers(A=f"4 {dtype}", B=f"4 {dtype}"), CHOICES.format(value.format(dtype))))
    before = s.func
    s.simplify()
    assert body(s).count("T.if_then_else(") == 1 and "B[i]" in body(s)
    assert (s.func is before) == ("i < 3" in value)
