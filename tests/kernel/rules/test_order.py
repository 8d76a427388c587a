"""Swap, fission, fuse, index-set splitting and joining: what they give, and what they refuse beside it."""

from __future__ import annotations

from tests.kernel.programs import AB, accepted, buffer, gives, load, program, refused, variable
from verified_tir.ir.sugar import binary, const
from verified_tir.schedule import moves

ABN = AB + ", n: T.int32"


def test_swap() -> None:
    gives(program("A[0] = 1\nB[0] = A[1]"), moves.swap((), 0), "B[0] = A[1]\nA[0] = 1")
    meets = (
        "dependence: the two statements may change places: no dependence between the write and the read of A (Refuted)"
    )
    refused(program("A[1] = 1\nB[0] = A[1]"), moves.swap((), 0), meets)
    refused(program("A[0] = 1"), moves.swap((), 0), "there are no two adjacent statements here")
    refused(program("A[0] = 1\nB[0] = 2"), moves.swap((), 1), "there are no two adjacent statements here")


def test_swap_knows_where_it_stands() -> None:
    body = "for i in range(4):\n    if i < 2:\n        A[i] = 1\n        B[i] = A[i + 2]"
    accepted(program(body), moves.swap((0, 0), 0))
    refused(program(body.replace("i + 2", "2 * i")), moves.swap((0, 0), 0), "the write and the read of A")


def test_swap_counts_what_guards_read() -> None:
    guard = "A[0] = 1\nif A[{}] > 0:\n    B[0] = 2"
    accepted(program(guard.format(1)), moves.swap((), 0))
    refused(program(guard.format(0)), moves.swap((), 0), "the write and the read of A")


def test_nothing_passes_an_opaque_call_that_gives_an_index() -> None:
    stays = "an opaque call, assertion or while loop stays in its place"
    called = 'B[T.call_extern("int32", "g") % 4] = 1'
    for text in (f"{called}\nA[0] = 2", f"A[0] = 2\n{called}", f"{called}\n{called}"):
        refused(program(text), moves.swap((), 0), stays)


def test_distribute() -> None:
    text = "for i in range(3):\n    A[i] = i\n    B[i] = A[{}]"
    gives(
        program(text.format("i")),
        moves.fission((), 1),
        "for i in range(3):\n    A[i] = i\nfor i in range(3):\n    B[i] = A[i]",
    )
    apart = (
        "dependence: the two statements may change places: no dependence between the read and the write of A (Refuted)"
    )
    refused(program(text.format("i + 1")), moves.fission((), 1), apart)
    refused(program(text.format("i")), moves.fission((), 2), "not a loop")


def test_distribute_evaluates_the_bounds_and_the_condition_again() -> None:
    loop = "for i in range(B[0]):\n    {}[0] = 0\n    A[1] = i"
    accepted(program(loop.format("A")), moves.fission((), 1))
    refused(program(loop.format("B")), moves.fission((), 1), "the body writes what bounds or guards read")
    branch = "if A[0] > 0:\n    {}[0] = 0\n    B[1] = 1"
    gives(
        program(branch.format("B")),
        moves.fission((), 1),
        "if A[0] > 0:\n    B[0] = 0\nif A[0] > 0:\n    B[1] = 1",
    )
    refused(program(branch.format("A")), moves.fission((), 1), "the body writes what bounds or guards read")


def test_fuse() -> None:
    text = "for i in range({}):\n    A[i] = i\nfor j in range(n):\n    B[j] = A[{}]"
    gives(
        program(text.format("n", "j"), ABN),
        moves.fuse((), 0),
        "for i in range(n):\n    A[i] = i\n    B[i] = A[i]",
    )
    later = (
        "dependence: the two statements may change places: no dependence between the write and the read of A (Refuted)"
    )
    refused(program(text.format("n", "j + 1"), ABN), moves.fuse((), 0), later)
    same = "bijection: every new iteration is an old one of (j) (Refuted)"
    refused(program(text.format("n + 1", "j"), ABN), moves.fuse((), 0), same)


def test_fuse_needs_loops_of_one_kind_whose_bounds_stay() -> None:
    text = "for i in range(2):\n    A[i] = i\nfor j in {}:\n    B[j] = 1"
    refused(program(text.format("T.parallel(2)")), moves.fuse((), 0), "the two loops differ in type or kind")
    refused(
        program(text.format("range(A[0])")),
        moves.fuse((), 0),
        "the body writes what bounds or guards read",
    )
    start = "bijection: every new iteration is an old one of (j) (Refuted)"
    refused(program(text.format("range(1, 3)")), moves.fuse((), 0), start)
    refused(
        program("A[0] = 1\nfor j in range(2):\n    B[j] = 1"),
        moves.fuse((), 0),
        "the two statements are not both loops",
    )
    text = "for i in range(B[3]):\n    A[i] = i\nfor j in range(B[3]):\n    B[j] = A[j]"
    accepted(program("T.assume(B[3] < 4)\n" + text), moves.fuse((), 1))  # B is written after both bounds are read
    text = text.replace("A[i]", "B[i]")
    refused(program("T.assume(B[3] < 4)\n" + text), moves.fuse((), 1), "the body writes what bounds or guards read")


def test_fuse_may_look_at_earlier_iterations() -> None:
    accepted(program("for i in range(3):\n    A[i + 1] = i\nfor j in range(3):\n    B[j] = A[j]"), moves.fuse((), 0))


def test_partition() -> None:
    f = program("for i in range(n):\n    A[i] = i", ABN)
    n = variable(f, "n")
    text = "for i in range(T.min(n, 2)):\n    A[i] = i\nfor i in range(T.min(n, 2), n):\n    A[i] = i"
    known = program("T.assume(n >= 0)\nfor i in range(n):\n    A[i] = i", ABN)
    k = variable(known, "n")
    gives(known, moves.split_index_set((1,), binary("min", k, 2)), "T.assume(n >= 0)\n" + text)
    within = "bijection: every new iteration is an old one of (i) (Refuted)"
    accepted(f, moves.split_index_set((), binary("min", n, 2)))  # of an empty range any middle before its start will do
    refused(known, moves.split_index_set((1,), binary("min", k - 1, 2)), within)
    refused(known, moves.split_index_set((1,), const(1)), within)
    refused(f, moves.split_index_set((), const(0, "int64")), "the middle has type int64")


def test_the_middle_is_safe_to_evaluate() -> None:
    f = program("T.assume(n >= 1)\nfor i in range(n):\n    A[i] = i", ABN)
    n = variable(f, "n")
    refused(f, moves.split_index_set((1,), n // (n - 1) * 0), "safety: n // (n - 1): no division by zero (Refuted)")
    refused(f, moves.split_index_set((1,), n // (n + 1)), "safety: n + 1: no overflow (Refuted)")
    accepted(f, moves.split_index_set((1,), n // n))
    refused(f, moves.split_index_set((1,), n * n - n * n), "no overflow (Refuted)")
    refused(f, moves.split_index_set((1,), variable(f, "i")), "i")


def test_partition_reads_the_bounds_again() -> None:
    f = program("for i in range(2):\n    B[0] = 0")
    refused(f, moves.split_index_set((), load(buffer(f, "B"), 0)), "the body writes what bounds or guards read")


def test_join() -> None:
    text = "T.assume(n >= 2)\nfor i in range(2):\n    A[i] = i\nfor j in range({}, n):\n    A[j] = {}"
    joined = "T.assume(n >= 2)\nfor i in range(2 + (n - 2)):\n    A[i] = i"
    gives(program(text.format(2, "j"), ABN), moves.join_index_sets((), 1), joined)
    bounded = "T.assume(n <= 9)\n" + text
    missed = "bijection: every new iteration is an old one of (i) (Refuted)"
    refused(program(bounded.format(3, "j"), ABN), moves.join_index_sets((), 2), missed)
    refused(program(text.format(1, "j"), ABN), moves.join_index_sets((), 1), "no overflow")
    refused(program(bounded.format(1, "j"), ABN), moves.join_index_sets((), 2), missed)
    refused(program(text.format(2, "0"), ABN), moves.join_index_sets((), 1), "the statements to be merged differ")
    licensed = text.replace("in range({}, n)", "in T.parallel({}, n)")
    refused(program(licensed.format(2, "j"), ABN), moves.join_index_sets((), 1), "the two loops differ in type or kind")
    empty = text.replace("n >= 2", "n >= 1")
    refused(
        program(empty.format(2, "j"), ABN),
        moves.join_index_sets((), 1),
        "bijection: every old iteration of (i) is run (Refuted)",
    )


def test_join_reads_the_bounds_once() -> None:
    text = "for i in range(2):\n    B[{0}] = 5\nfor j in range(2, B[0]):\n    B[{0}] = 5"
    refused(program(text.format(0)), moves.join_index_sets((), 0), "the body writes what bounds or guards read")
    refused(
        program("A[0] = 1\nfor j in range(2):\n    B[j] = 1"),
        moves.join_index_sets((), 0),
        "the two statements are not both loops",
    )
    refused(program("A[0] = 1"), moves.join_index_sets((), 0), "there are no two adjacent statements here")
