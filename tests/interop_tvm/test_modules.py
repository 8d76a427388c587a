"""Modules of several functions: TVM reads those that ``outline`` makes, and an intrinsic's description is TVM's."""

from __future__ import annotations

import pytest
import tvm.script

from tests.schedule.test_outline import CALLS, MODULE
from tests.schedule.test_tensorize import MATMUL, tiled
from verified_tir import Schedule, TensorIntrin, script


def test_tvm_reads_modules_and_their_calls() -> None:
    s = Schedule(CALLS)
    s.outline("row", "row_of_B")
    for text, call in ((MODULE, "Module.compute_C(B.data, C.data)"),
                       (script(s.module), "Module.row_of_B(A.data, B.data, i, scale)")):  # fmt: skip
        assert call in tvm.script.from_source(text).script()


TVM_DESCRIPTION = """
@T.prim_func(s_tir=True)
def desc(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (2, 2), "float32", align=64, offset_factor=1)
    B = T.match_buffer(b, (2, 2), "float32", align=64, offset_factor=1)
    C = T.match_buffer(c, (2, 2), "float32", align=64, offset_factor=1)
    with T.sblock("root"):
        T.reads(C[0:2, 0:2], A[0:2, 0:2], B[0:2, 0:2])
        T.writes(C[0:2, 0:2])
        for i, j, k in T.grid(2, 2, 2):
            with T.sblock("update"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


@pytest.mark.nightly
def test_a_description_written_for_tvm() -> None:
    written = str(tvm.script.from_source(TVM_DESCRIPTION).script())
    for text in (TVM_DESCRIPTION, written):
        s = Schedule(MATMUL)
        s.tensorize(tiled(s), TensorIntrin.of("mma", text))
        assert s.blocks == ["C_init", "mma", "root", "update"]
