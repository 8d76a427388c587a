"""``Schedule(s.script())``: what was printed is a program again, with what is known of padding if that is printed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from verified_tir import Refuted, Schedule
from verified_tir.script import tir as T

SYMBOLIC = """
@T.prim_func
def f(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "int32")
    B = T.match_buffer(b, (n,), "int32")
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi] * 2
"""
FIXED = SYMBOLIC.replace("(n,)", "(14,)").replace("range(n)", "range(14)").replace("spatial(n", "spatial(14")


def in_fours(s: Schedule) -> None:
    s.transform_layout("A", lambda i: [i // 4, i % 4], pad_value=0)
    s.transform_layout("B", lambda i: [i // 4, i % 4], pad_value=0)
    s.split("i", [None, 4])


SUM = """
@T.prim_func
def total(a: T.handle, B: T.Buffer((1,), "int32")):
    n = T.int32()
    A = T.match_buffer(a, (n,), "int32")
    for i in range(n):
        with T.block("B"):
            B[0] = B[0] + A[i]
"""


@pytest.mark.parametrize("text", [SUM, SUM.replace("    n = T.int32()\n", "").replace("(n", "(14")])
def test_padding_is_known_again(text: str) -> None:
    s = Schedule(text)
    s.transform_layout("A", lambda i: [i // 4, i % 4], pad_value=0)
    s.split("i", [None, 4])
    before = s.script()
    again = Schedule(s.script(padding=True))
    assert s.script() == before  # printing changes nothing
    assert any("T.assume in the program" in a for a in again.assumptions)
    assert again.remove_branching_through_overcompute("B") == 1
    assert again.script(padding=True) == again.script()  # there is nothing more to say
    with pytest.raises(Refuted):  # without it, the padding of A may hold anything
        Schedule(before).remove_branching_through_overcompute("B")


def test_the_text() -> None:
    s = Schedule(SYMBOLIC)
    in_fours(s)
    assert (
        s.script(padding=True).split("\n\n")[1]
        == """\
@T.prim_func(s_tir=True)
def f(A: T.Buffer(("(n + 3) // 4", 4), "int32"), B: T.Buffer(((n + 3) // 4, 4), "int32"), n: T.int32):
    for io, ii in T.grid((n + 3) // 4, 4):
        T.assume(4 * io + ii < n or A[io, ii] == 0)
    for i_0, i_1 in T.grid((n + 3) // 4, 4):
        if i_0 * 4 + i_1 < n:
            with T.sblock("B"):
                B[(i_0 * 4 + i_1) // 4, (i_0 * 4 + i_1) % 4] = A[(i_0 * 4 + i_1) // 4, (i_0 * 4 + i_1) % 4] * 2
    for io, ii in T.grid((n + 3) // 4, 4):
        with T.sblock("B_padding"):
            if 4 * io + ii >= n:
                B[io, ii] = 0"""
    )


@pytest.mark.parametrize(
    "steps",
    [
        lambda s: s.split("i", [None, 4]),
        lambda s: s.transform_layout("A", lambda i: [i // 4, i % 4], pad_value=T.undef()),
        lambda s: s.transform_layout("A", lambda i: [i // 4, i % 4]),
        lambda s: (s.split("i", [None, 4]), s.vectorize("i_1")),
        lambda s: (s.cache_read("B", 0, "local"), s.split("i", [None, 8])),
    ],
)
@pytest.mark.parametrize("text", [SYMBOLIC, FIXED.replace("    n = T.int32()\n", "")])
def test_what_was_printed_is_read(steps: Callable[[Schedule], object], text: str) -> None:
    s = Schedule(text)
    steps(s)
    for printed in (s.script(), s.script(padding=True)):
        assert Schedule(printed).script() == printed
