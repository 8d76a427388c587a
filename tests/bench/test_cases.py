"""Results are compared before anything is timed."""

from __future__ import annotations

import numpy as np
import pytest

from tests.bench.cases import case
from verified_tir.bench.cases import OURS, Entry, difference

ONES = np.ones(4, np.float32)


def test_what_agrees_and_what_does_not() -> None:
    off = ONES.copy()
    off[2] = 1.5
    made = case(right=lambda: (ONES * np.float32(1.0005),), wrong=lambda: (off,), two=lambda: (ONES, ONES))
    assert made.wrong() == {
        "wrong": "element [2] is 1.5 instead of 1.0 (1 of 4 differ)",
        "two": "2 results instead of 1",
    }


def test_a_peer_that_fails_is_left_out_but_ours_is_not() -> None:
    def fails() -> None:
        raise RuntimeError("out of order\nfor today")

    made = case(broken=fails)
    assert made.wrong() == {}
    assert list(made.entries) == [OURS]
    assert made.absent == {"broken": "it fails: RuntimeError: out of order"}
    made.entries[OURS] = Entry(fails)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError):
        made.wrong()


def test_bits_where_they_are_asked_for() -> None:
    made = case()
    made.entries[OURS] = Entry(lambda: (np.nextafter(ONES, np.float32(2)),), exact=True)
    assert "4 of 4 differ" in made.wrong()[OURS]
    made.entries[OURS] = Entry(lambda: (np.nextafter(ONES, np.float32(2)),))
    assert made.wrong() == {}


def test_layouts_and_elements_that_do_not_count() -> None:
    padded = np.array([1, 1, 1, 1, 9], np.float32)
    inside = np.array([True] * 4 + [False])
    made = case()
    made.entries[OURS] = Entry(lambda: (padded,), expected=[np.ones(5, np.float32)], counts=[inside])
    assert made.wrong() == {}
    made.entries[OURS] = Entry(lambda: (padded,), expected=[np.ones(5, np.float32)])
    assert made.wrong() == {OURS: "element [4] is 9.0 instead of 1.0 (1 of 5 differ)"}


def test_differences() -> None:
    nan, inf = np.array([np.nan, 1]), np.array([np.inf, 1])
    assert difference(nan, nan, 1e-3) == "" == difference(inf, inf, 1e-3)
    assert difference(nan, inf, 1e-3).startswith("element [0] is nan instead of inf")
    assert difference(np.zeros(2), -np.zeros(2), 1e-3) == ""
    assert difference(np.zeros(2), -np.zeros(2), None) != ""
    assert difference(np.zeros(2), np.zeros(3), 1e-3) == "the shape is [2] instead of [3]"
    assert difference(np.zeros(2, np.int8), np.zeros(2, np.int32), 1e-3) == "the type is int8 instead of int32"
    assert difference(np.array([1000]), np.array([1001]), 0.1) != "", "integers have no tolerance"
    assert difference(np.ones(2, np.float32), np.ones(2), 0.0) == "", "what is expected may be wider"
