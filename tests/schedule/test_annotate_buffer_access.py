"""annotate_buffer_access: TVM's note that a region is given explicitly; the region must hold the accesses."""

from __future__ import annotations

import pytest

from tests.schedule.schedule_support import Steps, accepted, not_applicable

STENCIL = """
@T.prim_func
def f(A: T.Buffer((10, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + A[vi + 2, vj]
"""


def test_it_is_noted_as_tvm_does() -> None:
    s = accepted(STENCIL, lambda s: s.annotate_buffer_access("B", 0, "read", lambda i, j: ((i, i + 3), (j - 1, j + 1))))
    assert s.script().split("):\n", 1)[1] == (
        "    for i, j in T.grid(8, 8):\n"
        '        with T.sblock("B"):\n'
        '            T.sblock_attr({"explicit_read_region": [0]})\n'
        "            B[i, j] = A[i, j] + A[i + 2, j]"
    )
    s.annotate_buffer_access("B", 0, "read", lambda i, j: [(i, i + 4), (0, 8)])  # said again
    s.annotate_buffer_access("B", 0, "write", lambda i, j: [i, j])
    assert 'T.sblock_attr({"explicit_read_region": [0], "explicit_write_region": [0]})' in s.script()


def test_a_region_that_leaves_an_access_out_is_refused() -> None:
    not_applicable(
        STENCIL,
        lambda s: s.annotate_buffer_access("B", 0, "read", lambda i, j: [(i, i + 2), j]),
        "what is read of A may lie outside of the given region",
    )
    not_applicable(
        STENCIL,
        lambda s: s.annotate_buffer_access("B", 0, "write", lambda i, j: [j, i]),
        "what is written of B may lie outside of the given region",
    )


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (lambda s: s.annotate_buffer_access("B", 1, "read", lambda i, j: [i, j]), "no read buffer number 1"),
        (lambda s: s.annotate_buffer_access("B", 0, "both", lambda i, j: [i, j]), 'the kind of access is "read" or'),
        (lambda s: s.annotate_buffer_access("B", "A", "read", lambda i, j: [i, j]), "buffer_index is an integer"),
        (lambda s: s.annotate_buffer_access("B", 0, "read", lambda i, j: [i]), "A has 2 dimensions; 1 ranges"),
        (lambda s: s.annotate_buffer_access("B", 0, "read", lambda i: [i, i]), "the function takes 1 indices"),
        (lambda s: s.annotate_buffer_access("B", 0, "read", lambda i, j: [(i, i, i), j]), "a pair (begin, end), not 3"),
        (lambda s: s.annotate_buffer_access("B", 0, "read", 3), "is a function or an IndexMap, not 3"),
    ],
)  # fmt: skip
def test_arguments_that_make_no_sense(step: Steps, reason: str) -> None:
    not_applicable(STENCIL, step, reason)
