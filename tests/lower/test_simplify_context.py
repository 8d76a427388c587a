"""Simplify uses what surrounds an expression: guards, other choices, shapes of parameters; vectors and constants."""

from __future__ import annotations

import pytest

from tests.lower.lower_support import gives
from tests.lower.test_removals import program
from verified_tir.lower.simplify import Simplify

INTS = 'A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")'
FLAGS = 'A: T.Buffer((4,), "bool"), B: T.Buffer((4,), "bool"), i: T.int32, j: T.int32, k: T.int32'


@pytest.mark.parametrize(
    ("given", "condition", "left"),
    [
        ("i < 12", "i < 12", "A[i]"),
        ("i < 12", "i < 14", "A[i]"),
        ("i < 12", "i >= 12", "T.float32(2.0)"),
        ("i < 12", "i < 11", None),
        ("i >= 4", "3 < i", "A[i]"),
        ("i >= 4", "not i > 3", "T.float32(2.0)"),
        ("i < 12", "T.likely(i < 13)", "A[i]"),
    ],
)
def test_choices_that_a_guard_decides(given: str, condition: str, left: str | None) -> None:
    value = f"T.if_then_else({condition}, A[i], T.float32(2.0))"
    text = f"for i in range(16):\n    if {given}:\n        B[i] = {{}}"
    params = 'A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")'
    gives(program(text.format(value), params), Simplify(), text.format(left or value))


NESTED = "for i in range(8):\n    B[i] = T.if_then_else({outer}, 0, T.max(0, T.if_then_else({inner}, 0, A[i])))"


@pytest.mark.parametrize(
    ("outer", "inner", "decided"),
    [
        ("i == 1", "i == 1", True),
        ("i < 3 and A[0] == 2", "i < 3 and A[0] == 2", True),
        ("A[0] == 2", "A[1] == 2", False),
        ("i < 3", "i < 4", False),
        ("i < 3", "i < 2", True),
    ],
)
def test_a_choice_within_another(outer: str, inner: str, *, decided: bool) -> None:
    """Where the outer condition is false, so is the inner one."""
    text = NESTED.format(outer=outer, inner=inner)
    wanted = f"for i in range(8):\n    B[i] = T.if_then_else({outer}, 0, T.max(0, A[i]))"
    gives(program(text, INTS), Simplify(), wanted if decided else text)


@pytest.mark.parametrize(
    ("condition", "shorter"),
    [
        ("i < 5 and i < 10", "i < 5"),
        ("i < 5 or i < 10", "i < 10"),
        ("(i == 0 or j == 10 or k == 20) and (i == 0 or j == 10 or k != 30)", "i == 0 or j == 10 or k == 20"),
        ("(i == 0 or j == 10) and (j == 10 or k != 30 or i == 0)", "i == 0 or j == 10"),
        ("(i == 0 or j == 10) and (i == 0 or j == 11)", None),
        ("(i == 0 or k == 20) and (i == 0 or k != 20)", None),
        ("i == 0 and j == 1 or i == 0 and j == 1 and k == 2", "i == 0 and j == 1"),
    ],
)
def test_conditions_that_others_imply(condition: str, shorter: str | None) -> None:
    gives(program(f"A[0] = {condition}", FLAGS), Simplify(), f"A[0] = {shorter or condition}")


@pytest.mark.parametrize(
    ("index", "simple"),
    [
        ("T.Broadcast(0, 4) + T.Ramp(i, 1, 4)", "T.Ramp(i, 1, 4)"),
        ("T.Ramp(0, 1, 4) * T.Broadcast(2, 4) + T.Broadcast(i, 4)", "T.Ramp(i, 2, 4)"),
        ("T.Ramp(i, 1, 4) - T.Broadcast(i, 4)", "T.Ramp(0, 1, 4)"),
    ],
)
def test_vectors_of_indices(index: str, simple: str) -> None:
    text = "for i in range(4):\n    B[0:4] = A[{}]"
    gives(program(text.format(index), INTS), Simplify(), text.format(simple))


def test_vectors_of_unequal_steps_stay() -> None:
    text = "for i in range(4):\n    B[T.Ramp(0, 1, 4)] = A[T.Ramp(0, 1, 4) * T.Ramp(0, 1, 4)]"
    gives(program(text, INTS), Simplify(), text.replace("T.Ramp(0, 1, 4)]", "0:4]", 1))


@pytest.mark.parametrize(
    ("value", "simple"),
    [
        ('T.Cast("float32", 3)', "T.float32(3.0)"),
        ('T.Cast("float32", 16777217)', 'T.Cast("float32", 16777217)'),
        ("A[0] * T.float32(1)", "A[0]"),
        ("A[0] - T.float32(0)", "A[0]"),
        ("A[0] + T.float32(0)", "A[0] + T.float32(0.0)"),
        ("T.float32(1) / A[0]", "T.float32(1.0) / A[0]"),
    ],
)
def test_constants_and_neutral_operands(value: str, simple: str) -> None:
    """Adding 0.0 to -0.0 gives 0.0, so that a sum of floats is not simplified."""
    gives(program(f"B[0] = {value}"), Simplify(), f"B[0] = {simple}")


@pytest.mark.parametrize(("extent", "index"), [(2, "x"), (3, "3 * x // 2")])
def test_an_index_of_few_values(extent: int, index: str) -> None:
    text = f"for x in range({extent}):\n    B[{{}}] = 1"
    gives(program(text.format("3 * x // 2"), INTS), Simplify(), text.format(index))


@pytest.mark.parametrize(("shape", "index"), [("n * 32 - 1", "1"), ("n * 32 + 2", "T.min(1, n)")])
def test_a_shape_is_not_negative(shape: str, index: str) -> None:
    """With 32 n - 1 ≥ 0 elements there is an n of at least one."""
    params = f'A: T.Buffer(({shape},), "int32"), B: T.Buffer((n + 2,), "int32"), n: T.int32'
    text = "T.assume(n < 1000)\nA[{}] = 1"
    gives(program(text.format("T.min(1, n)"), params), Simplify(), text.format(index))


@pytest.mark.parametrize(("offset", "short"), [("(i - i) * 4 + j", "j"), ("i * 4 + j", "i * 4 + j")])
def test_views_are_declared_with_less(offset: str, short: str) -> None:
    text = """
for i, j in T.grid(2, 4):
    v = T.decl_buffer((1,), "int32", data=B.data, elem_offset={})
    v[0] = A[i]"""
    gives(program(text.format(offset), INTS), Simplify(), text.format(short))
