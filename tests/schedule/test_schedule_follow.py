"""sequential_buffer_access, remove_branching_through_overcompute, simplify."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.schedule.schedule_programs import PROGRAMS, program
from tests.schedule.schedule_support import Steps, accepted, agree, not_applicable, refused
from verified_tir import Schedule
from verified_tir.script import tir as T

Golden = Callable[[str, str], None]

IN_FOURS = lambda i: [i // 4, i % 4]  # noqa: E731
ROWS_IN_FOURS = lambda i, j: [i, j // 4, j % 4]  # noqa: E731


# -- sequential_buffer_access ------------------------------------------------------------------------------------------


@pytest.mark.sample(11)
@pytest.mark.parametrize(
    ("name", "buffer", "index_map", "names"),
    [
        ("relu_1d", "A", IN_FOURS, ["i_0", "i_1"]),
        ("relu_1d", "B", lambda i: [(i + 2) // 8, (i + 2) % 8], ["i_0", "i_1"]),
        ("relu_1d", "A", lambda i: [i % 3, i // 3], ["i_0", "i_1"]),
        ("add_2d", "C", lambda i, j: [j, i], ["j", "i"]),
        ("add_2d", "A", lambda i, j: [i // 2, j // 3, i % 2, j % 3], ["i_0", "j_0", "i_1", "j_1"]),
        ("add_2d", "A", lambda i, j: [i * 7 + j], None),
        ("copy_4d", "B", lambda n, h, w, c: [n, c // 2, h, w, c % 2], ["n", "c_0", "h", "w", "c_1"]),
        ("offset", "B", IN_FOURS, ["i_0", "i_1"]),
        ("offset_2d", "B", lambda i, j: [i // 4, j // 4, i % 4, j % 4], ["i_0", "j_0", "i_1", "j_1"]),
        ("wide", "A", lambda i, j: [j // 2, i, j % 2], ["j_0", "i", "j_1"]),
        ("matmul", "C", lambda i, j: [i // 2, j // 4, i % 2, j % 4], ["i_0", "j_0", "i_1", "j_1"]),
        ("matmul", "A", lambda i, k: [i // 2, k, i % 2], ["i_0", "k", "i_1"]),
        ("row_sum", "A", ROWS_IN_FOURS, ["i", "j_0", "j_1"]),
        ("row_sum_symbolic", "A", ROWS_IN_FOURS, ["i", "j_0", "j_1"]),
        ("symbolic_3d", "B", lambda i, j, k: [j // 4, i, k // 8, j % 4, k % 8], ["j_0", "i", "k_0", "j_1", "k_1"]),
        ("transpose", "B", lambda j, i: [j // 4, i, j % 4], ["j_0", "i", "j_1"]),
        ("cached", "B_cache", IN_FOURS, ["i_0", "i_1"]),
        ("guarded", "B", lambda i, j: [i, j // 4, j % 4], ["i", "j_0", "j_1"]),
        ("max_pool", "A", lambda i: [i // 4, i % 4], ["i_0", "i_1"]),
        ("conv1d_dilated", "A", lambda i: [i // 4, i % 4], ["i_0", "i_1"]),
        ("gather", "B", IN_FOURS, ["i_0", "i_1"]),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_loops_follow_a_layout(name: str, buffer: str, index_map: Any, names: list[str] | None) -> None:
    s = Schedule(program(name))
    s.transform_layout(buffer, index_map, pad_value=T.undef())
    loops = s.sequential_buffer_access(buffer)
    assert names is None or [v.name for v in loops] == names
    assert [v for v in s.loops() if v in loops] == loops
    agree(s)


CONVOLUTION = """
@T.prim_func
def func(A: T.Buffer((16,), "int32"), F: T.Buffer((3,), "int32"), B: T.Buffer((14,), "int32")):
    with T.block("compute"):
        for i in T.serial(14):
            B[i] = 0
            for f in T.serial(3):
                B[i] = B[i] + F[f] * A[i + f]
"""


def laid_out(s: Schedule) -> None:
    s.transform_layout("compute", "A", IN_FOURS)
    s.transform_layout("compute", "B", IN_FOURS)


def test_the_convolution_of_the_rfc_follows_its_output(golden: Golden) -> None:
    s = accepted(CONVOLUTION, lambda s: (laid_out(s), s.sequential_buffer_access("B")))
    golden("follow_convolution_output.txt", s.script())


def test_the_convolution_of_the_rfc_follows_its_input(golden: Golden) -> None:
    """The initialisation does not depend on f, so it is split into a nest of its own; f stays, innermost."""
    s = accepted(CONVOLUTION, lambda s: (laid_out(s), s.sequential_buffer_access("A", block="compute")))
    assert [v.name for v in s.loops()] == ["i", "i_0", "i_1", "f"]
    golden("follow_convolution_input.txt", s.script())


def test_a_nest_that_is_in_order_stays() -> None:
    s = Schedule(program("add_2d"))
    before = s.func
    assert s.sequential_buffer_access("A") == s.loops()
    assert s.func is before


def test_all_accesses_follow_and_loops_keep_their_kind(golden: Golden) -> None:
    def steps(s: Schedule) -> None:
        s.parallel("i")
        s.transform_layout("c", ROWS_IN_FOURS, pad_value=0.0)
        s.sequential_buffer_access("c")

    text = program("cached_sum").replace("    for i in range(3):", "    for r in range(3):").replace("B[i]", "B[r]")
    golden("follow_all.txt", accepted(text.replace("c[i, j]\n", "c[r, j]\n"), steps).script())


def test_only_the_accesses_in_a_block_follow() -> None:
    def steps(s: Schedule) -> None:
        s.transform_layout("A_cache", IN_FOURS, pad_value=0.0)
        s.sequential_buffer_access("A_cache", block="compute")

    s = accepted("cached", steps)
    assert "A_cache[i // 4, i % 4] = A[i]" in s.script()
    assert "T.float32(2.0) * A_cache[i_0, i_1]" in s.script()


@pytest.mark.parametrize(
    ("name", "steps", "words"),
    [
        ("gather", lambda s: s.sequential_buffer_access("A"), "the indices of A are read from memory"),
        (
            "concat",
            lambda s: (s.transform_layout("B", IN_FOURS), s.sequential_buffer_access("B")),
            "loops cannot follow negative indices of B",
        ),
        ("triangle", lambda s: s.sequential_buffer_access("A"), None),
        ("relu_1d", lambda s: s.sequential_buffer_access("C"), "no buffer called 'C'"),
        ("relu_1d", lambda s: s.sequential_buffer_access("A", "x"), "no block called 'x'"),
        ("total", lambda s: s.sequential_buffer_access("C"), "no loop nest around an access of C"),
        (
            "triangle",
            lambda s: (s.transform_layout("A", lambda i, j: [j, i]), s.sequential_buffer_access("A")),
            "the range of the loop over j depends on another",
        ),
    ],
)
def test_accesses_that_no_loops_can_follow(name: str, steps: Steps, words: str | None) -> None:
    if words is None:
        accepted(name, steps)
    else:
        not_applicable(name, steps, words)


@pytest.mark.parametrize(
    ("name", "buffer", "index_map"),
    [
        ("total", "A", lambda i, k: [k, i]),
        ("stencil", "A", lambda t, x: [x, t]),
        pytest.param("conv2d_nhwc", "A", lambda n, h, w, c: [n, c // 2, h, w, c % 2], marks=pytest.mark.nightly),
    ],
)
def test_an_order_that_changes_the_result(name: str, buffer: str, index_map: Any) -> None:
    def steps(s: Schedule) -> None:
        s.transform_layout(buffer, index_map)
        s.sequential_buffer_access(buffer)

    refused(name, steps, "iterations change their order")


# -- remove_branching_through_overcompute ------------------------------------------------------------------------------


def overcomputed(layouts: dict[str, tuple[Any, Any]], follow: str) -> Steps:
    def steps(s: Schedule) -> None:
        for buffer, (index_map, pad_value) in layouts.items():
            s.transform_layout(buffer, index_map, pad_value=pad_value)
        s.sequential_buffer_access(follow)
        s.remove_branching_through_overcompute()

    return steps


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("name", "layouts", "follow"),
    [
        ("relu_1d", {"A": (IN_FOURS, 0.0), "B": (IN_FOURS, 0.0)}, "B"),
        ("relu_1d", {"A": (IN_FOURS, T.undef()), "B": (IN_FOURS, T.undef())}, "B"),
        ("relu_1d", {"A": (IN_FOURS, 5.0), "B": (IN_FOURS, T.undef())}, "A"),
        ("row_sum", {"A": (ROWS_IN_FOURS, 0.0)}, "A"),
        ("row_sum", {"A": (ROWS_IN_FOURS, -0.0)}, "A"),
        ("row_sum_symbolic", {"A": (ROWS_IN_FOURS, 0.0)}, "A"),
        ("cached_sum", {"c": (ROWS_IN_FOURS, 0.0)}, "c"),
        ("in_place", {"A": (IN_FOURS, T.undef())}, "A"),
    ],
)
def test_branches_that_need_not_be(name: str, layouts: dict[str, tuple[Any, Any]], follow: str) -> None:
    accepted(name, overcomputed(layouts, follow))


@pytest.mark.nightly
def test_one_condition_of_two_is_overcomputed(golden: Golden) -> None:
    """Each condition is tried by itself: the rows of A and C are padded, the columns of B and C are not."""

    def steps(s: Schedule) -> None:
        s.transform_layout("A", lambda i, k: [i // 2, k, i % 2], pad_value=T.undef())
        s.transform_layout("C", lambda i, j: [i // 2, j, i % 2], pad_value=T.undef())
        i, j, k = s.loops("C")
        s.split(i, [None, 2])
        s.split(j, [None, 4])
        s.reorder("i_0", "j_0", "i_1", "j_1", k)
        s.simplify()
        assert "if i_0 * 2 + i_1 < 5 and j_0 * 4 + j_1 < 6:" in s.script()
        assert s.remove_branching_through_overcompute() == 1

    s = accepted("matmul", steps)
    assert "if j_0 * 4 + j_1 < 6:" in s.script()
    golden("overcompute_one_of_two.txt", s.script())


@pytest.mark.nightly
def test_a_product_with_every_operand_padded_has_no_branch(golden: Golden) -> None:
    """Zeros in A and B, anything in C; the later nest goes first, while the padding of C is still undefined."""

    def steps(s: Schedule) -> None:
        i, j, k = s.loops("C")
        s.decompose_reduction("C", i)
        s.transform_layout("A", lambda i, k: [i // 2, k // 4, i % 2, k % 4], pad_value=0.0)
        s.transform_layout("B", lambda k, j: [k // 4, j // 4, k % 4, j % 4], pad_value=0.0)
        s.transform_layout("C", lambda i, j: [i // 2, j // 4, i % 2, j % 4], pad_value=T.undef())
        i0, i1 = s.split(i, [None, 2])
        j0, j1 = s.split(j, [None, 4])
        k0, k1 = s.split(k, [None, 4])
        s.reorder(i0, j0, k0, i1, k1, j1)
        s.sequential_buffer_access("C", block="C_init")
        s.simplify()
        assert s.remove_branching_through_overcompute() == 5
        s.vectorize(j1)
        s.unroll(i1)
        s.parallel(i0)

    s = accepted("matmul", steps)
    assert "if" not in s.script()
    golden("overcompute_product.txt", s.script())


def test_local_buffers_are_overcomputed(golden: Golden) -> None:
    def steps(s: Schedule) -> None:
        for name in ("A_cache", "B_cache"):
            s.transform_layout(name, IN_FOURS, pad_value=0.0)
            s.sequential_buffer_access(name)
        s.remove_branching_through_overcompute()

    golden("overcompute_caches.txt", accepted("cached", steps).script())


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("name", "layouts", "follow", "claim"),
    [
        ("row_sum", {"A": (ROWS_IN_FOURS, 1.0)}, "A", "writes the bits that are there already"),
        ("row_sum", {"A": (ROWS_IN_FOURS, float("nan"))}, "A", "writes the bits that are there already"),
        ("row_sum", {"A": (ROWS_IN_FOURS, T.undef())}, "A", "writes the bits that are there already"),
        ("row_sum", {"A": (ROWS_IN_FOURS, None)}, "A", "A[i, j_0, j_1]: accessible"),
        ("relu_1d", {"A": (IN_FOURS, 0.0)}, "A", "in bounds"),
        ("relu_1d", {"A": (IN_FOURS, 0.0), "B": (IN_FOURS, None)}, "B", "accessible"),
        ("in_place", {"A": (IN_FOURS, None)}, "A", "accessible"),
    ],
)
def test_branches_that_must_stay(name: str, layouts: dict[str, tuple[Any, Any]], follow: str, claim: str) -> None:
    refused(name, overcomputed(layouts, follow), claim)


def test_minus_infinity_is_the_padding_of_a_maximum() -> None:
    text = """
@T.prim_func
def row_max(A: T.Buffer((3, 14), "float32"), B: T.Buffer((3,), "float32")):
    for i in T.serial(3):
        B[i] = T.float32("-inf")
        for j in T.serial(14):
            B[i] = T.max(A[i, j], B[i])
"""
    accepted(text, overcomputed({"A": (ROWS_IN_FOURS, float("-inf"))}, "A"))
    claim = "writes the bits that are there already"
    refused(text, overcomputed({"A": (ROWS_IN_FOURS, 0.0)}, "A"), claim)
    other = text.replace("T.max(A[i, j], B[i])", "T.max(B[i], A[i, j])")  # a NaN in the last column would be lost
    refusal = refused(other, overcomputed({"A": (ROWS_IN_FOURS, float("-inf"))}, "A"), claim)
    assert refusal.replay is not None
    assert "nan before, -inf after" in refusal.replay.message


def test_integer_sums_are_overcomputed_too() -> None:
    text = program("row_sum").replace("float32", "int32")
    accepted(text, overcomputed({"A": (ROWS_IN_FOURS, 0)}, "A"))
    refused(text, overcomputed({"A": (ROWS_IN_FOURS, 1)}, "A"), "writes the bits that are there already")


def test_nothing_to_overcompute() -> None:
    not_applicable("relu_1d", lambda s: s.remove_branching_through_overcompute(), "there is no branch to remove")
    refused("concat", lambda s: s.remove_branching_through_overcompute(), "A[i]: in bounds")


# -- simplify ----------------------------------------------------------------------------------------------------------


@pytest.mark.sample(39)
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_second_simplification_changes_nothing(name: str) -> None:
    s = Schedule(program(name))
    s.simplify()
    before = s.func
    assert s.simplify() == 0
    assert s.func is before


def test_simplification_keeps_what_need_not_change() -> None:
    s = accepted("relu_1d", lambda s: (s.split("i", [None, 4]), s.simplify()))
    assert "if i_0 * 4 + i_1 < 14:" in s.script()
    assert "B[i_0 * 4 + i_1]" in s.script()


def test_simplification_removes_trivial_loops_and_branches() -> None:
    def steps(s: Schedule) -> None:
        s.split("i", [None, 1])
        s.simplify()

    s = accepted("relu_1d", steps)
    assert "for i_0 in range(14):" in s.script()
    assert "B[i_0] =" in s.script()
