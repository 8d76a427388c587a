"""Traces: what a schedule notes of its calls, and that it can be applied again."""

from __future__ import annotations

import copy
import json
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from tests.nightly import few
from verified_tir import IndexMap, Refuted, Schedule, ScheduleError, Trace, TraceError
from verified_tir.schedule.trace_instructions import Instruction
from verified_tir.schedule.trace_maps import map_read, map_written, padding_read
from verified_tir.testing.scheduling.seeds import SEEDS, seed
from verified_tir.testing.scheduling.step import WRITERS, Plan

MATMUL = """
@T.prim_func
def matmul(A: T.Buffer((16, 16), "{0}"), B: T.Buffer((16, 16), "{0}"), C: T.Buffer((16, 16), "{0}")):
    for i, j, k in T.grid(16, 16, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.{0}(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
STAGES = """
@T.prim_func
def stages(A: T.Buffer((12,), "float32"), B: T.Buffer((12,), "float32")):
    t = T.alloc_buffer((12,), "float32")
    for i in range(12):
        with T.block("t"):
            t[i] = A[i] * T.float32(2)
    for j in range(12):
        with T.block("B"):
            B[j] = t[j] + T.float32(1)
"""


def scheduled(dtype: str = "float32") -> Schedule:
    """A schedule of a product with most of TVM's primitives."""
    s = Schedule(MATMUL.format(dtype), seed=2)
    block = s.get_sblock("C")
    i, _, k = s.get_loops(block)
    i0, i1 = s.split(i, s.sample_perfect_tile(i, 2, 4, [4, 4]))
    j0, j1 = s.split("j", [None, 4])
    s.reorder(i0, j0, i1, j1)
    s.vectorize(j1)
    s.annotate(block, "unroll", s.sample_categorical([2, 3], [0.5, 0.5], 1))
    s.annotate(i1, "pragma", "text")
    s.parallel(s.fuse(i0, j0))
    copy = s.cache_read(block, 0, "local")
    s.compute_at(copy, s.sample_compute_location(copy, 0))
    s.cache_write(block, 0, "local")
    s.transform_layout(block, ("read", 1), lambda x, y: [x // 4, y, x % 4])
    s.decompose_reduction(block, k)
    s.unannotate(block, "unroll")
    s.set_scope(block, 0, "shared")
    return s


TEXT = """\
b0 = GetSBlock('C', 'matmul')
l1, l2, l3 = GetLoops(b0)
v4, v5 = SamplePerfectTile(l1, 2, 4)  # decision: [4, 4]
l6, l7 = Split(l1, v4, v5, True, False)
l8, l9 = Split(l2, None, 4, True, False)
Reorder(l6, l8, l7, l9)
Vectorize(l9)
v10 = SampleCategorical([2, 3], [0.5, 0.5])  # decision: 1
Annotate(b0, v10, 'unroll')
Annotate(l7, "text", 'pragma')
l11 = Fuse(l6, l8, True)
Parallel(l11)
b12 = CacheRead(b0, [], 0, 'local')
l13 = SampleComputeLocation(b12)  # decision: 0
ComputeAt(b12, l13, False, -1)
b14 = CacheWrite(b0, [], 0, 'local')
TransformLayout(b0, MAP, 1, 0, None, False)
b15 = DecomposeReduction(b0, l3)
Unannotate(b0, 'unroll')
SetScope(b0, 0, 'shared')"""


def test_calls_become_instructions_of_tvm() -> None:
    text = [line if "{" not in line else "TransformLayout(b0, MAP, 1, 0, None, False)"
            for line in str(scheduled().trace).splitlines()]  # fmt: skip
    assert "\n".join(text) == TEXT


@pytest.mark.nightly
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_a_trace_makes_the_same_schedule_again(dtype: str) -> None:
    s = scheduled(dtype)
    text = json.dumps(s.trace.as_json())
    again = Schedule(MATMUL.format(dtype))
    Trace.apply_json_to_schedule(text, again)
    assert again.script() == s.script()
    assert json.dumps(again.trace.as_json()) == text
    assert [str(r) for r in again.steps][1:] == [str(r) for r in s.steps][1:]


@pytest.mark.nightly
def test_another_decision_reaches_the_steps_that_use_it() -> None:
    trace = scheduled().trace
    tile = next(i for i in trace.insts if i.kind == "SamplePerfectTile")
    assert trace.get_decision(tile) == [4, 4]
    again = Schedule(MATMUL.format("float32"))
    trace.with_decision(tile, [8, 2]).apply_to_schedule(again)
    assert "i_1 in range(2)" in again.script() or "T.grid(2, " in again.script()
    with pytest.raises(TraceError, match="is not an instruction of this trace"):
        trace.with_decision(Instruction("Fuse"), 3)


def test_a_provider_decides_and_what_is_left_open_is_drawn() -> None:
    trace = scheduled().trace
    seen: list[tuple[str, Any]] = []

    def provide(inst: Instruction, inputs: list[Any], attrs: list[Any], decision: Any) -> Any:
        seen.append((inst.kind, decision))
        return [2, 8] if inst.kind == "SamplePerfectTile" else None

    again = Schedule(MATMUL.format("float32"), seed=1)
    trace.insts = trace.insts[:8]
    trace.apply_to_schedule(again, decision_provider=provide)
    assert seen == [("SamplePerfectTile", [4, 4]), ("SampleCategorical", 1)]
    assert again.trace.decisions[2] == [2, 8]


def test_every_block_and_loop_can_be_named_by_name() -> None:
    """Loops that no instruction gave are those around a block."""
    s = Schedule(STAGES)
    s.split("j", [3, 4])
    s.compute_at("t", "j_0")
    assert (
        str(s.trace)
        == """\
b0 = GetSBlock('B', 'stages')
l1 = GetLoops(b0)
l2, l3 = Split(l1, 3, 4, True, False)
b4 = GetSBlock('t', 'stages')
ComputeAt(b4, l2, False, -1)"""
    )


def test_steps_that_tvm_does_not_have_are_kept_too() -> None:
    s = Schedule(STAGES)
    first, _ = s.partition("i", 5)
    s.peel(first)
    s.simplify()
    s.cache_read("A", "local")
    again = Schedule(STAGES)
    Trace.apply_json_to_schedule(json.dumps(s.trace.as_json()), again)
    assert again.script() == s.script()
    assert [i.kind for i in s.trace.insts] == ["VerifiedTIR"] * 4
    assert s.trace.insts[0].outputs == ["l0", "l1"]


def test_a_refused_step_is_not_in_the_trace() -> None:
    s = Schedule(STAGES)
    with pytest.raises(Refuted):
        s.split("i", [None, 5], disable_predication=True)
    assert s.trace.insts == []
    s.split("i", [None, 4])
    assert [i.kind for i in s.trace.insts] == ["GetSBlock", "GetLoops", "Split"]


def test_what_is_computed_from_a_sampled_number_is_a_constant() -> None:
    s = Schedule(STAGES)
    (n,) = s.sample_perfect_tile("i", 1)
    s.annotate("t", "n", n)
    s.annotate("t", "m", n + 1)
    assert [i.inputs for i in s.trace.insts[-2:]] == [["b0", "v2"], ["b0", 13]]


def test_a_copied_schedule_has_a_trace_of_its_own() -> None:
    s = Schedule(STAGES)
    s.split("i", [None, 4])
    other = copy.copy(s)
    other.sample_categorical([1], [1.0])
    other.annotate("t", "key", 1)
    assert len(s.trace.insts) == 3 and s.trace.decisions == {}
    assert len(other.trace.insts) == 5 and other.trace.decisions == {3: 0}
    s.trace.insts.clear()
    assert len(s.trace.insts) == 3


def test_postprocessing_may_be_left_out() -> None:
    trace = scheduled().trace
    trace.insts.insert(4, Instruction("EnterPostproc"))
    assert len(trace.as_json(remove_postproc=True)[0]) == 4
    assert trace.as_json(remove_postproc=True)[1] == [[2, [4, 4]]]
    again = Schedule(MATMUL.format("float32"))
    trace.apply_to_schedule(again, remove_postproc=True)
    assert [v.name for v in again.loops()] == ["i_0", "i_1", "j", "k"]


# -- what does not fit -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("instructions", "words"),
    [
        ([["Split", ["l1"], [], []]], "instruction 0, Split(l1): l1 is neither a constant nor given by an instruction"),
        ([["Nonsense", [], [], []]], "there is no instruction Nonsense here; there are Annotate"),
        ([["GetSBlock", [], ["t", "main"], ["b0"]], ["GetLoops", ["b0"], [], ["l1", "l2"]]],
         "instruction 1, l1, l2 = GetLoops(b0): gives 1 loops here, 2 in the trace; TVM keeps loops of one iteration"),
        ([["GetSBlock", [], [], ["b0"]]], "its operands do not fit"),
        ([["Fuse", [], [], []]], "its operands do not fit"),
        ([["VerifiedTIR", [], ["nonsense", [], {}], []]], "there is no primitive 'nonsense'"),
    ],
)  # fmt: skip
def test_instructions_that_do_not_fit(instructions: list[Any], words: str) -> None:
    with pytest.raises(TraceError) as caught:
        Trace.apply_json_to_schedule([instructions, []], Schedule(STAGES))
    assert words in str(caught.value)


@pytest.mark.parametrize("text", ["", "3", "[]", "[[], [], []]", '[[["Fuse"]], []]', '[[], [["x", 1]]]'])
def test_texts_that_are_no_traces(text: str) -> None:
    with pytest.raises(TraceError, match="not a trace"):
        Trace.from_json(text)


def test_a_step_that_is_wrong_is_refused_as_ever() -> None:
    """A trace proves nothing: this one reverses what TVM would have checked."""
    instructions = [["GetSBlock", [], ["B", "main"], ["b0"]], ["GetLoops", ["b0"], [], ["l1"]],
                    ["Split", ["l1", "None", 5], [True, True], ["l2", "l3"]]]  # fmt: skip
    with pytest.raises(Refuted):
        Trace.apply_json_to_schedule([instructions, []], Schedule(STAGES))


TWO_AXES = """
@T.prim_func
def total(A: T.Buffer((4, 6), "float32"), B: T.Buffer((1,), "float32")):
    for k, l in T.grid(4, 6):
        with T.block("B"):
            vk, vl = T.axis.remap("RR", [k, l])
            with T.init():
                B[0] = T.float32(0)
            B[0] = B[0] + A[vk, vl]
"""


def test_a_float_sum_is_rounded_in_another_order_with_the_users_word_only() -> None:
    instructions = [["GetSBlock", [], ["B", "main"], ["b0"]], ["GetLoops", ["b0"], [], ["l1", "l2"]],
                    ["DecomposeReduction", ["b0", "l1"], [], ["b3"]], ["GetSBlock", [], ["B_update", "main"], ["b4"]],
                    ["GetLoops", ["b4"], [], ["l5", "l6"]], ["Reorder", ["l6", "l5"], [], []]]  # fmt: skip
    with pytest.raises(Refuted):
        Trace.apply_json_to_schedule([instructions, []], Schedule(TWO_AXES))
    with pytest.raises(Refuted):
        Trace.apply_json_to_schedule([instructions, []], Schedule(TWO_AXES), reassociate="A")
    s = Schedule(TWO_AXES)
    Trace.apply_json_to_schedule([instructions, []], s, reassociate=["A", "B"])
    assert [v.name for v in s.loops("B")] == ["l", "k"]


THREE = (
    STAGES.replace("B[j]", "C[j]").replace("B: T", "C: T").replace('"B"', '"C"')
    + """\
    for m in range(12):
        with T.block("D"):
            C[m] = C[m] * t[m]
"""
)


def test_blocks_are_found_by_what_they_have_to_do_with_others() -> None:
    found = [["GetSBlock", [], ["root", "main"], ["b0"]], ["GetChildBlocks", ["b0"], [], ["b1", "b2", "b3"]],
             ["GetConsumers", ["b1"], [], ["b4", "b5"]], ["GetProducers", ["b3"], [], ["b6", "b7"]],
             ["Annotate", ["b0", 16], ["meta_schedule.parallel"], []], ["Annotate", ["b5", 1], ["k"], []],
             ["Annotate", ["b6", 2], ["k"], []], ["Unannotate", ["b0"], ["meta_schedule.parallel"], []]]  # fmt: skip
    s = Schedule(THREE)
    Trace.apply_json_to_schedule([found, []], s)
    assert [str(r) for r in s.steps[1:]] == ["annotate(D, k, 1)", "annotate(C, k, 2)"]


# -- index maps --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "index_map",
    [
        IndexMap.from_func(lambda i, j: [i // 4, j, i % 4], 2),
        IndexMap.from_func(lambda i, j: [j * 3 + i - 1], 2),
        IndexMap.from_func(lambda: [], 0),
    ],
)
def test_index_maps_are_read_as_they_are_written(index_map: IndexMap) -> None:
    assert str(map_read(map_written(index_map))) == str(index_map)


def test_graphs_that_are_no_index_maps() -> None:
    for text in ("", "{}", '{"root_index": 3, "nodes": []}', '{"root_index": 0, "nodes": [{"type": "None"}]}'):
        with pytest.raises(TraceError, match="not an index map"):
            map_read(text)
    assert padding_read(None) is None


# -- any schedule ------------------------------------------------------------------------------------------------------


@pytest.mark.nightly
@pytest.mark.sample(3)
@pytest.mark.parametrize("name", SEEDS)
def test_traces_of_random_schedules_make_them_again(name: str) -> None:
    random = Random(name)
    for _ in range(few(3, 20)):
        s = Schedule(seed(name))
        for _ in range(4):
            choices = bytes(random.choice((0, 0, 1, random.randrange(256))) for _ in range(24))
            plan = Plan(random.choice(list(WRITERS)), choices)
            with suppress(ScheduleError):
                for step in plan.steps(s):
                    step.apply(s)
        again = Schedule(seed(name))
        Trace.apply_json_to_schedule(json.dumps(s.trace.as_json()), again)
        assert again.script() == s.script(), s.trace
