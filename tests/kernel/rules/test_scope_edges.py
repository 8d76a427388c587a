"""Allocations that may not move: each test is the smallest program that one forgotten condition accepts."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from tests.kernel.programs import AB, accepted, compact, program, refused, variable
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Var
from verified_tir.kernel.rules.scope import Declare
from verified_tir.schedule.rule_builders import moved
from verified_tir.semantics.interpreter import refines, run

ABN = AB + ", n: T.int32"
ALLOC = 't = T.alloc_buffer((2,), "int32")'
SIZED = 't = T.alloc_buffer((A[0],), "int32")'


def test_extents_are_in_scope_where_the_buffer_appears() -> None:
    f = program("for i in range(4):\n    A[i] = i\nB[0] = 1")
    t = Buffer.declare("t", (variable(f, "i"),), "int32")
    accepted(f, Declare((0, 0), t))
    refused(f, Declare((1,), t), "i is not in scope here")


@pytest.mark.parametrize(
    ("text", "how", "said"),
    [
        ("for i in range(3):\n    {}\n    t[0] = i\n    A[0] = 2", "hoist", "reads memory"),
        ("{}\nfor i in range(3):\n    t[0] = i\n    A[0] = 2", "sink", "reads memory"),
        ("{}\nA[0] = 2\nt[0] = 2\nB[1] = t[0]", "narrow", "reads memory"),
    ],
)
def test_extents_that_change(text: str, how: Literal["hoist", "sink", "narrow"], said: str) -> None:
    """``A[0]`` is the extent of t, and A is stored to.  (No theorem is about extents that read memory, anyway.)"""
    refused(program("A[0] = 2\n" + text.format(SIZED)), moved((1,), how), said)


@pytest.mark.parametrize("bounds", ["t[0], 4", "0, t[0]", "t[0], t[0]"])
def test_bounds_that_read_the_buffer_keep_it_outside(bounds: str) -> None:
    f = program(f"{ALLOC}\nfor i in range({bounds}):\n    t[1] = i\n    B[0] = t[1]")
    refused(f, moved((), "sink"), "buffer t is not declared here")


def test_an_opaque_call_may_read_what_an_earlier_iteration_left() -> None:
    look = 'T.evaluate(T.call_extern("int32", "look", A.data))'
    text = f"{ALLOC}\nfor i in range(3):\n    t[0] = i\n    {look}\n    B[i] = t[0]"
    refused(program(text), moved((), "sink"), "an opaque call may read")
    accepted(program(f"{ALLOC}\nfor i in range(3):\n    t[0] = i\n    B[i] = t[0]"), moved((), "sink"))


def test_what_was_undefined_may_survive_an_iteration() -> None:
    """No loop is new around t: what is read before it is written was undefined, and may be anything."""
    undefined = f"for i in range(3):\n    {ALLOC}\n    B[i] = t[0]\n    t[0] = i"
    after = accepted(program(undefined), moved((), "hoist"))
    arrays = {"A": np.zeros(4, np.int32), "B": np.zeros(4, np.int32)}
    assert not refines(run(program(undefined), arrays), run(after, arrays))
    look = 'T.evaluate(T.call_extern("int32", "look", A.data))'
    accepted(program(f"for i in range(3):\n    {ALLOC}\n    t[0] = i\n    {look}\n    B[i] = t[0]"), moved((), "hoist"))
    accepted(program(f"{ALLOC}\nA[0] = 1\nB[0] = t[0]\nt[0] = 2"), moved((), "narrow"))


def test_what_is_seen_through_another_view_is_not_made_compact() -> None:
    x = Var.fresh("x")
    text = f'{ALLOC}\nv = T.decl_buffer((2, 1), "int32", data=t.data)\nt[1] = 1\nB[0] = {{}}'
    refused(
        program(text.format("v[0, 0] + t[1]")), compact((), (x,), (x - 1,), (x * 0 + 1,)), "has other views or strides"
    )


EITHER = """
t = T.alloc_buffer((2,), "int32")
for i in range(4):
    t[1] = A[i]
    if t[1] > 0:
        t[0] = B[i]
    {0}
    B[i] = t[0]
"""


TWICE = """
t = T.alloc_buffer((2,), "int32")
for i in range(4):
    t[1] = A[i]
    if t[1] > 0:
        B[0] = A[3]
        t[0] = B[0]
    if t[1] {0} 0:
        t[0] = A[1]
    B[i] = t[0]
"""


def test_whatever_was_written_counts_as_written() -> None:
    """B may hold anything, undefined values too; and which branch stored it, memory of the iteration itself says."""
    accepted(program(EITHER.format("else:\n        t[0] = B[3 - i]")), moved((), "sink"))
    accepted(program(TWICE.format("<=")), moved((), "sink"))
    refused(program(TWICE.format("<")), moved((), "sink"), "sees a write of its own iteration")
    refused(program(EITHER.format("B[3] = 0")), moved((), "sink"), "sees a write of its own iteration")


@pytest.mark.parametrize(("element", "fine"), [("i", True), ("i * 3 % 4", False)])
def test_at_the_head_of_an_iteration_not_all_of_them_have_run(element: str, *, fine: bool) -> None:
    """A[3] is not stored to before the fourth iteration, and decides in the second one."""
    f = program(
        f"{ALLOC}\nfor i in range(4):\n    A[i] = 5\n    if A[{element}] == 5:\n        t[0] = i\n    B[i] = t[0]"
    )
    if fine:
        accepted(f, moved((), "sink"))
    else:
        refused(f, moved((), "sink"), "sees a write of its own iteration")


VECTORS = 'A: T.Buffer((8,), "float32x4"), B: T.Buffer((8,), "float32x4")'


@pytest.mark.parametrize(
    ("element", "fine"), [("0", True), ("i - i", True), ("i % 2", False), ("T.max(i - 6, 0)", False)]
)
def test_elements_that_are_vectors_are_written_lane_by_lane(element: str, *, fine: bool) -> None:
    text = f't = T.alloc_buffer((2,), "float32x4")\nfor i in range(8):\n    t[{element}] = A[i]\n    B[i] = t[0]'
    if fine:
        accepted(program(text, VECTORS), moved((), "sink"))
    else:
        refused(program(text, VECTORS), moved((), "sink"), "sees a write of its own iteration")
