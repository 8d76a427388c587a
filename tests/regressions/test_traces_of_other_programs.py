"""Traces that were applied to something else than they say.

The function of ``GetSBlock`` was not looked at: a step of another function of a module was made on the schedule's, and
what was recorded was of ``main`` always.  ``consumer_blocks`` of ``CacheWrite`` were passed over.  Instructions that
TVM does not have name loops by their place, and any loop that stood there was taken.  ``GetProducers`` gave blocks in
another order than TVM.  The place in an iteration of ``ComputeAt`` and ``ReverseComputeAt`` was passed over.
"""

from __future__ import annotations

from typing import Any

import pytest

from verified_tir import Schedule, Trace, TraceError

MODULE = """
@I.ir_module
class Module:
    @T.prim_func
    def other(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
        for i in range(8):
            with T.sblock("B"):
                B[i] = A[i] + 1
    @T.prim_func
    def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
        for i in range(8):
            with T.sblock("B"):
                B[i] = A[i] * 2
"""
ALONE = """
@T.prim_func
def alone(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.sblock("B"):
            B[i] = A[i] * 2
"""


def split(function: str) -> list[Any]:
    return [[["GetSBlock", [], ["B", function], ["b0"]], ["GetLoops", ["b0"], [], ["l1"]],
             ["Split", ["l1", 2, 4], [True, False], ["l2", "l3"]]], []]  # fmt: skip


@pytest.mark.parametrize("picked", ["main", "other"])
def test_a_trace_of_another_function(picked: str) -> None:
    s = Schedule(MODULE, name=picked)
    (wrong,) = {"main", "other"} - {picked}
    with pytest.raises(TraceError, match=f"the trace is of the function '{wrong}', and the schedule of '{picked}'"):
        Trace.apply_json_to_schedule(split(wrong), s)
    assert len(s.loops()) == 1
    Trace.apply_json_to_schedule(split(picked), s)
    assert len(s.loops()) == 2
    assert s.trace.insts[0].attrs == ["B", picked]


@pytest.mark.parametrize("function", ["alone", "main"])
def test_a_function_that_is_not_one_of_several_is_main_too(function: str) -> None:
    """So TVM calls it where it is given alone."""
    s = Schedule(ALONE)
    Trace.apply_json_to_schedule(split(function), s)
    assert s.trace.insts[0].attrs == ["B", "alone"]
    with pytest.raises(TraceError, match="the trace is of the function 'other'"):
        Trace.apply_json_to_schedule(split("other"), Schedule(ALONE))


CHAIN = """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), D: T.Buffer((8,), "int32"), E: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((8,), "int32")
    for i in range(8):
        with T.sblock("B"):
            B[i] = A[i] + 1
    for i in range(8):
        with T.sblock("D"):
            D[i] = B[i] * 2
    for i in range(8):
        with T.sblock("E"):
            E[i] = B[i] - 3
"""


def test_consumers_of_cache_write() -> None:
    blocks = [["GetSBlock", [], [name, "main"], [name]] for name in "BD"]
    write = ["CacheWrite", ["B", ["D"]], [0, "local"], ["b1"]]
    s = Schedule(CHAIN)
    with pytest.raises(TraceError, match="with consumer_blocks, D would read the copy"):
        Trace.apply_json_to_schedule([[*blocks, write], []], s)
    assert len(s.steps) == 1
    Trace.apply_json_to_schedule([[*blocks, ["CacheWrite", ["B", []], [0, "local"], ["b1"]]], []], s)
    assert "B_local[i] = A[i] + 1" in s.script() and "D[i] = B[i] * 2" in s.script()


TWICE = """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), D: T.Buffer((8,), "int32"), E: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((8,), "int32")
    for i in range(8):
        with T.sblock("B"):
            B[i] = A[i] + 1
    for i in range(8):
        with T.sblock("D"):
            D[i] = B[i] * 2
    for i in range(8):
        with T.sblock("B2"):
            B[i] = A[i] * 3
    for i in range(8):
        with T.sblock("E"):
            E[i] = D[i] - B[i]
"""


@pytest.mark.parametrize(
    ("kind", "block", "found"),
    [
        ("GetProducers", "E", ["D", "B", "B2"]),
        ("GetProducers", "D", ["B"]),
        ("GetProducers", "B2", ["B"]),
        ("GetProducers", "B", []),
        ("GetConsumers", "B", ["D", "B2", "E"]),
        ("GetConsumers", "D", ["E"]),
        ("GetConsumers", "B2", ["E"]),
        ("GetConsumers", "E", []),
    ],
)
def test_producers_and_consumers_are_those_of_tvm(kind: str, block: str, found: list[str]) -> None:
    """Producers came in the order of the program, those that come after the block, too; TVM takes them by what is read,
    and counts what is stored again."""
    outputs = [f"o{k}" for k, _ in enumerate(found)]
    notes = [["Annotate", [o, k], ["k"], []] for k, o in enumerate(outputs)]
    s = Schedule(TWICE)
    insts = [["GetSBlock", [], [block, "main"], ["b0"]], [kind, ["b0"], [], outputs], *notes]
    Trace.apply_json_to_schedule([insts, []], s)
    assert [str(r) for r in s.steps[1:]] == [f"annotate({b}, k, {k})" for k, b in enumerate(found)]


BETWEEN = """
@T.prim_func
def main(A: T.Buffer((8, 8), "int32"), D: T.Buffer((8, 8), "int32"), E: T.Buffer((8, 8), "int32")):
    B = T.alloc_buffer((8, 8), "int32")
    for i, j in T.grid(8, 8):
        with T.sblock("B"):
            B[i, j] = A[i, j] + 1
    for i in range(8):
        for j in range(8):
            with T.sblock("D"):
                D[i, j] = A[i, j] * 2
        for j in range(8):
            with T.sblock("E"):
                E[i, j] = B[i, j] - 3
"""


def computed_at(kind: str, block: str, other: str, index: int) -> Schedule:
    insts = [["GetSBlock", [], [block, "main"], ["b0"]], ["GetSBlock", [], [other, "main"], ["b1"]],
             ["GetLoops", ["b1"], [], ["l2", "l3"]], [kind, ["b0", "l2"], [False, index], []]]  # fmt: skip
    s = Schedule(BETWEEN)
    Trace.apply_json_to_schedule([insts, []], s)
    return s


@pytest.mark.parametrize(("index", "blocks"), [(-1, "DBE"), (-2, "BDE")])
def test_the_place_in_an_iteration(index: int, blocks: str) -> None:
    s = computed_at("ComputeAt", "B", "E", index)
    assert s.blocks == [*blocks]
    assert s.trace.insts[-1].attrs == [False, index]
    direct = Schedule(BETWEEN)
    direct.compute_at("B", direct.get_loops("E")[0], index=index)
    assert direct.script() == s.script()


@pytest.mark.parametrize(("kind", "index"), [("ComputeAt", 0), ("ComputeAt", 1), ("ReverseComputeAt", -2)])
def test_other_places_in_an_iteration(kind: str, index: int) -> None:
    with pytest.raises(TraceError, match="its operands do not fit: index is -1"):
        computed_at(kind, *("BE" if kind == "ComputeAt" else "EB"), index)


PAIR = """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.sblock("{0}"):
            {0}[i] = A[i] + 1
    for i in range({2}):
        with T.sblock("{1}"):
            {1}[i] = A[i] * 2
"""


def partitioned() -> Schedule:
    s = Schedule(PAIR.format("B", "C", 8))
    _, last = s.partition(s.get_loops("B")[0], 3)
    s.parallel(last)
    return s


def test_the_loop_at_a_place_is_the_one_of_the_trace() -> None:
    trace = partitioned().trace
    assert trace.insts[0].attrs[:2] == ["partition", [{"loop": [0], "name": "i"}, 3]]
    again = Schedule(PAIR.format("B", "C", 7))
    trace.apply_to_schedule(again)
    assert len(again.loops()) == 3
    longer = PAIR.format("B", "C", 8).replace("range(8)", "range(9)", 1).replace("(8,)", "(9,)")
    for other in (PAIR.format("C", "B", 8), longer):
        with pytest.raises(
            TraceError, match=r"the loop at \[0\] is not the one .* i from 0 over 8 around B; here it is"
        ):
            trace.apply_to_schedule(Schedule(other))


def test_a_trace_that_says_names_only() -> None:
    """As they were recorded before."""
    trace = partitioned().trace
    del trace.insts[0].attrs[3]
    trace.apply_to_schedule(Schedule(PAIR.format("B", "C", 8)))
    with pytest.raises(TraceError, match=r"the loop at \[0\] is not the one of the trace, i; here it is x"):
        trace.apply_to_schedule(Schedule(PAIR.format("B", "C", 8).replace(" i in", " x in").replace("[i]", "[x]")))
    with pytest.raises(TraceError, match="a place that it names is not there: no statement at step 0"):
        trace.apply_to_schedule(Schedule(PAIR.format("B", "C", 8).split("    for", 1)[0] + "    B[0] = 1\n"))


def test_the_buffer_of_a_number_is_the_one_of_the_trace() -> None:
    s = Schedule(PAIR.format("B", "C", 8))
    s.cache_read(s.buffer("A"), "local")
    trace = s.trace
    trace.apply_to_schedule(Schedule(PAIR.format("B", "C", 8)))
    other = PAIR.format("B", "C", 8).replace("A[", "X[").replace("(A:", "(B:").replace("B: T.B", "X: T.B", 1)
    with pytest.raises(TraceError, match="the buffer at 0 is not the one of the trace, A; here it is X"):
        trace.apply_to_schedule(Schedule(other))


def test_a_block_whose_label_goes_when_it_moves() -> None:
    s = Schedule(BETWEEN)
    outer = s.blockize(s.get_loops("B")[1])
    s.compute_at(outer, s.get_loops("E")[0])
    assert "B" in s.blocks and "E" in s.blocks
