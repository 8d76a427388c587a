"""Rounds: everything in turns, medians, and calls that take too long."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest

from verified_tir.bench import measure
from verified_tir.bench.measure import clock_of, in_turns


class Clock:
    """A clock that goes when something works."""

    def __init__(self) -> None:
        self.now = 0.0
        self.ran: list[str] = []

    def __call__(self) -> float:
        return self.now

    def work(self, name: str, *seconds: float) -> Callable[[], None]:
        """Something that takes these times in turns."""

        def call() -> None:
            self.now += seconds[self.ran.count(name) % len(seconds)]
            self.ran.append(name)

        return call


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(measure.time, "perf_counter", made)
    return made


def test_everything_runs_in_every_round_each_time_in_another_order(clock: Clock) -> None:
    rounds: list[int] = []
    found = in_turns({n: clock.work(n, 0.01) for n in "abc"}, clock, 0.2, rounds.append)
    assert {n: (t.rounds, t.calls) for n, t in found.items()} == dict.fromkeys("abc", (len(rounds), 1))
    assert "".join(clock.ran[6:15]) == "abcbcacab"
    assert all(t.median == pytest.approx(0.01) for t in found.values())
    assert 0.2 <= clock.now <= 0.3


def test_short_calls_are_made_often_in_a_round(clock: Clock) -> None:
    found = in_turns({"short": clock.work("short", 1e-5), "long": clock.work("long", 0.05)}, clock, 1.0)
    assert found["long"].calls == 1
    assert 250 <= found["short"].calls <= 1000
    assert found["short"].median == pytest.approx(1e-5)


def test_medians_and_quartiles(clock: Clock) -> None:
    found = in_turns({"a": clock.work("a", 0.1, 0.1, 0.1, 0.1, 0.5)}, clock, 100.0)["a"]
    assert (found.low, found.median) == (pytest.approx(0.1), pytest.approx(0.1))
    assert in_turns({"b": clock.work("b", 0.1, 0.3)}, clock, 100.0)["b"].high == pytest.approx(0.3)


def test_a_few_rounds_whatever_the_budget_and_one_call_of_what_is_longer(clock: Clock) -> None:
    found = in_turns({"a": clock.work("a", 0.4), "b": clock.work("b", 3.0)}, clock, 0.5)
    assert found["a"].rounds == measure.FEWEST
    assert (found["b"].rounds, found["b"].median, found["b"].high) == (1, 3.0, 3.0)
    assert clock.ran.count("b") == 1


def test_collection_is_off_meanwhile_and_on_again(clock: Clock) -> None:
    seen: list[bool] = []
    work = clock.work("a", 0.1)
    in_turns({"a": lambda: (seen.append(gc.isenabled()), work())}, clock, 0.1)
    assert not any(seen[-measure.FEWEST :]) and gc.isenabled()


def test_clocks() -> None:
    assert [clock_of(n)[0] for n in (1, 2)] == ["thread CPU time", "wall time"]
