"""Wrong answers of TVM 0.27 that random schedules under the validator found, shrunk, each beside a neighbour.

docs/tvm-findings.md shows them under "Found by this tool".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
from tvm.tirx import transform as tirx

from tests.interop_tvm.programs import function
from tests.must_reject.tvm_support import LIMITS, compiled, passed, replayed, scheduled
from verified_tir.interop.tvm import StepReport, ValidatedSchedule, ValidatingInstrument

Steps = Callable[[ValidatedSchedule], object]

SUM = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4,), "int32"), C: T.Buffer((1,), "int32")):
    B = T.sblock_alloc_buffer((1,), "int32")
    for i, k in T.grid(1, 4):
        with T.sblock("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 0
            B[vi] = B[vi] + {term}
    for i in range(1):
        with T.sblock("C"):
            vi = T.axis.spatial(1, i)
            C[vi] = {epilogue}
"""
TWO = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")):
    B = T.sblock_alloc_buffer((4,), "int32")
    for i in range(4):
        with T.sblock("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi] + 5
    for i in range(4):
        with T.sblock("C"):
            vi = T.axis.spatial(4, i)
            {where}
            C[vi] = B[{index}] * 2
"""
TILES = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer(({n}, 2), "int32"), C: T.Buffer(({n},), "int32")):
    for i_0, i_1, k in T.grid(3, 2, 2):
        with T.sblock("C"):
            vi = T.axis.spatial({n}, i_0 * 2 + i_1)
            vk = T.axis.reduce(2, k)
            T.where(i_0 * 2 + i_1 < {n})
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + A[vi, vk]
"""
PARTIAL = TWO.format(where="T.where(i < 3)", index="vi")
WHOLE = TWO.format(where="T.writes(C[vi])", index="vi")
GUARDED = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4,), "int32"), C: T.Buffer((5,), "int32")):
    for i in range(5):
        with T.sblock("C"):
            vi = T.axis.spatial(5, i)
            C[vi] = T.if_then_else(1 <= vi, A[vi - 1], 7)
"""
UPDATE = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")):
    for i in range(4):
        with T.sblock("A"):
            vi = T.axis.spatial(4, i)
            A[vi] = {value} + 1
    for i in range(4):
        with T.sblock("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = A[vi] * 2
"""
THREE = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32"), D: T.Buffer((4,), "int32")):
    B = T.sblock_alloc_buffer((4,), "int32")
    for i in range(4):
        with T.sblock("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi] + 5
    for i in range(4):
        with T.sblock("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = {value} * 2
    for i in range(4):
        with T.sblock("D"):
            vi = T.axis.spatial(4, i)
            D[vi] = C[vi] + 1
"""

WITHIN = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4, 8), "int32")):
    for i in range(4):
        with T.sblock("P"):
            vi = T.axis.spatial(4, i)
            for j in range(8):
                with T.sblock("C"):
                    vk = T.axis.spatial((vi, vi + 1), vi)
                    vj = T.axis.spatial(8, j)
                    C[vk, vj] = A[vk, vj] * 2
"""
ALONE = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4, 8), "int32")):
    for i, j in T.grid(4, 8):
        with T.sblock("C"):
            vk = T.axis.spatial((i, i + 1), i)
            vj = T.axis.spatial(8, j)
            C[vk, vj] = A[vk, vj] * 2
"""
PREFIX_SUMS = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((2, 3), "int32"), D: T.Buffer((2, 3), "int32")):
    B = T.sblock_alloc_buffer((2, 3), "int32")
    C = T.sblock_alloc_buffer((2, 3), "int32")
    for i, j in T.grid(2, 3):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2
    with T.sblock("cumsum_generic"):
        {regions}
        for v in T.parallel(2):
            C[v, 0] = B[v, 0]
            for k in range(2):
                C[v, k + 1] = C[v, k] + B[v, k + 1]
    for i, j in T.grid(2, 3):
        with T.sblock("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] + 1
"""
"""As ``topi.cumsum`` makes them."""
UNDECLARED = PREFIX_SUMS.format(regions="T.reads(); T.writes()")
DECLARED = PREFIX_SUMS.format(regions="T.reads(B[0:2, 0:3]); T.writes(C[0:2, 0:3])")


def in_two_parts(s: ValidatedSchedule) -> None:
    s.cache_write("B", 0, "local")
    s.loop_partition(s.get_loops("B_local")[0], [1, None])
    s.cache_write("B", 0, "global")


def in_two_copies(s: ValidatedSchedule) -> None:
    s.cache_write("B", 0, "local")
    s.cache_write("B", 0, "global")


def tiles(s: ValidatedSchedule) -> object:
    return s.transform_layout("B", ("write", 0), lambda i: [i // 2, i % 2])


def blockized(s: ValidatedSchedule) -> object:
    return s.blockize(s.get_loops("C")[0])


def blockized_inside(s: ValidatedSchedule) -> object:
    """Only the loop over ``j`` is around the inner block."""
    return s.blockize(s.get_loops("C")[-1])


def moved(s: ValidatedSchedule) -> object:
    return s.reverse_compute_at("C", s.get_loops("B")[0])


def padded(s: ValidatedSchedule) -> object:
    return s.pad_einsum("B", [1, 8])


def fused(s: ValidatedSchedule) -> object:
    return s.fuse_reduction_epilogue("B", "C")


def sum_of(term: str = "A[vk]", epilogue: str = "B[vi]") -> str:
    return SUM.format(term=term, epilogue=epilogue)


VISIBLE: dict[str, tuple[str, str, Steps]] = {
    "fuse_reduction_epilogue": (sum_of(epilogue="T.max(B[vi] + 0, 0)"), sum_of(epilogue="B[vi] + A[0]"), fused),
    "pad_einsum": (sum_of("(A[vk] + 1)"), sum_of("A[vk] * 3"), padded),
    "reverse_compute_at": (PARTIAL, WHOLE, moved),
    "blockize": (PARTIAL, WHOLE, blockized),
    "blockize within a block": (WITHIN, ALONE, blockized_inside),
    "transform_layout": (TWO.format(where="T.writes(C[vi])", index="3 - vi"), WHOLE, tiles),
    "reindex of an update": (
        UPDATE.format(value="A[vi]"), UPDATE.format(value="vi"), lambda s: s.reindex("A", ("write", 0))
    ),
    "cache_write of an update": (
        UPDATE.format(value="A[vi]"), UPDATE.format(value="vi"), lambda s: s.cache_write("A", 0, "global")
    ),
}  # fmt: skip
"""The wrong program, a neighbour that TVM gets right, and the steps.  The machine code shows these."""
UNDEFINED: dict[str, tuple[str, str, Steps]] = {
    "reindex of a part": (PARTIAL, WHOLE, lambda s: s.reindex("C", ("write", 0))),
    "reverse_compute_at of a producer": (
        THREE.format(value="B[vi]"), THREE.format(value="A[vi]"),
        lambda s: s.reverse_compute_at("B", s.get_loops("D")[0]),
    ),
    "merge across a reader": (
        THREE.format(value="B[vi]"), THREE.format(value="A[vi]"),
        lambda s: s.merge(s.get_loops("B")[0], s.get_loops("D")[0]),
    ),
    "merge in another order": (
        THREE.format(value="B[vi]"), THREE.format(value="A[vi]"),
        lambda s: s.merge(s.get_loops("C")[0], s.get_loops("B")[0]),
    ),
    "rfactor of a guarded sum": (
        TILES.format(n=5), TILES.format(n=6), lambda s: s.rfactor(s.get_loops("C")[2], 0)
    ),
    "cache_write before prefix sums": (UNDECLARED, DECLARED, lambda s: s.cache_write("B", 0, "local")),
    "reindex of a guarded read": (
        GUARDED, GUARDED.replace("A[vi - 1]", "A[vi // 2]"), lambda s: s.reindex("C", ("read", 0))
    ),
}  # fmt: skip
"""These read what was never written, or is no element: what the machine makes of that varies."""
EVERY = {**VISIBLE, **UNDEFINED}


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", EVERY)
def test_tvm_changes_the_result(name: str) -> None:
    wrong, _, steps = EVERY[name]
    replayed(scheduled(wrong, steps))


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", EVERY)
def test_tvm_does_not_change_its_neighbour(name: str) -> None:
    _, right, steps = EVERY[name]
    assert scheduled(right, steps).status == "equal"


@pytest.mark.nightly
@pytest.mark.sample(2)
@pytest.mark.parametrize("name", VISIBLE)
def test_the_machine_shows_it(name: str) -> None:
    wrong, _, steps = VISIBLE[name]
    report = scheduled(wrong, steps)
    witness = report.witness
    assert witness is not None
    before = compiled(report.before, witness.arguments)
    after = compiled(report.after, witness.arguments_after)
    assert any((before[key] != after[key]).any() for key in before)


@pytest.mark.parametrize("steps", [
    lambda s: s.compute_at("B", s.get_loops("D")[0]),
    lambda s: s.reverse_compute_at("D", s.get_loops("B")[0]),
])  # fmt: skip
def test_blocks_move_past_prefix_sums_that_declare_nothing(steps: Steps) -> None:
    """TVM refuses these where the regions are declared."""
    replayed(scheduled(UNDECLARED, steps))
    with pytest.raises(tvm.s_tir.ScheduleError):
        scheduled(DECLARED, steps)


def flattened(index: str) -> StepReport:
    return passed(ROTATED.format(index=index), tirx.FlattenBuffer())


ROTATED = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((1, 8), "int32"), C: T.Buffer((1, 8), "int32")):
    for i, j in T.grid(1, 8):
        C[i, j] = A[i, {index}]
"""


@pytest.mark.nightly
@pytest.mark.parametrize("index", ["(3 - j) % 8", "(-1 - j) % 8", "(7 - j) // 2"])
def test_flattening_loses_where_a_reversed_index_begins(index: str) -> None:
    replayed(flattened(index))
    a = np.arange(8, dtype=np.int32)[None]
    right = np.array([eval(index) for j in range(8)])
    found = compiled(ROTATED.format(index=index), {"A": a, "C": a})["C"][0]
    if index == "(3 - j) % 8":  # the others are simplified first
        assert (found != right).any()


@pytest.mark.parametrize("index", ["(0 - j) % 8", "7 - j", "j // 2"])
def test_flattening_of_other_indices(index: str) -> None:
    assert flattened(index).status == "equal"


def inside(s: ValidatedSchedule) -> None:
    (loop,) = s.get_loops("C")
    s.compute_at("B", loop)
    s.vectorize(loop)


def beside(s: ValidatedSchedule) -> None:
    s.vectorize(s.get_loops("B")[0])
    s.vectorize(s.get_loops("C")[0])


def test_an_allocation_inside_a_vectorized_loop_is_shared_by_the_lanes() -> None:
    sch, instrument = lowered(inside)
    (report,) = instrument.different
    assert report.step == "tirx.VectorizeLoop"
    replayed(report)
    four = np.array([1, 2, 3, 4], np.int32)
    text = sch.mod["main"].script()
    assert compiled(text, {"A": four, "C": four})["C"].tolist() != [12, 14, 16, 18]


def test_an_allocation_outside_vectorized_loops() -> None:
    _, instrument = lowered(beside)
    assert [r.status for r in instrument.reports if r.step == "tirx.VectorizeLoop"] == ["equal"]
    assert instrument.different == ()


def lowered(steps: Steps) -> tuple[ValidatedSchedule, Any]:
    """The schedule, every step of it equal, and the passes of a build."""
    sch = ValidatedSchedule(function(WHOLE), limits=LIMITS)
    steps(sch)
    instrument = ValidatingInstrument(on_different="collect", limits=LIMITS)
    with tvm.transform.PassContext(instruments=[instrument]):
        tvm.compile(tvm.IRModule({"f": sch.mod["main"].with_attr("global_symbol", "f")}), target="llvm")
    return sch, instrument


def test_cache_inplace_uses_the_variables_of_a_block_outside_of_it() -> None:
    report = scheduled(UPDATE.format(value="A[vi]"), lambda s: s.cache_inplace("A", 0, "local"))
    assert report.status == "different"
    assert "vi = T.int32()" in report.after


def test_cache_inplace_of_one_element() -> None:
    one = UPDATE.format(value="A[vi]").replace("A[vi]", "A[0]").replace("(4,)", "(1,)").replace("range(4)", "range(1)")
    one = one.replace("spatial(4", "spatial(1")
    assert scheduled(one, lambda s: s.cache_inplace("A", 0, "local")).status == "equal"


def test_a_partition_declares_no_regions() -> None:
    report = scheduled(WHOLE, in_two_parts)
    _, after = replayed(report)
    assert after is None  # the second copy is made after it is read
    assert "T.reads()\n" in report.before
    assert scheduled(WHOLE, in_two_copies).status == "equal"


def test_a_partition_moved_into_another_loop_loses_its_own() -> None:
    rows = WHOLE.replace("(4,)", "(4, 4)").replace("for i in range(4)", "for i, j in T.grid(4, 4)")
    rows = rows.replace("vi = T.axis.spatial(4, i)", 'vi, vj = T.axis.remap("SS", [i, j])').replace("[vi]", "[vi, vj]")
    sch = ValidatedSchedule(function(rows), on_different="collect", limits=LIMITS)
    sch.loop_partition(sch.get_loops("C")[1], [1, None])
    sch.reverse_compute_at("C_j_common", sch.get_loops("B")[0])
    partition, move = sch.reports
    assert (partition.status, move.status) == ("equal", "different")
    assert " = T.int32()" in move.after  # the loop's variable, which nothing binds any more


def test_the_same_loop_moved_whole() -> None:
    assert scheduled(WHOLE, moved).status == "equal"
