"""Statements that run again what ran before go."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.kernel.programs import accepted, gives, licensed_for, program, refused, steps, variable
from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.sugar import const
from verified_tir.kernel.rules.recompute import Eliminate
from verified_tir.schedule.moves import NewLoop, recompute

PARAMS = 'A: T.Buffer((16, 8), "int32"), B: T.Buffer((14,), "int32")'
ONCE = """
t = T.alloc_buffer((16,), "int32")
for x in range(16):
    t[x] = 0
    for k in range(8):
        t[x] = t[x] + A[x, k]
for y in range(14):
    B[y] = t[y] + t[y + 2]
"""
AGAIN = ONCE.replace(
    "    B[y]",
    """\
    for p in range(3):
        t[y + p] = 0
        for k in range(8):
            t[y + p] = t[y + p] + A[y + p, k]
    B[y]""",
)


def second(f: PrimFunc, start: int = 0, extent: int = 3) -> Eliminate:
    """The rows that are computed again for each y go."""
    p = Var.fresh("p")
    loops = (NewLoop(p, const(0), const(extent)),)
    y = variable(f, "y")
    return Eliminate(
        (0, 1, 0, 0), recompute((0, 1, 0), (0, 0, 0), loops, (), (y + p if start == 0 else y + p + start,))
    )


def test_what_was_computed_before_is_not_computed_again() -> None:
    f = program(AGAIN, PARAMS)
    gives(f, second(f), ONCE)


def test_it_is_what_recompute_would_insert() -> None:
    f = program(AGAIN, PARAMS)
    other = "the statement does not run again what ran before"
    refused(f, second(f, extent=2), other)
    refused(f, second(f, start=1), "")
    for path in ((0, 1, 0, 1), (0, 1), (0, 0), (0,), (9,), ()):
        refused(f, replace(second(f), path=path), "")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    B[y] =", "    t[y + 1] = 7\n    B[y] ="),  # what was computed is spoiled by an earlier y
        ("for x in range(16)", "for x in range(15)"),  # the last row was never computed before
        ("t[x] + A[x, k]", "t[x] + A[x, k] + 1"),  # something else was
        ("for y in range(14)", "t[3] = 1\nfor y in range(14)"),
        ("for y in range(14)", "A[3, 0] = 1\nfor y in range(14)"),
    ],
)
def test_near_misses(old: str, new: str) -> None:
    text = AGAIN.replace(old, new) if old in ONCE else AGAIN.replace(old, new, 1)
    f = program(text, PARAMS)
    shift = 1 if "\nfor y" in new else 0
    rule = second(f)
    if shift:
        rule = Eliminate((0, 2, 0, 0), replace(rule.recompute, path=(0, 2, 0)))
    refused(f, rule, "")


def test_back_and_forth() -> None:
    f = program(ONCE, PARAMS)
    p, y = Var.fresh("p"), variable(f, "y")
    again = recompute((0, 1, 0), (0, 0, 0), (NewLoop(p, const(0), const(3)),), (), (y + p,))
    theorem = steps(f, again, Eliminate((0, 1, 0, 0), again))
    assert theorem.after is f
    assert len(theorem.derivation) == 2


def test_two_sums_of_a_licensed_block_could_differ() -> None:
    params = ", ".join(f'{name}: T.Buffer((8,), "float32")' for name in "ABC")
    twice = "    A[0] = 0.0\n    for k in range(8):\n        A[0] = A[0] + C[k]\n"
    f = program(f"if C[0] > C[1]:\n{twice}if C[0] > C[1]:\n{twice}B[0] = A[0]", params)
    rule = Eliminate((1,), recompute((1,), (0,), (), (), ()))
    accepted(f, rule)
    refused(licensed_for(f, "A"), rule, "sums into a licensed block")
