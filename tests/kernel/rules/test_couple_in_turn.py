"""The elements of a local buffer share places, one after the other."""

from __future__ import annotations

import pytest

from tests.kernel.programs import accepted, gives, licensed_for, program, refused, variable
from verified_tir.ir.expr import FALSE, Expr, Var
from verified_tir.ir.sugar import const
from verified_tir.kernel.rules.couple import Couple
from verified_tir.kernel.rules.layout import LayoutMap

x, y = Var.fresh("x"), Var.fresh("y")
TAKEN = "layout: no other element of t takes the place of one that is read later (Refuted)"
PARAMS = 'A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")'
FLOATS = PARAMS.replace("int32", "float32")


def folded(extent: int, image: Expr | None = None, path: tuple[int, ...] = ()) -> Couple:
    """Element x goes to x modulo ``extent``, or to ``image``."""
    layout = LayoutMap((x,), (x % extent if image is None else image,), (y,), (y,), (const(extent),), FALSE)
    return Couple(path, layout, "in turn")


WINDOW = """
t = T.alloc_buffer((8,), "int32")
for i in range(8):
    t[i] = A[i]
    if i > 0:
        B[i] = t[i] + t[i - 1]
"""


def test_a_window_of_two() -> None:
    result = WINDOW.replace("(8,)", "(2,)").replace("t[i]", "t[i % 2]").replace("t[i - 1]", "t[(i - 1) % 2]")
    gives(program(WINDOW, PARAMS), folded(2), result)
    accepted(program(WINDOW, PARAMS), folded(3))
    refused(program(WINDOW, PARAMS), folded(1), TAKEN)
    refused(program(WINDOW.replace("t[i - 1]", "t[i // 2]"), PARAMS), folded(2), TAKEN)
    refused(program(WINDOW.replace("i - 1", "i - 2").replace("> 0", "> 1"), PARAMS), folded(2), TAKEN)


def test_the_place_exists() -> None:
    refused(
        program(WINDOW, PARAMS), folded(2, x % 3), "every accessed element of t lies within the new shape (Refuted)"
    )
    refused(program(WINDOW, PARAMS), folded(2, x % (x - 3)), "no division by zero (Refuted)")


@pytest.mark.parametrize(
    ("body", "fits"),
    [
        ("B[i] = t[i]\n    t[i] = A[i]", "an element that was never stored is undefined"),
        ("t[i] = A[i]\n    t[i] = A[i] + 1\n    B[i] = t[i]", "stored twice"),
        ("t[i] = A[i]\n    t[7 - i] = 1\n    B[i] = t[i]", ""),
        (
            "t[7 - i] = 1\n    t[i] = A[i]\n    B[i] = t[i]",
            "",
        ),  # t[i] is stored twice: it is not seen that the last counts
        ("if A[i] > 0:\n        t[i] = A[i]\n    B[i] = t[i]", "perhaps not stored: then it is undefined"),
        ("t[i] = A[i]\n    if A[i] > 0:\n        t[7 - i] = 1\n    B[i] = t[i]", ""),
        ("for k in range(3):\n        t[i] = A[k]\n        B[i] = t[i]", "again and again"),
        ("for k in range(3):\n        t[(i + k) % 8] = A[k]\n    B[i] = t[i]", ""),
        ("for k in range(3):\n        t[(i + k) % 8] = A[k]\n        B[k] = t[(i + k) % 8]", ""),  # likewise
        ("t[i:i + 2] = A[0:2]\n    B[i] = t[i]", ""),  # two lanes at once in one place
    ],
)
def test_one_place_for_all(body: str, fits: str) -> None:
    last = 7 if "i + 2" in body else 8
    f = program(f't = T.alloc_buffer((8,), "int32")\nfor i in range({last}):\n    {body}', PARAMS)
    if fits:
        accepted(f, folded(1, x * 0))
    else:
        refused(f, folded(1, x * 0), "")


def test_what_comes_after_the_last_read_may_be_lost() -> None:
    head = 't = T.alloc_buffer((8,), "int32")\nt[0] = 5\nt[1] = 6\n'
    accepted(program(f"{head}B[0] = t[1]\nt[2] = 7", PARAMS), folded(1, x * 0))
    refused(program(f"{head}B[0] = t[0]\nt[2] = 7", PARAMS), folded(1, x * 0), TAKEN)
    refused(program(f"{head}t[2] = 7\nB[0] = t[1]", PARAMS), folded(1, x * 0), TAKEN)
    accepted(program(f"{head}B[0] = t[1]\nt[0] = 7", PARAMS), folded(1, x * 0))  # of t[0] nobody reads anything


def test_iterations_of_an_outer_loop_begin_anew() -> None:
    """With the allocation in there; from outside it is not seen that each round stores before it reads."""
    inside = """
for r in range(2):
    t = T.alloc_buffer((8,), "int32")
    for i in range(8):
        t[i] = A[i]
        B[i] = t[i]
"""
    accepted(program(inside, PARAMS), folded(1, x * 0, (0,)))
    outside = """
t = T.alloc_buffer((8,), "int32")
for r in range(2):
    for i in range(8):
        t[i] = A[i]
        B[i] = t[i]
"""
    refused(program(outside, PARAMS), folded(1, x * 0), TAKEN)


def test_the_place_may_depend_on_what_is_around() -> None:
    inner = WINDOW.replace("\n", "\n    ")
    f = program(f"for o in range(3):\n    {inner.strip()}", PARAMS)
    o = variable(f, "o")
    accepted(f, folded(2, (x + o) % 2, (0,)))
    refused(f, folded(1, (x + o) % 1, (0,)), TAKEN)


def test_iterations_of_a_while_loop_are_not_told_apart() -> None:
    text = """
t = T.alloc_buffer((8,), "int32")
while A[0] > 0:
    t[0] = A[0]
    t[1] = 7
    B[0] = t[1]
    A[0] = A[0] - 1
"""
    refused(program(text, PARAMS), folded(1, x * 0), "used in a while loop: its elements share no place")
    own = LayoutMap((x,), (x + 1,), (y,), (y - 1,), (const(3),), FALSE)
    accepted(program(text, PARAMS), Couple((), own, "accessed"))
    refused(program(text, PARAMS), Couple((), own, "in turn"), "its elements share no place")


def test_a_place_holds_one_sum_at_a_time() -> None:
    text = """
t = T.alloc_buffer((8,), "float32")
for i in range(8):
    t[i] = T.float32(0.0)
    for k in range(8):
        t[i] = t[i] + A[k]
    B[i] = t[i]
"""
    f = program(text, FLOATS)
    accepted(f, folded(1, x * 0))
    refused(licensed_for(f, "t"), folded(1, x * 0), "t is summed into in any order")
    accepted(licensed_for(f, "A"), folded(1, x * 0))
