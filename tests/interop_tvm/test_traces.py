"""Traces go to TVM and come from TVM: the same instructions there and here."""

from __future__ import annotations

import json

import pytest
from tvm.s_tir import Schedule as TVMSchedule
from tvm.s_tir import meta_schedule
from tvm.s_tir.schedule import Trace as TVMTrace
from tvm.target import Target

from tests.interop_tvm.programs import function, module
from tests.schedule.test_trace import MATMUL, scheduled
from verified_tir import Schedule, Trace, parse_func
from verified_tir.validate import Equal, validate

TEXT = MATMUL.format("float32")
FOR_TVM = TEXT.replace("@T.prim_func", "@T.prim_func(s_tir=True)").replace("T.block(", "T.sblock(")


def same(s: Schedule, sch: TVMSchedule) -> None:
    """Both schedules have the same program, by the validator."""
    theirs = parse_func(sch.mod["f"].script())
    assert isinstance(validate(s.func, theirs).verdict, Equal)


def tvm_schedule(seed: int) -> TVMSchedule:
    sch = TVMSchedule(module(FOR_TVM.replace("def matmul", "def f")), seed=seed)
    sch.work_on("f")
    return sch


@pytest.mark.nightly
def test_tvm_applies_our_traces() -> None:
    s = scheduled()
    sch = tvm_schedule(1)
    insts, decisions = s.trace.as_json()
    for inst in insts:
        if inst[0] == "GetSBlock":
            inst[2][1] = "f"
    TVMTrace.apply_json_to_schedule([insts, decisions], sch)
    theirs = [i[0] for i in sch.trace.as_json()[0]]
    assert theirs == [i.kind for i in s.trace.insts]
    same(s, sch)


@pytest.mark.nightly
def test_we_apply_traces_of_tvm() -> None:
    sch = tvm_schedule(7)
    block = sch.get_sblock("C")
    i, j, k = sch.get_loops(block)
    i0, i1, i2 = sch.split(i, sch.sample_perfect_tile(i, n=3, max_innermost_factor=4))
    j0, j1 = sch.split(j, [None, 4])
    sch.reorder(i0, j0, i1, i2, j1)
    sch.vectorize(j1)
    sch.parallel(i0)
    sch.annotate(block, "unroll", sch.sample_categorical([2, 4], [0.5, 0.5]))
    copy = sch.cache_read(block, 0, "local")
    sch.compute_at(copy, j0)
    written = sch.cache_write(block, 0, "local")
    sch.reverse_compute_at(written, sch.sample_compute_location(written, decision=-1))
    sch.transform_layout(block, ("read", 1), lambda x, y: (x // 4, y, x % 4))
    sch.decompose_reduction(block, k)
    s = Schedule(TEXT)
    Trace.apply_json_to_schedule(sch.trace.as_json(), s)
    assert [i.kind for i in s.trace.insts] == [i[0] for i in sch.trace.as_json()[0]]
    assert len(s.trace.decisions) == 3
    same(s, sch)
    as_text = json.dumps(Trace.from_json(sch.trace.as_json()).as_json())
    again = Schedule(TEXT)
    Trace.apply_json_to_schedule(as_text, again)
    assert again.script() == s.script()


def test_tiles_that_tvm_refits_are_refitted_alike() -> None:
    for decision in ([4, 2, 2], [1, 3, 4], [2, 8, 5], [16, 1, 1]):
        sch = tvm_schedule(1)
        theirs = [int(sch.get(v)) for v in sch.sample_perfect_tile(sch.get_loops("C")[0], 3, 16, decision)]
        assert theirs == Schedule(TEXT).sample_perfect_tile("i", 3, 16, decision), decision


RELU = """
    for x, y in T.grid(16, 16):
        with T.sblock("D"):
            vx, vy = T.axis.remap("SS", [x, y])
            D[vx, vy] = T.max(C[vx, vy], T.float32(0))
"""


def fused_with_relu(text: str) -> str:
    text = text.replace('C: T.Buffer((16, 16), "float32")):', 'D: T.Buffer((16, 16), "float32")):\n    C = LOCAL')
    return text + RELU


@pytest.mark.nightly
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.sample(1)
@pytest.mark.parametrize("space", range(3))
def test_design_spaces_of_tvms_tuner_for_a_cpu(relu: bool, space: int) -> None:
    """The traces of each design, before and after postprocessing, are proved step by step."""
    text = fused_with_relu(FOR_TVM) if relu else FOR_TVM
    func = function(text.replace("LOCAL", 'T.sblock_alloc_buffer((16, 16), "float32")'))
    func = func.with_attr("global_symbol", "main")
    target = Target({"kind": "llvm", "num-cores": 4})
    context = meta_schedule.TuneContext(
        mod=func, target=target, space_generator=meta_schedule.space_generator.PostOrderApply(), rand_state=7,
        task_name="product",
    )  # fmt: skip
    designed = context.generate_design_space()[space]
    finished = designed.copy()
    assert all(p.apply(finished) for p in context.space_generator.postprocs)
    for sch in (designed, finished):
        s = Schedule(func.script())
        Trace.apply_json_to_schedule(sch.trace.as_json(), s)
        assert isinstance(validate(s.func, parse_func(sch.mod["main"].script())).verdict, Equal)
