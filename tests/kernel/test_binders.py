"""Copies that a rule makes bind variables of their own: loops, lets and allocations within what is copied."""

from __future__ import annotations

from tests.kernel.programs import AB, accepted, body_of, gives, program, variable
from verified_tir.ir.sugar import binary
from verified_tir.ir.visit import bound_vars
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.insert import Insert
from verified_tir.schedule import moves

PARAMS = AB + ", n: T.int32"


def test_both_arms_of_a_new_branch_have_their_own_variables() -> None:
    f = program('for i in range(4):\n    t = T.alloc_buffer((1,), "int32")\n    t[0] = A[i]\n    B[i] = t[0]', PARAMS)
    after = accepted(f, moves.introduce((), binary("gt", variable(f, "n"), 0)))
    assert len(set(bound_vars(after.body))) == 4
    assert body_of(after).count("B[i] = t[0]") == 2


def test_both_loops_of_a_hoisted_branch_have_their_own_variables() -> None:
    f = program("for i in range(4):\n    if n > 0:\n        B[i] = A[i]\n    else:\n        B[i] = 0", PARAMS)
    text = """
if n > 0:
    for i in range(4):
        B[i] = A[i]
else:
    for i in range(4):
        B[i] = 0
"""
    gives(f, moves.hoist(()), text)
    assert len(set(bound_vars(accepted(f, moves.hoist(())).body))) == 2


def test_a_statement_can_be_inserted_twice_and_where_it_came_from() -> None:
    f = program("for i in range(4):\n    B[i] = A[i]", PARAMS)
    again = Insert((), f.body, "after")
    once = accepted(f, again)
    twice = accepted(f, again, Insert((0,), f.body, "after"))
    assert [len(set(bound_vars(g.body))) for g in (f, once, twice)] == [1, 2, 3]
    assert body_of(accepted(f, again, Erase((1,)))) == body_of(f)
