"""remove_overcompute_through_branching: goldens, and what must go on running on padding (RFC 77)."""

from __future__ import annotations

import pytest

from tests.schedule.schedule_support import accepted, not_applicable, refused
from tests.schedule.test_overcompute import body, buffers, text
from verified_tir import NotApplicable, Schedule


def branching(s: Schedule) -> int:
    return s.remove_overcompute_through_branching()


CONVOLUTION = """
with T.block("compute"):
    for io, ii in T.grid(4, 4):
        B[io, ii] = 0.0
        for f in range(3):
            B[io, ii] = B[io, ii] + A[io + (ii + f) // 4, (ii + f) % 4]
{between}
with T.block("B_pad_value"):
    for io, ii in T.grid(4, 4):
        if io == 3 and ii >= 2:
            B[io, ii] = {value}
"""


def convolution(between: str = "", value: str = "0.0") -> str:
    params = buffers(A="5x4 float32", B="4x4 float32", C="4x4 float32")
    return text(params, CONVOLUTION.format(between=between, value=value))


def test_the_example_of_the_rfc() -> None:
    s = accepted(convolution(), branching)
    assert body(s) == (
        'with T.sblock("compute"):\n    for io, ii in T.grid(4, 4):\n        if io != 3 or ii < 2:\n'
        "            B[io, ii] = T.float32(0.0)\n            for f in range(3):\n"
        "                B[io, ii] = B[io, ii] + A[io + (ii + f) // 4, (ii + f) % 4]\n"
        'with T.sblock("B_pad_value"):\n    for io, ii in T.grid(4, 4):\n        if io == 3 and ii >= 2:\n'
        "            B[io, ii] = T.float32(0.0)"
    )
    with pytest.raises(NotApplicable, match="nothing runs on padding"):
        branching(s)  # what is left does not


def test_there_and_back() -> None:
    def steps(s: Schedule) -> None:
        assert s.remove_overcompute_through_branching("compute") == 1
        assert s.remove_branching_through_overcompute("compute") == 1

    s = accepted(convolution(), steps)
    assert body(s) == body(Schedule(convolution()))


def test_loops_keep_their_handles() -> None:
    s = Schedule(convolution())
    io, ii, *_ = s.loops()
    branching(s)
    s.split(ii, [2, 2])
    s.unroll(io)


@pytest.mark.parametrize("between", ["C[0, 0] = B[3, 1]", "for i in range(3):\n    C[i, 0] = B[i, 3]"])
def test_elements_that_are_no_padding_are_read(between: str) -> None:
    assert "if io != 3 or ii < 2" in body(accepted(convolution(between), branching))


@pytest.mark.nightly
@pytest.mark.parametrize("between", ["C[0, 0] = B[3, 2]", "for i in range(4):\n    C[i, 0] = B[i, 3] * 0.0"])
def test_padding_that_is_read_meanwhile(between: str) -> None:
    refused(convolution(between), branching, "no later read sees it")


def test_padding_that_the_loop_itself_reads() -> None:
    params = buffers(A="8 int32", B="8 int32")
    nest = "for i in range(8):\n    B[i] = A[i] + {read}\nfor i in range(8):\n    if {padding}:\n        B[i] = 3"
    for read in ("B[T.max(i - 3, 0)]", "B[7 - i]"):
        s = accepted(text(params, nest.format(read=read, padding="i >= 6")), branching)
        assert "if i < 6" in body(s)
    refused(text(params, nest.format(read="B[T.max(i - 3, 0)]", padding="i < 2")), branching, "")


def test_what_an_assumption_says() -> None:
    params = buffers(A="4x4 int32", W="4x4 int32", B="2 int32")
    program = """
for i, j in T.grid(4, 4):
    T.assume(4 * i + j < 14 or A[i, j] == {pad})
B[0] = 0
for i, j in T.grid(4, 4):
    B[0] = B[0] + A[i, j] * W[i, j]
    B[1] = j
"""
    refused(text(params, program.format(pad=0)), branching, "")  # the last iteration stores to B[1]
    s = accepted(text(params, program.format(pad=0).replace("    B[1] = j\n", "")), branching)
    assert body(s).endswith(
        "for i, j in T.grid(4, 4):\n    if 4 * i + j < 14:\n        B[0] = B[0] + A[i, j] * W[i, j]"
    )
    refused(text(params, program.format(pad=1).replace("    B[1] = j\n", "")), branching, "wrote the bits")


def test_what_a_layout_declares() -> None:
    def steps(s: Schedule) -> None:
        s.transform_layout("A", lambda i: [i // 4, i % 4], pad_value=0.0)
        s.sequential_buffer_access("A")
        s.remove_branching_through_overcompute()
        s.remove_overcompute_through_branching()

    params = buffers(A="14 float32", B="1 float32")
    s = accepted(text(params, "B[0] = 0.0\nfor i in range(14):\n    B[0] = B[0] + A[i]"), steps)
    assert "if i_0 != 3 or i_1 < 2" in body(s)


def test_no_padding() -> None:
    params = buffers(A="8 int32", B="8 int32")
    not_applicable(text(params, "for i in range(8):\n    B[i] = A[i]"), branching, "no padding is known")
    guarded = "for i in range(8):\n    T.assume(i < 6 or A[i] == 0)\nfor i in range(6):\n    B[i] = A[i]"
    not_applicable(text(params, guarded), branching, "nothing runs on padding")
