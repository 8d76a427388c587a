"""Steps of schedules: every primitive has a writer, calls read as a person would write them, choices shrink."""

from __future__ import annotations

import pytest
from hypothesis import Phase, find, settings

from verified_tir import Schedule, ScheduleError
from verified_tir.schedule.recording import PRIMITIVES
from verified_tir.testing import Draft, Plan, Step, plans, steps
from verified_tir.testing.scheduling.calls import STEPS, as_literal, changed, steps_for
from verified_tir.testing.scheduling.choices import Choices
from verified_tir.testing.scheduling.fitting import fitting
from verified_tir.testing.scheduling.inventory import Inventory
from verified_tir.testing.scheduling.seeds import SEEDS, seed
from verified_tir.testing.scheduling.step import SEQUENCES, WRITERS, primitives

CALM = settings(max_examples=300, derandomize=True, database=None, deadline=None, phases=(Phase.generate, Phase.shrink))


def test_every_primitive_has_a_writer_and_no_other_name_has() -> None:
    assert set(primitives()) == set(PRIMITIVES) == set(WRITERS)


PLAINEST = """
s.add_buffer_constraint("A", lambda i: i >= 5, 0.0, axiom=True)
s.add_unit_loop("i")
s.annotate("i", "pragma_unroll_explicit", 1)
s.annotate_buffer_access("t", 0, "read", lambda v0: [v0])
s.assume(lambda i: s.buffer("A")[i] >= 0.0, "A", axiom=True)
s.assume_padding("A")
s.bind("i", "threadIdx.x")
s.bind_expr("t", "A[i]", "x0")
s.blockize("i")
s.cache_index("t", "local")
s.cache_inplace("t", 0, "local")
s.cache_read("t", "A", "local")
s.cache_write("t", "t", "local")
s.compute_at("t", "j")
s.compute_inline("t")
s.decompose_padding("t", "i")
s.decompose_reduction("t", "i")
s.fission("i")
s.fuse("i")
s.fuse_reduction_epilogue("t", "B")
s.hoist_expression()
s.inline("t")
s.inline_let("nobody")
s.loop_partition("i", [2])
s.merge("i", "j")
s.merge_adjacent_loops()
s.merge_loops("i", "j")
s.merge_writes("t", "t")
s.move_after("i", "j")
s.move_before("j", "i")
s.outline("i", "g0")
s.pad_einsum("t", [4])
s.parallel("i")
s.partition("i", 0)
s.peel("i")
s.read_at("i", "t", 0, "local")
s.reduce_loop_extents()
s.reindex("t", ("read", 0))
s.reindex_cache_read("t", 0, "local", lambda v0: [v0])
s.reindex_cache_write("t", 0, "local", lambda v0: [v0])
s.remove_branching_through_overcompute()
s.remove_loop("i")
s.remove_no_op()
s.remove_overcompute_through_branching()
s.reorder("i")
s.reorder_block_iter_var("t", [0])
s.restate("t", lambda i, A=s.buffer("A"): T.max(A[i] * T.float32(2.0), A[i] * T.float32(2.0)))
s.reverse_compute_at("B", "i")
s.reverse_compute_inline("B")
s.rfactor("i")
s.rolling_buffer("t", 0)
s.sequential_buffer_access("A")
s.set_axis_separator("t", ("read", 0), [1])
s.set_scope("t", "shared")
s.simplify()
s.sink_allocation("t")
s.split("i", [None, 2])
s.split_write("t")
s.storage_align("t", 0, 0, 8, 1)
s.tile("i", factors=[2])
s.transform_block_layout("t", lambda v0: [v0])
s.transform_layout("A", lambda i: [i // 4, i % 4])
s.unannotate("i", "pragma_unroll_explicit")
s.unroll("i")
s.unsafe_set_dtype("t", 0, "float16")
s.vectorize("i")
s.write_at("i", "t", 0, "local")
s.write_padding("B")
"""


def test_without_choices_the_plainest_call_is_written() -> None:
    s = Schedule(seed("stages"))
    written = {name: str(next(Plan(name).steps(s))) for name in WRITERS}
    several_lines = {"tensorize", "refine_call", "assume_precondition"}
    assert sorted(text for name, text in written.items() if name not in several_lines) == PLAINEST.split("\n")[1:-1]
    assert written["tensorize"].startswith('s.tensorize("i", TensorIntrin.of("intrin0", """\n@T.prim_func')


@pytest.mark.sample(10)
@pytest.mark.parametrize("name", SEEDS)
def test_every_seed_has_a_meaning_and_something_fits_it(name: str) -> None:
    for sizes in ({}, {"n": 1, "m": 1, "k": 1, "e": 0}, {"n": 6, "m": 5, "e": 3}):
        s = Schedule(seed(name, **sizes))
        assert set(fitting(Inventory(s))) <= set(WRITERS)
        assert len(set(fitting(Inventory(s)))) > 15


def test_steps_are_drawn_for_the_program_that_is_there() -> None:
    s = Schedule(seed("row sum in a block"))
    found = find(steps(s, ("split",)), lambda step: "j" in step.text, settings=CALM)
    assert str(found) == repr(found) == 's.split("j", [None, 2])'
    found.apply(s)
    assert [v.name for v in s.loops()] == ["i", "j_0", "j_1"]
    assert next(Plan("vectorize").steps(s)) == Step("vectorize", 's.vectorize("j_1")')


def test_plans_shrink_to_few_decisions() -> None:
    s = Schedule(seed("matmul"))
    plan = find(plans(("reorder",)), lambda p: '"k", "j", "i"' in next(p.steps(s)).text, settings=CALM)
    assert sum(b != 0 for b in plan.choices) <= 3
    assert next(plan.steps(s)).text == 's.reorder("k", "j", "i")'


def test_a_draft_shows_its_steps_as_calls_and_marks_those_that_were_refused() -> None:
    draft = Draft(seed("scan", n=4), (Plan("split"), Plan("parallel"), Plan("unroll")))
    assert draft.text().split("\n\n")[1].split("\n") == [
        's.split("i", [None, 2])',
        's.parallel("i_0")  # Refuted',
        's.unroll("i_0")',
    ]
    assert [step.name for step in draft.schedule().steps] == ["program", "split", "unroll"]
    assert repr(draft).startswith("Draft('@T.prim_func\\ndef scan(A: ")
    assert repr(draft).endswith(", (split(), parallel(), unroll()))")


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", SEQUENCES)
def test_recipes_give_steps_that_are_accepted_or_refused(name: str) -> None:
    accepted = 0
    for program in ("matmul", "stages", "three stages"):
        s = Schedule(seed(program, "int32"))
        for step in Plan(name).steps(s):
            assert step.primitive in WRITERS
            try:
                step.apply(s)
                accepted += 1
            except ScheduleError:
                continue
    assert accepted >= 2


def test_a_description_that_is_changed_is_still_one() -> None:
    head = '@T.prim_func\ndef f(A: T.Buffer((8,), "float32"), j: T.int32):\n'
    assert changed(f"{head}    A[j + 4] = A[j]\n", Choices(b"")) == f"{head}    A[j - 4] = A[j]\n"
    lanes = f"{head}    A[j:j + 4] = T.Broadcast(A[j], 4)\n"
    assert changed(lanes, Choices(b"")) == lanes, "nothing lies between j and j - 4"


def test_choices_end_in_the_first_option() -> None:
    pick = Choices(bytes([5, 255]))
    assert pick.one("abc") == "c"
    assert pick.chance(4)
    assert not pick.chance(4)
    assert pick.one("abc") == "a"
    assert Choices(b"").several("abc", 2, 3) == ["a", "b"]


def test_a_changed_description_is_one() -> None:
    """What is changed are numbers and operators, and not names that have such a digit in them."""
    head = '@T.prim_func\ndef f(A: T.Buffer((4, 40), "float32")):\n'
    text = f"{head}    for j_0, i in T.grid(4, 40):\n        A[j_0, i] = T.float32(0.0)\n"

    class Third:
        def one(self, options: list[object]) -> object:
            return options[0]

    assert changed(text, Third()) == text.replace("(0.0)", "(1.0)")  # type: ignore[arg-type]


def test_steps_of_an_intrinsic_are_about_loops_that_it_has() -> None:
    block = 'def f(A):\n    with T.sblock("b"):\n        A[0] = T.float32(0.0)\n'
    assert set(steps_for(block)) == {"", "lambda d: d.simplify()"}
    for head in ("for i in range(4)", "for i in T.parallel(4)", "for i, j in T.grid(4, 4)"):
        assert steps_for(f"def f(A):\n    {head}:\n        A[0] = T.float32(0.0)\n") == STEPS


def test_a_function_in_a_call_is_read_as_it_was() -> None:
    """Strings in it may hold quotes."""
    text = '@T.prim_func\ndef f(A):\n    with T.attr(0, "key", "B[T.Cast(\\"int32\\", j)]"):\n        pass'
    assert eval(as_literal(text)).strip() == text


@pytest.mark.nightly
def test_what_is_stored_is_said_in_other_words() -> None:
    """Of the same value, which is accepted, and of another one, which is not; now and then of what is not there."""
    choices = [bytes([a, b]) for a in range(16) for b in range(16)]
    written = {str(next(Plan("restate", c).steps(Schedule(seed("scale"))))) for c in choices}
    said = {text for text in written if "A[i] * T.float32(2.0)" in text}
    for text in said:
        if text.endswith("+ T.float32(1))"):
            with pytest.raises(ScheduleError, match="refused"):
                Step("restate", text).apply(Schedule(seed("scale")))
        elif not text.endswith("+ T.float32(0))"):  # -0.0 + 0.0 is 0.0
            Step("restate", text).apply(Schedule(seed("scale")))
    assert len(said) == 5
    assert written > said
