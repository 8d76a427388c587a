"""storage_align: TVM's note about the strides of a local buffer, with its arguments checked."""

from __future__ import annotations

import pytest

from tests.schedule.schedule_support import Steps, accepted, not_applicable
from verified_tir import script

STAGES = """
@T.prim_func
def f(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((8, 8), "float32")
    for i, j in T.grid(8, 8):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(8, 8):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)
"""


def test_it_is_noted_as_tvm_does() -> None:
    s = accepted(STAGES, lambda s: s.storage_align("B", 0, axis=-2, factor=128, offset=1))
    assert script(s.func).split("):\n", 1)[1] == (
        '    B = T.alloc_buffer((8, 8), "float32")\n'
        "    for i, j in T.grid(8, 8):\n"
        '        with T.sblock("B"):\n'
        '            T.sblock_attr({"buffer_dim_align": [[0, 0, 128, 1]]})\n'
        "            B[i, j] = A[i, j] * T.float32(2.0)\n"
        "    for i, j in T.grid(8, 8):\n"
        '        with T.sblock("C"):\n'
        "            C[i, j] = B[i, j] + T.float32(1.0)"
    )


def test_of_one_axis_the_last_one_counts_and_others_stay() -> None:
    s = accepted(STAGES, lambda s: (s.storage_align("B", 0, 0, 8, 1), s.storage_align("B", 0, 1, 4, 0),
                                    s.storage_align("B", 0, 0, 16, -2)))  # fmt: skip
    assert '"buffer_dim_align": [[0, 1, 4, 0], [0, 0, 16, -2]]' in s.script()


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (lambda s: s.storage_align("C", 0, 0, 8, 1), "C is a parameter, whose strides are the caller's"),
        (lambda s: s.storage_align("B", 1, 0, 8, 1), "block B has no write buffer number 1; it writes B"),
        (lambda s: s.storage_align("B", 0, 2, 8, 1), "B has 2 dimensions; an axis is in [-2, 2), not 2"),
        (lambda s: s.storage_align("B", 0, -3, 8, 1), "B has 2 dimensions; an axis is in [-2, 2), not -3"),
        (lambda s: s.storage_align("B", 0, 0, 0, 1), "the factor is positive, not 0"),
        (lambda s: s.storage_align("B", 0, 0, 2.0, 1), "factor is an integer, not 2.0"),
        (lambda s: s.storage_align("B", "B", 0, 2, 1), "buffer_index is an integer, not 'B'"),
        (lambda s: s.storage_align("B", 0, True, 2, 1), "axis is an integer, not True"),
        (lambda s: s.storage_align("D", 0, 0, 2, 1), "there is no block called 'D'"),
        (lambda s: (s.annotate("B", "buffer_dim_align", 3), s.storage_align("B", 0, 0, 2, 1)),
         "block B has an annotation 'buffer_dim_align' that is not a list of alignments: 3"),
    ],
)  # fmt: skip
def test_arguments_that_make_no_sense(step: Steps, reason: str) -> None:
    not_applicable(STAGES, step, reason)
