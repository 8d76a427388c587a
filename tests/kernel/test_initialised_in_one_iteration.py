"""What one iteration of a nest initialises is defined in all later ones, of whichever loop."""

from __future__ import annotations

import pytest

from verified_tir import Refuted, Schedule

HEAD = """
@T.prim_func
def f(P: T.Buffer((4, 8), "int32"), R: T.Buffer((1,), "int32")):
    a = T.alloc_buffer((1,), "int32")
    b = T.alloc_buffer((1,), "int32")
"""
ONE = """
    for k0, k1 in T.grid(4, 8):
        if {start}:
            b[0] = -5
        if b[0] < P[k0, k1]:
            {update}
    R[0] = b[0]
"""
TWO = """
    for k0, k1 in T.grid(4, 8):
        if k0 * 8 + k1 == 0:
            a[0] = -1
            {start}
        x: T.let[T.int32] = T.Select(b[0] > P[k0, k1] or b[0] == P[k0, k1] and a[0] < k0 * 8 + k1, a[0], k0 * 8 + k1)
        y: T.let[T.int32] = T.Select(b[0] > P[k0, k1], b[0], P[k0, k1])
        a[0] = x
        b[0] = y
        if a[0] > 3:
            R[0] = 1
"""


@pytest.mark.parametrize("start", ["k0 * 8 + k1 == 0", "k0 == 0 and k1 == 0", "k1 == 0"])
def test_a_maximum(start: str) -> None:
    Schedule(HEAD + ONE.format(start=start, update="b[0] = P[k0, k1]"))


@pytest.mark.parametrize(
    ("start", "update"),
    [
        ("k0 == 1", "b[0] = P[k0, k1]"),  # too late
        ("k0 * 8 + k1 == 1", "b[0] = P[k0, k1]"),
        ("k0 * 8 + k1 == 0", "b[0] = a[0]"),  # what is stored is undefined itself
    ],
)
def test_near_misses(start: str, update: str) -> None:
    with pytest.raises(Refuted, match="depends on nothing undefined"):
        Schedule(HEAD + ONE.format(start=start, update=update))


def test_the_place_of_a_maximum() -> None:
    """As TVM's topi writes it, with its loop split: what is stored to one buffer is computed from the other."""
    Schedule(HEAD + TWO.format(start="b[0] = -5"))


def test_the_place_of_a_maximum_that_begins_nowhere() -> None:
    with pytest.raises(Refuted, match="depends on nothing undefined"):
        Schedule(HEAD + TWO.format(start="pass"))
