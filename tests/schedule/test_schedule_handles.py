"""Handles, names and errors: what a schedule says when something is not there, and that a refusal changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.schedule.schedule_programs import program
from tests.schedule.schedule_support import agree, not_applicable
from verified_tir import NotApplicable, Refuted, Schedule, ScheduleError
from verified_tir.ir.expr import Var

# -- handles -----------------------------------------------------------------------------------------------------------


def test_handles_stay_good_across_steps() -> None:
    s = Schedule(program("matmul"))
    i, j, k = s.get_loops("C")
    s.reorder(k, i, j)
    s.reorder(j, i)
    _, inner = s.split(j, [None, 3])
    s.reorder(inner, i)
    s.unroll(k)
    s.vectorize(inner)
    s.decompose_reduction("C", k)
    s.parallel(i)
    assert [v.name for v in s.loops("C")] == ["k", "j_0", "j_1", "i"]
    agree(s)


@pytest.mark.parametrize(
    ("step", "fate"),
    [
        (lambda s, v: s.split(v[0], [None, 2]), "it was split into i_0, i_1"),
        (lambda s, v: s.fuse(v[0], v[1]), "it was fused into i_j_fused"),
        (lambda s, v: s.tile(v[0], v[1], factors=[2, 2]), "it was split into i_0, i_1"),
        (lambda s, v: (s.transform_layout("A", lambda i, j: [i // 2, j, i % 2]), s.sequential_buffer_access("A")),
         "its nest was rebuilt to follow A: i_0, j, i_1"),
    ],
)  # fmt: skip
def test_what_became_of_a_loop(step: Callable[[Schedule, list[Var]], object], fate: str) -> None:
    s = Schedule(program("add_2d"))
    loops = s.loops()
    step(s, loops)
    with pytest.raises(NotApplicable, match="the loop over i is no longer there: " + fate):
        s.unroll(loops[0])


def test_loops_that_were_removed_or_simplified_away() -> None:
    s = Schedule(program("idempotent"))
    r = s.loops()[0]
    s.remove_loop(r)
    with pytest.raises(NotApplicable, match="no longer there: it was removed"):
        s.unroll(r)
    s = Schedule(program("one"))
    i = s.loops()[0]
    s.simplify()
    with pytest.raises(NotApplicable, match="no longer there: it ran once and was simplified away"):
        s.unroll(i)


def test_a_handle_of_another_schedule() -> None:
    one, two = Schedule(program("add_2d")), Schedule(program("relu_1d"))
    with pytest.raises(NotApplicable, match="the handle i is not a loop of this schedule"):
        two.unroll(one.loops()[0])
    with pytest.raises(NotApplicable, match="the handle n is not a loop of this schedule"):
        two.unroll(Var.fresh("n"))


def test_a_handle_from_before_a_refused_step() -> None:
    """What a tactic renamed before it failed is forgotten."""
    s = Schedule(program("stencil"))
    t, x = s.loops()
    with pytest.raises(Refuted):
        s.tile(t, x, factors=[2, 4])
    assert s.loops() == [t, x]
    s.unroll(t)
    s.parallel(x)


# -- names -------------------------------------------------------------------------------------------------------------


def test_a_name_that_means_several_loops() -> None:
    s = Schedule(program("two_matmuls"))
    with pytest.raises(NotApplicable) as refused:
        s.unroll("i")
    assert refused.value.reason == (
        "there are 2 loops called 'i': i in range(4) around block first; i in range(4) around block second. "
        "Use the variable that a primitive or loops(block) gave"
    )
    s.unroll(s.loops("second")[0])


def test_a_name_that_means_several_blocks() -> None:
    s = Schedule(program("relu_1d"))
    s.partition("i", 4)
    with pytest.raises(
        NotApplicable, match=r"there are 2 blocks called 'relu', one under i in range\(4\); one under i"
    ):
        s.loops("relu")


def test_what_there_is() -> None:
    s = Schedule(program("cached"))
    assert s.blocks == ["A_cache", "compute", "B_cache"]
    assert [b.name for b in s.buffers] == ["A", "B", "A_cache", "B_cache"]
    assert s.buffer("A_cache").shape[0] is s.buffer("A").shape[0]
    assert s.get_block("compute") == s.get_sblock("compute") == "compute"
    s = Schedule(program("matmul_symbolic"))
    assert [s.symbol(n).name for n in ("n", "m", "l")] == ["n", "m", "l"]


LOOKUPS: list[tuple[Callable[[Schedule], Any], str]] = [
    (lambda s: s.loops("x"), "there is no block called 'x'; the blocks are add"),
    (lambda s: s.get_loops("x"), "there is no block called 'x'"),
    (lambda s: s.get_block("x"), "there is no block called 'x'"),
    (lambda s: s.buffer("x"), "there is no buffer called 'x'; the buffers are A, B, C"),
    (lambda s: s.symbol("x"), "there is no symbol called 'x'; there are none"),
    (lambda s: s.unroll("x"), "there is no loop called 'x'; the loops are i, j"),
    (lambda s: s.unroll(None), "a loop is given by its variable or its name, not by None"),
]


@pytest.mark.parametrize(("look", "words"), LOOKUPS, ids=[w for _, w in LOOKUPS])
def test_unknown_names_list_what_there_is(look: Callable[[Schedule], Any], words: str) -> None:
    not_applicable("add_2d", look, words)


# -- refusals ----------------------------------------------------------------------------------------------------------


def test_a_refusal_shows_the_step_the_place_and_the_replay() -> None:
    s = Schedule(program("carried"))
    with pytest.raises(ScheduleError) as refused:
        s.fission("i")
    text = str(refused.value)
    claim = "the two statements that change places do not write the same element of B"
    assert text.startswith(f"fission(i, 1): refused, since this is false: {claim}")
    assert "<-- here" in text
    assert "counterexample: i = 0, i' = 1" in text
    assert "before" in text and "(confirmed)" in text


def test_steps_are_recorded_as_they_were_called() -> None:
    s = Schedule(program("cached"))
    s.transform_layout("compute", ("read", 0), lambda i: [i // 4, i % 4], pad_value=-1)
    s.sequential_buffer_access("A_cache", block="compute")
    s.peel(s.loops("B_cache")[0], end=True)
    assert [str(r) for r in s.steps[1:]] == [
        "transform_layout(compute, ('read', 0), lambda i: [i // 4, i % 4], pad_value=-1)",
        "sequential_buffer_access(A_cache, block=compute)",
        "peel(i, end)",
    ]


def test_any_exception_leaves_the_schedule_as_it_was() -> None:
    s = Schedule(program("relu_1d"))
    before, loops = s.theorem, s.loops()

    def broken(*indices: Any) -> Any:
        raise RuntimeError("a mistake of the caller")

    for step in (
        lambda: s.transform_layout("A", broken),
        lambda: s.transform_layout("B", lambda i: [i // 4, i % 4], pad_value=broken),
    ):
        with pytest.raises(RuntimeError, match="a mistake of the caller"):
            step()
    assert s.theorem is before
    assert s.loops() == loops
    assert len(s.steps) == 1
