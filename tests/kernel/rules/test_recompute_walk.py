"""What is known where instances run again, or statements go: of memory before, in between, and at the place."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.kernel.programs import AB, accepted, buffer, gives, load, program, refused, store
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import seq
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.recompute import Recompute
from verified_tir.schedule.moves import NewLoop, recompute

ABC = AB + ', C: T.Buffer((4,), "int32")'
BEFORE = "recompute: the recomputed instance has run before (Refuted)"
SINCE = "what is recomputed was not overwritten since"
OPAQUE = 'T.evaluate(T.call_extern("int32", "g", B.data))'
AROUND = "what the source stands in writes what its bounds or conditions read"


def again(path: Path, source: Path, *instance: Expr | int, guards: tuple[Expr, ...] = ()) -> Recompute:
    return recompute(path, source, (), guards, tuple(const(w) for w in instance))


def test_an_opaque_call_before_the_place() -> None:
    text = "B[0] = 1\nfor k in range(2):\n    {}\n    A[k] = 1"
    refused(program(text.format(OPAQUE)), again((1, 0, 1), (0,)), "an opaque call stands there")
    accepted(program(text.format("A[3] = k")), again((1, 0, 1), (0,)))


@pytest.mark.parametrize(("before", "since", "fine"), [(2, 0, True), (0, 4, False)])
def test_bounds_are_those_of_the_run(before: int, since: int, fine: bool) -> None:
    f = program(f"A[0] = {before}\nfor x in range(A[0]):\n    B[x] = 7\nA[0] = {since}\nC[0] = 1", ABC)
    rule = again((3,), (1, 0), 1)
    accepted(f, rule) if fine else refused(f, rule, BEFORE)


def test_which_instance_it_is_the_place_says() -> None:
    """A[0] is 3 at the place, and the source ran for x < 1 only."""
    text = "A[0] = 0\nfor x in range(4):\n    if x < 1:\n        B[x] = 5\n    A[0] = {}\nC[0] = 1"
    for left, fine in ((3, False), (0, True)):
        f = program(text.format(left), ABC)
        rule = again((2,), (1, 0, 0, 0), load(buffer(f, "A"), 0))
        accepted(f, rule) if fine else refused(f, rule, BEFORE)


def test_the_way_that_the_run_took() -> None:
    """The source found A[0] == 0, and stored to B; B was stored to since."""
    f = program(
        "A[0] = 1\nfor x in range(1):\n    A[0] = 0\n    if A[0] == 0:\n        B[0] = 1\nB[0] = 2\nC[0] = 1", ABC
    )
    refused(f, again((3,), (1, 0, 1), 0), SINCE)
    f = program(
        "A[0] = 1\nfor x in range(1):\n    A[1] = 0\n    if A[0] == 0:\n        B[0] = 1\nB[1] = 2\nC[0] = 1", ABC
    )
    accepted(f, again((3,), (1, 0, 1), 0))


def test_earlier_iterations_of_a_while_loop_have_stored() -> None:
    text = "B[0] = 7\nwhile A[0] > 0:\n    A[0] = A[0] - 1\n    {} = 1"
    refused(program(text.format("B[0]")), again((1, 0, 0), (0,)), SINCE)
    accepted(program(text.format("B[1]")), again((1, 0, 0), (0,)))


def test_earlier_iterations_begin_where_the_loop_began() -> None:
    """The loop began at 1, whatever its first bound reads now."""
    text = "B[0] = 7\nA[0] = {}\nfor k in range(A[0], 3):\n    C[k] = 1\n    B[k] = 0\n    A[0] = 0"
    accepted(program(text.format(1), ABC), again((2, 0, 0), (0,)))
    refused(program(text.format(0), ABC), again((2, 0, 0), (0,)), SINCE)


def test_lets_around_the_source() -> None:
    f = program("for x in range(3):\n    y: T.let[T.int32] = x * 2\n    if y < 3:\n        B[x] = 1\nC[0] = 1", ABC)
    accepted(f, again((1,), (0, 0, 0, 0), 1))
    refused(f, again((1,), (0, 0, 0, 0), 2), BEFORE)


def test_a_store_before_the_source_in_its_iteration_is_not_since() -> None:
    f = program("for x in range(2):\n    B[0] = x\n    C[x] = B[0]\nA[0] = 1", ABC)
    accepted(f, again((1,), (0, 0, 1), 1))
    refused(f, again((1,), (0, 0, 1), 0), SINCE)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("for x in range(A[0], 2):\n    {} = 1\n    B[x] = 1", (1, 0, 1)),
        ("for x in range(A[0] + 1):\n    {} = 1\n    B[x] = 1", (1, 0, 1)),
        ("for x in range(2):\n    if A[0] == 0:\n        {} = 1\n        B[x] = 1", (1, 0, 0, 1)),
        ("for x in range(2):\n    y: T.let[T.int32] = A[0]\n    {} = y\n    B[x] = 1", (1, 0, 0, 1)),
    ],
)
def test_what_stands_around_the_source_does_not_change(text: str, source: Path) -> None:
    around = "A[0] = 0\n" + text + "\nC[0] = 1"
    refused(program(around.format("A[1]"), ABC), again((2,), source, 0), AROUND)
    accepted(program(around.format("C[1]"), ABC), again((2,), source, 0))


def test_where_a_loop_around_the_source_begins_does_not_change() -> None:
    for stored, fine in (("C", True), ("A", False)):
        f = program(f"A[0] = 0\nfor x in range(2):\n    {stored}[1] = 1\n    B[x] = 1\nC[0] = 1", ABC)
        first, loop, last = f.body.stmts  # type: ignore[attr-defined]
        f = f.with_body(seq(first, replace(loop, min=load(buffer(f, "A"), 0)), last))
        rule = again((2,), (1, 0, 1), 0)
        accepted(f, rule) if fine else refused(f, rule, AROUND)


def test_guards_and_bounds_that_the_source_changes() -> None:
    f = program("A[0] = 1\nB[0] = 1", AB)
    a = buffer(f, "A")
    writes = "the source writes what the new bounds, conditions or values read"
    refused(f, again((1,), (0,), guards=(binary("eq", load(a, 0), 1),)), writes)
    refused(f, recompute((1,), (0,), (NewLoop(Var.fresh("y"), const(0), load(a, 0)),), (), ()), writes)


# -- statements that go ------------------------------------------------------------------------------------------------

ALLOC = 't = T.alloc_buffer((4,), "int32")\n'


def test_an_opaque_call_after_another_statement() -> None:
    f = program(f"{ALLOC}t[0] = 1\nA[0] = 1\n{OPAQUE}")
    found = refused(f, Erase((0, 0), dead_at_end=True), "")
    assert found.reason == "an opaque call comes later, which may read everything"  # type: ignore[union-attr]


def test_what_stores_nothing_goes() -> None:
    gives(program("T.evaluate(A[0])\nB[0] = 1"), Erase((0,), dead_at_end=True), "B[0] = 1")
    gives(program("B[0] = 1\nif A[0] > 0:\n    T.evaluate(A[1])"), Erase((1,), dead_at_end=True), "B[0] = 1")


def test_all_that_a_buffer_is_for_goes() -> None:
    gives(program(f"{ALLOC}t[0] = A[0]\nt[1] = t[0]"), Erase((0,), dead_at_end=True), f"{ALLOC}pass")


def test_what_a_dead_statement_assumed_is_known_after_it() -> None:
    text = 'with T.sblock("b"):\n    {}A[1] = 5\nB[0] = A[n]\nA[1] = 6'
    n = AB + ", n: T.int32"
    gives(program(text.format("T.assume(n == 0)\n    "), n), Erase((0,), 2), "B[0] = A[n]\nA[1] = 6")
    refused(program(text.format(""), n), Erase((0,), 2), "no later read sees it (Refuted)")


def test_of_two_inserted_stores_one_is_dead_and_one_changes_nothing() -> None:
    f = program("A[0] = 3\nB[1] = 3\nC[0] = 6", ABC)
    a, b, c = (buffer(f, name) for name in "ABC")
    accepted(f, Insert((2,), seq(store(a, load(b, 1), 0), store(c, 5, 0)), "before", 1))
    refused(f, Insert((2,), seq(store(a, load(b, 0), 0), store(c, 5, 0)), "before", 1), "the store to A is dead: ")
