"""Sampling instructions: what they draw, what they refuse, and that decisions are used."""

from __future__ import annotations

from collections import Counter
from math import prod
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.schedule.schedule_support import Steps, accepted, agree, not_applicable
from verified_tir import Schedule
from verified_tir.schedule.sampling import COMPUTE_INLINE, COMPUTE_ROOT, categorical, perfect_tile, refitted

STAGES = """
@T.prim_func
def stages(A: T.Buffer((8, 12), "float32"), B: T.Buffer((8, 12), "float32")):
    t = T.alloc_buffer((8, 12), "float32")
    for i, j in T.grid(8, 12):
        with T.block("t"):
            t[i, j] = A[i, j] * T.float32(2)
    for k, l in T.grid(8, 12):
        with T.block("B"):
            B[k, l] = t[k, l] + T.float32(1)
"""
SYMBOLIC = """
@T.prim_func
def symbolic(a: T.handle, n: T.int32):
    A = T.match_buffer(a, (n,), "float32")
    for i in range(n):
        with T.block("A"):
            A[i] = T.float32(2)
"""


# -- drawing -----------------------------------------------------------------------------------------------------------


@given(st.integers(1, 400), st.integers(1, 5), st.integers(1, 16), st.integers())
def test_tiles_are_perfect(extent: int, n: int, most: int, seed: int) -> None:
    found = perfect_tile(Random(seed), extent, n, most)
    assert len(found) == n and prod(found) == extent and min(found) >= 1
    assert n == 1 or found[-1] <= most


def test_every_tiling_is_as_likely() -> None:
    random = Random(0)
    drawn = Counter(tuple(perfect_tile(random, 12, 3, 4)) for _ in range(3_000))
    assert len(drawn) == sum(1 for a in (1, 2, 3, 4) for b in range(1, 13) if 12 % a == 0 and 12 // a % b == 0)
    assert max(drawn.values()) < 2 * min(drawn.values())


@given(st.lists(st.integers(1, 20), min_size=1, max_size=4), st.integers(1, 400))
def test_a_decision_for_another_extent_is_made_to_fit(decision: list[int], extent: int) -> None:
    found = refitted(decision, extent)
    assert len(found) == len(decision) and prod(found) == extent
    assert prod(decision) != extent or found == decision


def test_categories_follow_their_probabilities() -> None:
    random = Random(0)
    drawn = Counter(categorical(random, [0.5, 0.0, 0.25]) for _ in range(900))
    assert set(drawn) == {0, 2} and 500 < drawn[0] < 700


# -- in a schedule -----------------------------------------------------------------------------------------------------


def drawn(s: Schedule) -> tuple[list[int], int, str]:
    return (
        [int(x) for x in s.sample_perfect_tile("i", 2)],
        int(s.sample_categorical([1, 5, 9], [0.3, 0.3, 0.4])),
        str(s.sample_compute_location("t")),
    )


@pytest.mark.nightly
def test_what_is_drawn_follows_from_the_seed() -> None:
    first, second = Schedule(STAGES, seed=5), Schedule(STAGES)
    second.seed(5)
    assert drawn(first)[:2] == drawn(second)[:2]
    assert first.fork_seed() == second.fork_seed()
    assert len({str(drawn(Schedule(STAGES, seed=k))[:2]) for k in range(20)}) > 5


def test_decisions_are_taken_as_they_are() -> None:
    s = Schedule(STAGES)
    assert s.sample_perfect_tile("j", 3, decision=[3, 2, 2]) == [3, 2, 2]
    assert s.sample_perfect_tile("j", 2, decision=[1, 5]) == [1, 12]
    assert s.sample_categorical([7, 8], [0.5, 0.5], 1) == 8
    assert s.sample_compute_location("t", 1) is s.loops("B")[1]
    assert s.sample_compute_location("t", -1) == COMPUTE_ROOT
    assert s.sample_compute_location("t", -2) == COMPUTE_INLINE
    assert len(s.steps) == 1


def test_sampled_numbers_go_to_primitives() -> None:
    def steps(s: Schedule) -> None:
        factors = s.sample_perfect_tile("j", 2, decision=[3, 4])
        _, inner = s.split("j", factors)
        s.annotate(inner, "unroll", s.sample_categorical([2], [1.0]))
        s.split("i", (None, factors[0]))

    s = accepted(STAGES, steps)
    assert [v.name for v in s.loops("t")] == ["i_0", "i_1", "j_0", "j_1"]
    assert '{"unroll": 2}' in s.script()


@pytest.mark.parametrize("seed", range(6))
def test_a_block_is_computed_where_it_was_sampled(seed: int) -> None:
    s = Schedule(STAGES, seed=seed)
    s.compute_at("t", s.sample_compute_location("t"))
    agree(s)


@pytest.mark.parametrize(("decision", "blocks"), [(-2, ["B"]), (-1, ["t", "B"]), (0, ["t", "B"]), (1, ["t", "B"])])
def test_each_location(decision: int, blocks: list[str]) -> None:
    s = accepted(STAGES, lambda s: s.compute_at("t", s.sample_compute_location("t", decision)))
    assert s.blocks == blocks
    assert len(s.loops()) == {-2: 2, -1: 4, 0: 3, 1: 2}[decision]


@pytest.mark.parametrize(("decision", "block"), [(-2, "t"), (-1, "B"), (1, "B")])
def test_a_consumer_is_sampled_among_the_loops_of_its_producer(decision: int, block: str) -> None:
    s = accepted(STAGES, lambda s: s.reverse_compute_at("B", s.sample_compute_location("B", decision)))
    assert block in s.blocks


def test_a_location_at_which_nothing_can_be_computed_is_not_drawn() -> None:
    """The rows of t are read in the other order: only the whole of it can be computed before."""
    program = STAGES.replace("t[k, l] +", "t[7 - k, l] + A[0, 0] *").replace("A[i, j] * T", "A[i, j] / T")
    found = {str(Schedule(program, seed=k).sample_compute_location("t")) for k in range(12)}
    assert COMPUTE_ROOT in found


@pytest.mark.parametrize(
    ("program", "steps", "words"),
    [
        (SYMBOLIC, lambda s: s.sample_perfect_tile("i", 2), "the extent of the loop over i is not a positive constant"),
        (STAGES, lambda s: s.sample_perfect_tile("i", 0), "a number of factors, and a largest one, that are positive"),
        (STAGES, lambda s: s.sample_perfect_tile("i", 2, decision=[8]), "the decision [8] is not 2 positive factors"),
        (STAGES, lambda s: s.sample_perfect_tile("i", 2, decision=[8, 0]), "is not 2 positive factors"),
        (STAGES, lambda s: s.sample_perfect_tile("x", 2), "there is no loop called 'x'"),
        (STAGES, lambda s: s.sample_categorical([], []), "sample_categorical takes candidates"),
        (STAGES, lambda s: s.sample_categorical([1, 2], [1.0]), "sample_categorical takes candidates"),
        (STAGES, lambda s: s.sample_categorical([1, 2], [0.0, 0.0]), "sample_categorical takes candidates"),
        (STAGES, lambda s: s.sample_categorical([1], [1.0], 1), "there are 1 candidates, and none of number 1"),
        (STAGES, lambda s: s.sample_compute_location("t", 2), "block t has no location of number 2"),
        (STAGES, lambda s: s.sample_compute_location("x"), "there is no block called 'x'"),
    ],
)  # fmt: skip
def test_arguments_that_make_no_sense(program: str, steps: Steps, words: str) -> None:
    not_applicable(program, steps, words)
