"""Other nests, where it is tight: bounds and guards that the body changes, and what is evaluated under which guard."""

from __future__ import annotations

import pytest

from tests.kernel.programs import AB, accepted, body_of, buffer, gives, load, program, refused, variable
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.sugar import binary, const
from verified_tir.schedule import moves
from verified_tir.schedule.moves import NewLoop

ABN = AB + ", n: T.int32"
p, q = Var.fresh("p"), Var.fresh("q")
CHANGES = "the body writes what bounds or guards read"


def new(v: Var, extent: Expr | int, low: Expr | int = 0) -> NewLoop:
    return NewLoop(v, const(low), const(extent))


def test_a_guard_that_the_body_changes() -> None:
    """At first A[0] == 1; after the first iteration it is 0, and no other one runs."""
    f = program("A[0] = 1\nfor i in range(4):\n    {}[0] = 0\n    B[i] = 1".format("A"))
    i = variable(f, "i")
    once = binary("eq", load(buffer(f, "A"), 0), 1)
    refused(f, moves.reindex((1,), 1, (new(p, 4),), (once,), (p,), (i,)), CHANGES)
    f = program("A[0] = 1\nfor i in range(4):\n    A[1] = 0\n    B[i] = 1\n".replace("A[1] = 0\n    ", ""))
    i = variable(f, "i")
    once = binary("eq", load(buffer(f, "A"), 0), 1)
    accepted(f, moves.reindex((1,), 1, (new(p, 4),), (once,), (p,), (i,)))


def test_an_old_guard_that_the_body_changes() -> None:
    """The other way round: without the guard all four iterations run, and only the first did."""
    text = "A[0] = 1\nfor i in range(4):\n    if A[0] == 1:\n        {}B[i] = 1"
    f = program(text.format("A[0] = 0\n        "))
    refused(f, moves.reindex((1,), 2, (new(p, 4),), (), (p,), (variable(f, "i"),)), CHANGES)
    f = program(text.format(""))
    gives(
        f,
        moves.reindex((1,), 2, (new(p, 4),), (), (p,), (variable(f, "i"),)),
        "A[0] = 1\nfor p in range(4):\n    B[p] = 1",
    )


def test_old_bounds_that_the_body_changes() -> None:
    """The inner loop runs twice the first time, and not at all after that."""
    text = "A[0] = 2\nfor i in range(2):\n    for j in range(A[0]):\n        {}B[i * 2 + j] = 1"
    for stored, fine in (("A[0] = 0\n        ", False), ("", True)):
        f = program(text.format(stored))
        i, j = variable(f, "i"), variable(f, "j")
        rule = moves.reindex((1,), 2, (new(p, 2), new(q, 2)), (), (p, q), (i, j))
        accepted(f, rule) if fine else refused(f, rule, CHANGES)


def test_new_bounds_and_values_that_the_body_changes() -> None:
    for stored, fine in (("A[0] = 5\n    ", False), ("", True)):
        f = program(f"A[0] = 0\nA[1] = 2\nfor i in range(4):\n    {stored}B[i] = 1")
        i, a = variable(f, "i"), buffer(f, "A")
        shifted = moves.reindex((2,), 1, (new(p, 4),), (), (p + load(a, 0) * 0 + 0 * p,), (i,))
        inner = moves.reindex((2,), 1, (new(p, 2), new(q, load(a, 0) + 2)), (), (p * 2 + q,), (i // 2, i % 2))
        for rule in (shifted, inner):
            accepted(f, rule) if fine else refused(f, rule, CHANGES)


def test_labels_stay() -> None:
    f = program('for i in range(4):\n    with T.sblock("b"):\n        B[i] = 1')
    gives(f, moves.reindex((), 2, (new(p, 4),), (), (3 - p,), (3 - variable(f, "i"),)),
          'for p in range(4):\n    with T.sblock("b"):\n        B[3 - p] = 1')  # fmt: skip


def test_iterations_that_write_nothing_change_places() -> None:
    f = program("for i in range(4):\n    T.evaluate(A[i])")
    gives(f, moves.reindex((), 1, (new(p, 4),), (), (3 - p,), (3 - variable(f, "i"),)),
          "for p in range(4):\n    T.evaluate(A[3 - p])")  # fmt: skip


def test_values_are_safe_under_the_guards() -> None:
    """Where p is 0 there is no value, and none is needed."""
    f = program("for i in range(4):\n    B[i] = 1")
    i = variable(f, "i")
    value = p - 1 + binary("floordiv", const(9), p) // 10
    accepted(f, moves.reindex((), 1, (new(p, 5),), (p > 0,), (value,), (i + 1,)))
    refused(f, moves.reindex((), 1, (new(p, 5),), (p >= 0,), (value,), (i + 1,)), "no division by zero (Refuted)")


@pytest.mark.parametrize("where", ["guard", "value", "bound"])
def test_the_new_nest_has_variables_of_its_own(where: str) -> None:
    f = program("for i in range(4):\n    for j in range(4):\n        B[i] = j")
    i, j = variable(f, "i"), variable(f, "j")
    loops = (new(p, i if where == "bound" else 4), new(q, 4))
    guards = (i >= 0,) if where == "guard" else ()
    values = (i if where == "value" else p, q)
    found = refused(f, moves.reindex((), 2, loops, guards, values, (i, j)), "")
    assert found.reason == "there is no theorem about the result: variable i is not in scope here"  # type: ignore[union-attr]
    assert "for p, q in T.grid(4, 4)" in body_of(
        accepted(f, moves.reindex((), 2, (new(p, 4), new(q, 4)), (), (p, q), (i, j)))
    )
