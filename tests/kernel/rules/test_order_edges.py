"""The order of instances, where it is tight: each test is the smallest program that one forgotten condition accepts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.kernel.programs import AB, accepted, buffer, gives, gives_folded, load, program, refused, variable
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path, at
from verified_tir.ir.stmt import For, Seq
from verified_tir.ir.sugar import binary, const
from verified_tir.schedule import moves
from verified_tir.schedule.moves import NewLoop
from verified_tir.schedule.rule_builders import RuleBuilder, of_kind

ABN = AB + ", n: T.int32"
ABC = AB + ', C: T.Buffer((4,), "int32")'
p, q = Var.fresh("p"), Var.fresh("q")

NO_PLACE = "not a loop (or an if without else) over a sequence that can be split there"


def new(v: Var, extent: int, low: int = 0) -> NewLoop:
    return NewLoop(v, const(low), const(extent))


@pytest.mark.parametrize("position", [-1, 0, 2, 3])
@pytest.mark.parametrize("around", ["for i in range(3):", "if n > 0:"])
def test_there_is_something_on_both_sides_of_the_place(around: str, position: int) -> None:
    f = program(f"{around}\n    A[1] = 1\n    B[1] = 2", ABN)
    accepted(f, moves.fission((), 1))
    refused(f, moves.fission((), position), NO_PLACE)


@pytest.mark.parametrize("rule", [moves.swap, moves.fuse, moves.join_index_sets])
@pytest.mark.parametrize("position", [-1, 1, 2])
def test_there_are_two_neighbours(rule: Callable[[Path, int], RuleBuilder], position: int) -> None:
    f = program("for i in range(2):\n    A[i] = i\nfor i in range(2, 4):\n    A[i] = i")
    refused(f, rule((), position), "there are no two adjacent statements here")
    refused(program("A[0] = 1"), rule((), 0), "there are no two adjacent statements here")


@pytest.mark.parametrize(
    "text", ["A[0] = 1\nfor i in range(2):\n    A[i] = i", "for i in range(2):\n    A[i] = i\nA[0] = 1"]
)
def test_both_neighbours_are_loops(text: str) -> None:
    refused(program(text), moves.fuse((), 0), "the two statements are not both loops")
    refused(program(text), moves.join_index_sets((), 0), "the two statements are not both loops")
    refused(program("A[0] = 1"), moves.split_index_set((), const(1)), "not a loop")


def test_loops_of_two_types_stay_apart() -> None:
    text = "for i in range(2):\n    A[i] = 0\nfor j in range(T.int64(2), T.int64(4)):\n    A[j] = 0"
    refused(program(text), moves.join_index_sets((), 0), "the two loops differ in type or kind")
    text = "for i in range(2):\n    A[i] = 0\nfor j in range(T.int64(2)):\n    B[j] = 0"
    refused(program(text), moves.fuse((), 0), "the two loops differ in type or kind")


def test_what_the_first_part_stores_is_not_what_was_there_before() -> None:
    """In each iteration X[i] is 1 when it is looked at, though it was 0 before the loop."""
    text = """
for i in range(4):
    A[i] = 0
for i in range(4):
    {first}
    if A[i] == 1:
        B[0] = i
"""
    stores = program(text.format(first="A[i] = 1\n    C[i] = B[0]"), ABC)
    accepted(program(text.format(first="C[i] = B[0]"), ABC), moves.fission((1,), 1))  # the branch is never taken
    refused(stores, moves.fission((1,), 2), "the write and the read of B")


@pytest.mark.parametrize(("low", "high"), [(0, 3), (0, 4), (1, 4)])
def test_first_and_last_iteration_count(low: int, high: int) -> None:
    """Only the two iterations at the ends of the range meet."""
    ends = f"    if i == {high - 1}:\n        A[0] = 1\n    if i == {low}:\n        B[0] = A[0]"
    refused(program(f"for i in range({low}, {high}):\n{ends}"), moves.fission((), 1), "the read and the write of A")


def test_iterations_outside_of_the_range_do_not_count() -> None:
    for stranger in (0, 4):
        text = f"for i in range(1, 4):\n    if i == {stranger}:\n        A[0] = 1\n    B[i] = A[0]"
        accepted(program(text), moves.fission((), 1))


def test_an_empty_range_is_not_joined_with_a_negative_one() -> None:
    """[0, n) then [n, 4) is [0, 4) only if both are ranges: with n = -1, A[-1] would never have been looked at."""
    text = "for i in range(n):\n    A[i % 4] = i\nfor i in range(n, 4):\n    A[i % 4] = i"
    refused(program(text, ABN), moves.join_index_sets((), 0), "no overflow")
    bounded = "T.assume({} <= 4 and -4 <= n)\n" + text
    refused(program(bounded.format("n"), ABN), moves.join_index_sets((), 1), "is run")
    accepted(program("T.assume(0 <= n and n <= 4)\n" + text, ABN), moves.join_index_sets((), 1))
    other = "T.assume(0 <= n and n <= 8)\n" + text
    refused(program(other, ABN), moves.join_index_sets((), 1), "every old iteration of (i) is run")


def test_a_middle_and_both_extents_are_safe_to_evaluate() -> None:
    f = program("for i in range(4):\n    A[i] = i", ABN)
    n = variable(f, "n")
    refused(
        f,
        moves.split_index_set((), binary("max", binary("min", n + n, const(4)), const(0))),
        "safety: n + n: no overflow",
    )
    f = program("T.assume(n == 2147483646)\nfor i in range(n, n + 2):\n    A[i % 4] = i", ABN)
    n = variable(f, "n")
    refused(f, moves.split_index_set((1,), n), "no overflow")  # n + 2 - n overflows on its way


def test_a_middle_that_another_iteration_stores_is_a_race() -> None:
    parallel = "for i in T.parallel(4):\n    for j in range(4):\n        A[i] = j\n    B[i] = 1"
    f = program(f"for k in range(4):\n    B[k] = 0\n{parallel}")
    i, b = variable(f, "i"), buffer(f, "B")

    def middle(index: object) -> RuleBuilder:
        return moves.split_index_set((1, 0, 0), binary("max", binary("min", load(b, index), const(4)), const(0)))  # type: ignore[arg-type]

    accepted(f, middle(i))
    refused(f, middle(3 - i), "of its iterations")


def nested(f: PrimFunc) -> PrimFunc:
    """The same program with its first two statements in a sequence of their own, which steps flatten on their way."""
    assert isinstance(f.body, Seq)
    first, second, *rest = f.body.stmts
    return f.with_body(Seq((Seq((first, second)), *rest)))


def test_a_sequence_in_a_sequence_moves_what_comes_after_it() -> None:
    """The loop that becomes parallel is the second statement, and the third in the program after."""
    f = nested(program("B[1] = 0\nB[2] = 0\nfor j in range(3):\n    for i in range(4):\n        A[0] = i"))
    loop = at(f.body, (1, 0))
    assert isinstance(loop, For)
    refused(f, of_kind((1, 0), "parallel"), "of its iterations")
    alone = f.with_body(Seq((Seq((at(f.body, (0, 0)),)), at(f.body, (1,)))))
    refused(alone, of_kind((1, 0), "parallel"), "of its iterations")


def test_parts_of_a_range_that_does_not_start_at_zero() -> None:
    f = program("for i in range(1, 4):\n    A[i] = i")
    gives(
        f,
        moves.split_index_set((), const(2)),
        "for i in range(1, 2):\n    A[i] = i\nfor i in range(2, 4):\n    A[i] = i",
    )


def test_the_extents_of_joined_loops_can_be_added() -> None:
    """The last value of the second loop fits its type, and the sum of the extents need not."""
    text = "for i in range(n):\n    A[i % 4] = 1\nfor i in range(n, n + m):\n    A[i % 4] = 1"
    assumed = "T.assume(0 <= n and 0 <= m and n <= {} and m <= 1024)\n"
    refused(
        program(assumed.format(2**31 - 1024) + text, f"{ABN}, m: T.int32"),
        moves.join_index_sets((), 1),
        "safety: n + m: no overflow",
    )
    accepted(program(assumed.format(2**31 - 1025) + text, f"{ABN}, m: T.int32"), moves.join_index_sets((), 1))


def test_threads_are_named_and_nothing_else_is() -> None:
    f = program("for i in range(4):\n    A[i] = i")
    said = "a thread binding names its thread, and only a thread binding does"
    refused(f, of_kind((), "thread_binding"), said)
    refused(f, of_kind((), "parallel", "threadIdx.x"), said)
    accepted(f, of_kind((), "thread_binding", "threadIdx.x"))
    refused(program("A[0] = 1"), of_kind((), "parallel"), "not a loop")


def test_the_last_value_of_an_unrolled_loop_fits_its_type() -> None:
    f, i = program("for i in range(4):\n    A[i % 4] = 1"), 2**31 - 2
    assert isinstance(f.body, For)
    ends = f.with_body(For(f.body.var, const(i), const(2), f.body.body))
    gives_folded(ends, moves.unroll(()), f"A[{i % 4}] = 1\nA[{(i + 1) % 4}] = 1")
    past = f.with_body(For(f.body.var, const(i + 1), const(2), f.body.body))
    refused(past, moves.unroll(()), "the loop's last value does not fit int32")


# -- reindex ------------------------------------------------------------------------------------------------------


def test_iterations_are_neither_lost_nor_disguised() -> None:
    f = program("for i in range(4):\n    A[i] = i")
    i = variable(f, "i")
    refused(
        f,
        moves.reindex((), 1, (new(p, 1),), (), (const(0),), (const(0),)),
        "bijection: each old iteration is run as itself",
    )
    refused(f, moves.reindex((), 1, (new(p, 4),), (), (p % 2,), (i,)), "bijection: no old iteration is run twice")
    refused(f, moves.reindex((), 1, (new(p, 5),), (), (p,), (i,)), "bijection: every new iteration is an old one")
    refused(f, moves.reindex((), 1, (new(p, 3),), (), (p,), (i,)), "bijection: every old iteration of (i) is run")


def test_what_the_new_nest_evaluates_is_safe() -> None:
    """As integers without end all of these are right; as int32 they overflow on their way."""
    f = program("for i in range(4):\n    A[i] = i")
    i, large = variable(f, "i"), const(2**31 - 1)
    guard = binary("gt", p + large, p)
    refused(f, moves.reindex((), 1, (new(p, 4),), (guard,), (p,), (i,)), "no overflow")
    refused(f, moves.reindex((), 1, (new(p, 4),), (), (p + large - large,), (i,)), "no overflow")
    accepted(f, moves.reindex((), 1, (new(p, 4),), (binary("gt", p + 5, p),), (p + 5 - 5,), (i,)))


def test_maps_have_an_expression_of_its_type_for_each_loop() -> None:
    f = program("for i in range(4):\n    A[i] = i")
    i, wide = variable(f, "i"), Var.fresh("w", DType.parse("int64"))
    long = NewLoop(wide, const(0, "int64"), const(4, "int64"))
    refused(f, moves.reindex((), 1, (long,), (), (wide,), (i,)), "or they differ in type")
    refused(f, moves.reindex((), 1, (new(p, 4),), (), (p, p), (i,)), "the nest has 1 loops, the map 2 expressions")
    refused(f, moves.reindex((), 1, (new(p, 4),), (), (p,), ()), "the nest has 1 loops, the map 0 expressions")


def test_new_loop_variables_are_fresh_and_two() -> None:
    f = program("for i in range(4):\n    for j in range(4):\n        A[i] = B[j]")
    i, j = variable(f, "i"), variable(f, "j")
    refused(
        f,
        moves.reindex((), 2, (new(p, 4), new(p, 4)), (), (p, p), (i, j)),
        "is bound twice",
    )
    gives(f, moves.reindex((), 2, (new(i, 4), new(q, 4)), (), (i, q), (i, j)),
          "for i, q in T.grid(4, 4):\n    A[i] = B[q]")  # fmt: skip
    refused(f, moves.reindex((0,), 1, (new(i, 4),), (), (i,), (j,)), "is bound twice")
    refused(f, moves.reindex((), 1, (new(p, 4),), (), (i,), (i,)), "variable i is not in scope here")
