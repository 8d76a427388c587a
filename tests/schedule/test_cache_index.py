"""cache_index: the indices of what a block reads, computed beforehand."""

from __future__ import annotations

import pytest

from tests.schedule.schedule_support import Steps, accepted, not_applicable

RESIZE = """
@T.prim_func
def resize(A: T.Buffer((3, 4, 4), "float32"), B: T.Buffer((3, 8, 8), "float32")):
    for c, i, j in T.grid(3, 8, 8):
        with T.sblock("B"):
            vc, vi, vj = T.axis.remap("SSS", [c, i, j])
            B[vc, vi, vj] = A[vc, vi // 4 + vj // 4, vj // 2] + A[0, 1, vj // 2]
"""


def test_each_index_has_a_buffer_of_its_own() -> None:
    def steps(s):  # type: ignore[no-untyped-def]
        assert s.cache_index("B", "global") == ["index_0", "index_1"]

    s = accepted(RESIZE, steps)
    assert s.script().split("):\n", 1)[1] == (
        '    index_var_0 = T.alloc_buffer((8, 8), "int32")\n'
        "    for ax0, ax1 in T.grid(8, 8):\n"
        '        with T.sblock("index_0"):\n'
        "            index_var_0[ax0, ax1] = ax0 // 4 + ax1 // 4\n"
        '    index_var_1 = T.alloc_buffer((8,), "int32")\n'
        "    for ax0 in range(8):\n"
        '        with T.sblock("index_1"):\n'
        "            index_var_1[ax0] = ax0 // 2\n"
        "    for c, i, j in T.grid(3, 8, 8):\n"
        '        with T.sblock("B"):\n'
        "            B[c, i, j] = A[c, index_var_0[i, j], index_var_1[j]] + A[0, 1, index_var_1[j]]"
    )


def test_only_what_occurs_so_often() -> None:
    s = accepted(RESIZE, lambda s: s.cache_index("B", "global", 2))
    assert "B[c, i, j] = A[c, i // 4 + j // 4, index_var_0[j]] + A[0, 1, index_var_0[j]]" in s.script()
    s = accepted(RESIZE, lambda s: s.cache_index("B", "global", 3))
    assert s.func is s.steps[0].after


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (lambda s: s.cache_index("B", 1), "a storage scope is a text"),
        (lambda s: s.cache_index("B", "global", -1), "the threshold is a number of repetitions, not -1"),
        (lambda s: s.cache_index("B", "global", 0.5), "the threshold is a number of repetitions, not 0.5"),
        (lambda s: s.cache_index("Q", "global"), "there is no block called 'Q'"),
    ],
)
def test_arguments_that_make_no_sense(step: Steps, reason: str) -> None:
    not_applicable(RESIZE, step, reason)
