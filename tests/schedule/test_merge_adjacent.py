"""merge_adjacent_loops, move_before, move_after."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.nightly import few
from tests.schedule.schedule_programs import program
from tests.schedule.schedule_strategies import programs
from tests.schedule.schedule_support import Steps, accepted, agree, not_applicable, refused
from verified_tir import Schedule, ScheduleError, parse_func
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.visit import rewrite

Golden = Callable[[str, str], None]

# -- the RFC's programs ------------------------------------------------------------------------------------------------

TWO = """
@T.prim_func
def func(A: T.Buffer((17,), "float32"), B: T.Buffer((17,), "float32")):
    for i in T.serial(16):
        {first}
    for j in T.serial(16):
        {second}
"""


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("A[i] = 0.0", "A[j] = 1.0"),
        ("A[i] = 0.0", "if j > 0:\n            A[j] = A[j - 1] + 1.0"),
        ("B[i] = A[i + 1]", "A[j] = 1.0"),
        ("B[i] = A[i]", "A[j] = B[0]"),
        ("A[i + 1] = 0.0", "B[j] = A[j] + A[j + 1]"),
        ("if i < 8:\n            A[i] = 0.0", "if j >= 8:\n            B[j] = A[j - 8]"),
    ],
)
def test_loops_that_may_be_merged(first: str, second: str) -> None:
    text = TWO.format(first=first, second=second)
    s = accepted(text, lambda s: s.merge_adjacent_loops())
    assert len(s.loops()) == 1
    assert accepted(text, lambda s: s.merge_adjacent_loops("i", "j")).script() == s.script()


@pytest.mark.parametrize(
    ("first", "second", "claim"),
    [
        (
            "A[i] = T.Cast('float32', i)",
            "if 0 < j and j < 15:\n            A[j] = A[j - 1] + A[j] + A[j + 1]",
            "no dependence between the write and the read of A (condition 1: what the first loop writes, the second "
            "does not touch in an earlier iteration; but both touch A[2] where i = 2 and j' = 1)",
        ),
        (
            "A[i] = B[i]",
            "B[j + 1] = 0.0",
            "no dependence between the read and the write of B (condition 2: what the first loop reads, the second "
            "does not write in an earlier iteration; but both touch B[1] where i = 1 and j' = 0)",
        ),
        ("A[i] = B[i]", "A[j + 1] = 0.0", "condition 1: what the first loop writes"),
        ("A[15 - i] = B[i]", "B[j] = A[j]", "condition 1: what the first loop writes"),
        ("A[i] = 0.0", "for k in range(3):\n            B[j] = B[j] + A[j + k - 1 if j > 0 else 0]", "condition 1"),
    ],
)
def test_each_condition_with_the_element_that_breaks_it(first: str, second: str, claim: str) -> None:
    text = TWO.format(first=first, second=second)
    refused(text, lambda s: s.merge_adjacent_loops(), claim)
    refused(text, lambda s: s.merge_adjacent_loops("i", "j"), claim)


def test_where_they_meet_is_said_of_all_iterations_if_not_of_one() -> None:
    text = """
@T.prim_func
def f(a: T.handle, b: T.handle, n: T.int32):
    A = T.match_buffer(a, (n, n), "float32")
    B = T.match_buffer(b, (n, n), "float32")
    for i, k in T.grid(n, n):
        A[i, k] = 1.0
    for j, l in T.grid(n, n):
        B[j, l] = A[l, j]
"""
    refusal = refused(text, lambda s: s.merge_adjacent_loops(), "condition 1")
    assert "but both touch A[" in refusal.reason or "but the first writes A[" in refusal.reason


PRODUCER = """
@T.prim_func
def producer(A: T.Buffer((14,), "int32")):
    for i in T.serial(14):
        A[i] = 1000 + i
"""


def test_a_producer_and_its_padding_stage(golden: Golden) -> None:
    def steps(s: Schedule) -> None:
        s.transform_layout("A", lambda i: [i // 4, i % 4], pad_value=0)
        s.sequential_buffer_access("A")
        merged = s.merge_adjacent_loops()
        assert s.loops() == merged and len(merged) == 2

    golden("merge_producer.txt", accepted(PRODUCER, steps).script())
    s = accepted(PRODUCER, lambda s: (steps(s), s.simplify()))
    golden("merge_producer_simplified.txt", s.script())


CONVOLUTION = """
@T.prim_func
def func(A: T.Buffer((16,), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((18,), "float32")):
    for Bi in T.serial(18):
        B[Bi] = 0.0
        for fi in T.serial(3):
            Ai = Bi + fi - 2
            if 0 <= Ai < 16:
                B[Bi] = B[Bi] + F[fi] * A[Ai]
"""


def test_a_padding_stage_that_is_not_adjacent_moves_past_the_convolution(golden: Golden) -> None:
    def steps(s: Schedule) -> None:
        layout = lambda i: [(i + 2) // 8, (i + 2) % 8]  # noqa: E731
        s.transform_layout("A", layout, pad_value=0)
        s.transform_layout("B", layout, pad_value=0)
        s.sequential_buffer_access("A")
        s.sequential_buffer_access("B", s.loops()[0])
        s.merge_adjacent_loops(s.loops()[0], s.loops("B_padding")[0])

    golden("merge_past_a_convolution.txt", accepted(CONVOLUTION, steps).script())


# -- nests -------------------------------------------------------------------------------------------------------------

NESTS = """
@T.prim_func
def f(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4, 6), "float32"), C: T.Buffer((4, 6), "float32")):
    with T.block("a"):
        for i, j in T.grid(4, 6):
            A[i, j] = 1.0
    with T.block("b"):
        for k in range(4):
            with T.block("inner"):
                for l in range({extent}):
                    B[k, l] = A[k, l]
    with T.block("c"):
        for m in range(4):
            with T.block("init"):
                C[m, 0] = 0.0
            for n in range(6):
                with T.block("update"):
                    C[m, n] = B[m, {read}]
"""


def test_labels_go_inside_and_all_nests_become_one(golden: Golden) -> None:
    text = NESTS.format(extent=6, read="n")
    golden("merge_labels.txt", accepted(text, lambda s: s.merge_adjacent_loops()).script())


def test_as_deep_as_they_agree(golden: Golden) -> None:
    """The extents l and j differ; n reads what a later l writes.  The outer loops are merged all the same."""
    golden("merge_outer_only.txt", accepted(NESTS.format(extent=5, read="5 - n"),
                                            lambda s: s.merge_adjacent_loops()).script())  # fmt: skip


def test_handles_mean_the_merged_loops() -> None:
    s = Schedule(NESTS.format(extent=6, read="n"))
    i, j, k, l, m, n = s.loops()
    assert s.merge_adjacent_loops(i, k, m) == [i, j]
    assert s.loops() == [i, j, n]
    s.split(l, [None, 3])
    s.parallel(m)
    assert "for i in T.parallel(4)" in s.script()
    agree(s)


@pytest.mark.parametrize(
    ("first", "second", "accept"),
    [("2 * n", "n + n", True), ("n", "n + 0", True), ("n", "n + 1", False), ("n // 2 * 2", "n", False)],
)
def test_extents_that_are_equal(first: str, second: str, accept: bool) -> None:
    text = f"""
@T.prim_func
def f(a: T.handle, n: T.int32):
    A = T.match_buffer(a, (2 * n + 2,), "float32")
    for i in range({first}):
        A[i] = 1.0
    for j in range({second}):
        A[j] = A[j] + 1.0
"""
    if accept:
        accepted(text, lambda s: s.merge_adjacent_loops())
    else:
        refused(text, lambda s: s.merge_adjacent_loops(), "iteration")


ZEROS = TWO.format(first="A[i] = 0.0", second="A[j] = 0.0")


@pytest.mark.parametrize(
    ("name", "steps", "words"),
    [
        (
            ZEROS,
            lambda s: s.merge_adjacent_loops("i"),
            "two loops or more",
        ),
        (
            ZEROS,
            lambda s: s.merge_adjacent_loops("i", "i"),
            "named twice",
        ),
        (
            ZEROS,
            lambda s: s.merge_adjacent_loops("j", "i"),
            "the loop over i comes before the loop over j",
        ),
        (
            ZEROS,
            lambda s: (s.parallel("j"), s.merge_adjacent_loops()),
            "the two loops differ in type or kind",
        ),
        ("relu_1d", lambda s: s.merge_adjacent_loops(), "no two loops are adjacent"),
        ("matmul_loops", lambda s: s.merge_adjacent_loops("i", "k"), "do not stand in one sequence of statements"),
    ],
)
def test_what_makes_no_sense(name: str, steps: Steps, words: str) -> None:
    not_applicable(name, steps, words)


# -- moving ------------------------------------------------------------------------------------------------------------

FOUR = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    with T.block("a"):
        for i in range(4):
            A[i] = 1.0
    for j in range(4):
        B[j] = {source}[j] * 2.0
    C[0] = 5.0
    for k in range(4):
        with T.block("d"):
            A[k] = A[k] + 1.0
"""


def test_statements_move_next_to_each_other(golden: Golden) -> None:
    text = FOUR.format(source="C")
    golden("merge_moved.txt", accepted(text, lambda s: s.move_before("d", "j")).script())
    after = accepted(text, lambda s: s.move_after("d", "a"))
    assert after.script() == accepted(text, lambda s: s.move_before("k", "j")).script()
    assert accepted(text, lambda s: s.move_before("j", "a")).loops()[0].name == "j"


def test_a_statement_does_not_move_past_one_that_needs_it() -> None:
    claim = "the two statements may change places: no dependence between the read and the write of A"
    refused(FOUR.format(source="A"), lambda s: s.move_before("d", "j"), claim)
    refused(FOUR.format(source="A"), lambda s: s.move_after("a", "j"), "may change places")
    refused(FOUR.format(source="C"), lambda s: s.move_after("j", "d"), "may change places")


def test_loops_with_something_between_them_are_merged_if_one_may_move() -> None:
    text = FOUR.format(source="C")
    s = accepted(text, lambda s: s.merge_adjacent_loops("j", "k"))
    assert [v.name for v in s.loops()] == ["i", "j"]
    between = text.replace("C[0] = 5.0", "C[0] = A[0]")  # j reads C, k writes A: none may move past
    refused(between, lambda s: s.merge_adjacent_loops("j", "k"), "the two statements may change places")


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (lambda s: s.move_before("i", "a"), "next to itself or to one inside it"),
        (lambda s: s.move_before("i", "x"), "there is no loop called 'x'"),
        (lambda s: s.move_after("k", "k"), "next to itself"),
    ],
)
def test_a_move_that_makes_no_sense(steps: Steps, words: str) -> None:
    not_applicable(FOUR.format(source="C"), steps, words)


def test_a_move_into_another_branch_is_no_move() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), n: T.int32):
    if n > 0:
        for i in range(4):
            A[i] = 1.0
    else:
        for j in range(4):
            A[j] = 2.0
"""
    not_applicable(text, lambda s: s.move_before("i", "j"), "the two stand in different branches")


# -- random programs ---------------------------------------------------------------------------------------------------


@pytest.mark.nightly
@settings(
    max_examples=few(10, 40),
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(programs(), st.integers(0, 5), st.integers(0, 5))
def test_random_programs_keep_their_results(text: str, first: int, second: int) -> None:
    s = Schedule(text)
    loops = s.loops()
    one, two = loops[first % len(loops)], loops[second % len(loops)]
    for step in (
        lambda: s.fission(one),
        lambda: s.move_before(two, one),
        lambda: s.merge_adjacent_loops(one, two),
        s.merge_adjacent_loops,
    ):
        func = s.func
        try:
            step()
        except ScheduleError:
            assert s.func is func
            continue
        agree(s, work=800)


def test_fission_and_merge_are_opposites() -> None:
    s = Schedule(program("softmax"))
    s.fission("i", 3)
    parts = s.script()
    s.merge_adjacent_loops(*[v for v in s.loops() if v.name == "i"])
    assert s.script() == Schedule(program("softmax")).script() != parts


def test_the_buffer_is_not_told_by_its_name() -> None:
    """Two buffers are called A: the one that both loops access is meant, whatever the question says."""
    func = parse_func("""
@T.prim_func
def f(A: T.Buffer((8,), "int32"), B: T.Buffer((16,), "int32"), P: T.Buffer((8,), "int32")):
    for i in range(8):
        A[i] = B[P[i] & 7]
    for j in range(8):
        B[7 - j] = 0
""")
    renamed = rewrite(func, lambda n: replace(n, name="A") if isinstance(n, Buffer) and n.name == "B" else None)
    with pytest.raises(ScheduleError) as refused:
        Schedule(renamed).merge_adjacent_loops()
    assert refused.value.reason.endswith(
        "(condition 2: what the first loop reads, the second does not write in an earlier iteration; "
        "but the first reads at most A[i0] where i0 in range(16) (an index depends on more than loops), "
        "the second writes A[i0] where i0 in range(7 - j, 8 - j))"
    )
