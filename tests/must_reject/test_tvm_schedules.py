"""Cases 19 to 23 and 26: schedules that TVM 0.27 accepts, each beside a neighbour that it gets right.

docs/tvm-findings.md shows the programs and says why.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tvm
from tvm.tirx import transform as tirx

from tests.interop_tvm.programs import RECURRENCE, TWO_STAGES
from tests.must_reject.tvm_support import compiled, on_the_machine, passed, replayed, same, scheduled
from verified_tir.interop.tvm import ValidatedSchedule

# -- 19: index maps that are not injective


@pytest.mark.parametrize("index_map", [lambda i: [i // 2], lambda i: [i % 4], lambda i: [i // 8, i % 4]])
def test_19_a_map_that_is_not_injective(index_map: Callable[..., object]) -> None:
    report = scheduled(TWO_STAGES, lambda s: s.transform_layout("B", ("write", 0), index_map))
    before, after = replayed(report)
    machine = on_the_machine(report)
    assert same(machine[0], before) and same(machine[1], after)


def test_19_a_map_that_is_injective() -> None:
    for index_map in (lambda i: [i // 4, i % 4], lambda i: [i // 8, i % 8], lambda i: [i % 4, i // 4]):
        assert scheduled(TWO_STAGES, lambda s: s.transform_layout("B", ("write", 0), index_map)).status == "equal"


# -- 20: the inverse of a rotation


EIGHT = TWO_STAGES.replace("16", "8")


def test_20_the_inverse_of_a_rotation() -> None:
    rotation = tvm.tirx.IndexMap.from_func(lambda i: [(i + 1) % 8])
    inverse = rotation.inverse([8])
    assert str(inverse.final_indices[0]) == str(inverse.initial_indices[0])  # the identity
    report = scheduled(EIGHT, lambda s: s.transform_layout("C", ("write", 0), lambda i: [(i + 1) % 8], pad_value=0.0))
    before, after = replayed(report)
    assert report.witness is not None and report.witness.element == "C[7]" and after == 0.0
    machine = on_the_machine(report)
    assert same(machine[0], before) and same(machine[1], after)


def test_20_a_shift_with_room_for_its_padding() -> None:
    for index_map in (lambda i: [(i + 1) % 16], lambda i: [(i + 1) // 4, (i + 1) % 4]):
        report = scheduled(EIGHT, lambda s: s.transform_layout("C", ("write", 0), index_map, pad_value=0.0))
        assert report.status == "equal"


# -- 21: a copy of what is overwritten before the copy is used

OVERWRITTEN = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32"), D: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.sblock("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[vi] + 1
    for i in range(8):
        with T.sblock("A"):
            vi = T.axis.spatial(8, i)
            A[vi] = A[vi] * 2
    for i in range(8):
        with T.sblock("D"):
            vi = T.axis.spatial(8, i)
            D[vi] = A[vi] + 3
"""


def test_21_the_copy_of_a_buffer_that_is_overwritten() -> None:
    report = scheduled(OVERWRITTEN, lambda s: s.cache_read("C", 0, "global"))
    _, after = replayed(report)
    assert after is None  # the copy is read before it is made


def test_21_the_copy_of_a_buffer_that_stays() -> None:
    assert scheduled(OVERWRITTEN.replace("A[vi] = A[vi] * 2", "D[vi] = A[vi] * 2"),
                     lambda s: s.cache_read("C", 0, "global")).status == "equal"  # fmt: skip
    assert scheduled(TWO_STAGES, lambda s: s.cache_read("C", 0, "global")).status == "equal"


# -- 22: a reduction in two parts

REDUCTION = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4,), "int32")):
    for i, k in T.grid(4, 8):
        with T.sblock("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + A[vi, vk]
"""


def test_22_the_loop_of_a_reduction_in_two_parts() -> None:
    report = scheduled(REDUCTION, lambda s: s.loop_partition(s.get_loops("C")[1], [2, None]))
    before, after = replayed(report)
    assert report.after.count("with T.init():") == 2
    machine = on_the_machine(report)
    assert same(machine[0], before) and same(machine[1], after)


def test_22_another_loop_in_two_parts() -> None:
    assert scheduled(REDUCTION, lambda s: s.loop_partition(s.get_loops("C")[0], [2, None])).status == "equal"


# -- 23: extents and offsets beyond int32

CORNER = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((1,), "int32")):
    for i, j in T.grid({0}, {1}):
        with T.sblock("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads()
            T.writes(A[0])
            if vi == 0 and vj == 0:
                A[0] = 1
"""
LAST = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer(({0}, 65536), "int8"), B: T.Buffer((1,), "int8")):
    B[0] = A[{0} - 1, 65535]
"""


def test_23_fusing_loops_whose_product_wraps() -> None:
    report = scheduled(CORNER.format(65536, 65536), lambda s: s.fuse(*s.get_loops("A")))
    assert "for i_j_fused in range(0):" in report.after
    assert report.status == "different" and report.text.startswith("different: A[0] was 1 and is ")
    assert "replayed in part" in report.text  # four thousand million iterations are not executed one by one
    zero = {"A": np.zeros(1, np.int32)}
    assert (compiled(report.before, zero)["A"][0], compiled(report.after, zero)["A"][0]) == (1, 0)


@pytest.mark.parametrize(("n", "m"), [("65536", "32767"), ("T.int64(65536)", "T.int64(65536)")])
def test_23_fusing_loops_whose_product_fits(n: str, m: str) -> None:
    report = scheduled(CORNER.format(n, m), lambda s: s.fuse(*s.get_loops("A")))
    assert (report.status, report.text) == (
        "equal in part",
        "equal on 1 of 1 elements, evaluated on demand; undefined behaviour elsewhere is not seen",
    )


def test_23_flattening_indices_that_wrap() -> None:
    report = passed(LAST.format(65536), tirx.FlattenBuffer())
    assert "B_1[0] = A_1[-1]" in report.after
    assert report.status == "different" and "out-of-bounds: A_1[-1] is outside its shape" in report.text


def test_23_flattening_indices_that_fit() -> None:
    assert passed(LAST.format(32767), tirx.FlattenBuffer()).status == "equal in part"


# -- 26: a recurrence that is declared a reduction


def reordered(s: ValidatedSchedule) -> None:
    outer, inner = s.split(s.get_loops("C")[1], [2, 4])
    s.reorder(inner, outer)


def test_26_reordering_a_recurrence() -> None:
    report = scheduled(RECURRENCE, reordered)
    before, after = replayed(report)
    machine = on_the_machine(report)
    assert same(machine[0], before) and same(machine[1], after)


def test_26_reordering_a_sum() -> None:
    assert scheduled(RECURRENCE.replace("C[vi] * 2", "C[vi]"), reordered).status == "equal"
