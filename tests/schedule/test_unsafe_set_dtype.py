"""unsafe_set_dtype: elements of another type, where nothing is lost; set_axis_separator."""

from __future__ import annotations

import pytest

from tests.schedule.schedule_support import Steps, accepted, not_applicable, refused

WIDENED = """
@T.prim_func
def f(A: T.Buffer((8,), "float16"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.sblock("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = T.Cast("float32", A[vi])
    for i in range(8):
        with T.sblock("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi] + T.float32(1)
"""

ROUNDED = WIDENED.replace('T.Cast("float32", A[vi])', "A[vi] * T.float32(2)").replace(
    '(8,), "float16"', '(8,), "float32"'
)

SMALL = """
@T.prim_func
def f(A: T.Buffer((8,), "int8"), C: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((8,), "int32")
    for i in range(8):
        with T.sblock("B"):
            B[i] = T.Cast("int32", A[i]) * 3
    for i in range(8):
        C[i] = B[i]
"""


def test_what_is_stored_has_an_equal_of_the_new_type() -> None:
    s = accepted(WIDENED, lambda s: s.unsafe_set_dtype("B", 0, "float16"))
    assert s.script().split("):\n", 1)[1] == (
        '    B = T.alloc_buffer((8,), "float16")\n'
        "    for i in range(8):\n"
        '        with T.sblock("B"):\n'
        '            B[i] = T.Cast("float16", T.Cast("float32", A[i]))\n'
        "    for i in range(8):\n"
        '        with T.sblock("C"):\n'
        '            C[i] = T.Cast("float32", B[i]) + T.float32(1.0)'
    )
    accepted(WIDENED, lambda s: s.unsafe_set_dtype("B", "B", "float64"))
    accepted(SMALL, lambda s: s.unsafe_set_dtype("B", 0, "int16"))


def test_what_would_be_lost_is_shown() -> None:
    reason = 'T.Cast("float32", B[i]) equals B[i] (float16 must hold every value of B without loss'
    refused(ROUNDED, lambda s: s.unsafe_set_dtype("B", 0, "float16"), reason)
    refused(SMALL, lambda s: s.unsafe_set_dtype("B", 0, "int8"), "int8 must hold every value of B")


def test_the_same_type_changes_nothing() -> None:
    s = accepted(WIDENED, lambda s: s.unsafe_set_dtype("B", 0, "float32"))
    assert s.func is s.steps[0].after


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (lambda s: s.unsafe_set_dtype("C", 0, "float16"), "C is a parameter, whose type is the caller's"),
        (lambda s: s.unsafe_set_dtype("B", 1, "float16"), "block B has no write buffer number 1"),
        (lambda s: s.unsafe_set_dtype("B", 0, "float17"), "'float17' is not the type of an element"),
        (lambda s: s.unsafe_set_dtype("B", 0, 16), "16 is not the type of an element"),
        (lambda s: s.unsafe_set_dtype("B", 0, "float16x4"), "float16x4 is not a type for them"),
        (lambda s: s.set_axis_separator("B", "B", [2]), "axis separators [2] must ascend within the 1 dimensions of B"),
        (lambda s: s.set_axis_separator("B", "B", [1, 0]), "axis separators [1, 0] must ascend"),
        (lambda s: s.set_axis_separator("B", "B", "1"), "axis separators are a list of numbers, not '1'"),
        (
            lambda s: s.set_axis_separator("B", "B", [0], numbering="old"),
            """counted as by "tvm" or by "rfc39", not by 'old'""",
        ),
        (lambda s: s.set_axis_separator("B", "Q", []), "block B does not use Q"),
    ],
)
def test_arguments_that_make_no_sense(step: Steps, reason: str) -> None:
    not_applicable(WIDENED, step, reason)


def test_axis_separators_of_a_parameter_and_of_a_local_buffer() -> None:
    text = WIDENED.replace("(8,)", "(8, 1)").replace("[vi]", "[vi, 0]")
    s = accepted(text, lambda s: (s.set_axis_separator("C", "C", [1]), s.set_axis_separator("B", ("write", 0), [1])))
    assert 'C: T.Buffer((8, 1), "float32", axis_separators=[1])' in s.script()
    assert 'B = T.alloc_buffer((8, 1), "float32", axis_separators=[1])' in s.script()
    s.set_axis_separator("C", "C", [0], numbering="rfc39")  # the axis in front of the separator
    assert 'C: T.Buffer((8, 1), "float32", axis_separators=[1])' in s.script()
    s.set_axis_separator("C", "C")
    assert 'C: T.Buffer((8, 1), "float32")' in s.script()
