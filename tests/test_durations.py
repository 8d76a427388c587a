"""Durations as texts."""

from __future__ import annotations

import pytest

from verified_tir.durations import clock, duration, seconds_of


def test_shown() -> None:
    found = [duration(s) for s in (0, 2.5e-6, 40e-6, 0.9994e-3, 0.9996e-3, 9.94e-3, 9.96e-3, 0.9994, 0.9996)]
    assert found == ["0.0 µs", "2.5 µs", "40 µs", "999 µs", "1.0 ms", "9.9 ms", "10 ms", "999 ms", "1.0 s"]
    assert [duration(s) for s in (99.4, 99.6, 1234)] == ["99.4 s", "100 s", "1234 s"]


def test_of_hours() -> None:
    assert [clock(s) for s in (0, 59.9, 61, 36 * 3600)] == ["0:00:00", "0:00:59", "0:01:01", "36:00:00"]


def test_read() -> None:
    assert [seconds_of(t) for t in ("90s", "10m", "1h30m", "1d", "90", "0.5m")] == [90, 600, 5400, 86400, 90, 30]


@pytest.mark.parametrize("text", ["", "ten", "5x", "m", "-5s", "10m5", "1 m", "1m s", "1.m"])
def test_not_read(text: str) -> None:
    with pytest.raises(ValueError, match=r"^write a duration as 90s, 10m or 1h30m$"):
        seconds_of(text)


@pytest.mark.parametrize("text", ["0", "0s", "0h0m"])
def test_no_time(text: str) -> None:
    with pytest.raises(ValueError, match=r"^no time at all$"):
        seconds_of(text)
