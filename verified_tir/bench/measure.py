"""Timing in turns: in each round everything runs once, so that what disturbs the machine disturbs all.

A sample is as many calls as take some milliseconds: the first finds in the caches what others left there.  A figure is
the median of the samples, with the quartiles.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, final

SAMPLE: Final = 5e-3
FEWEST, MOST = 5, 1000
"""Rounds."""


@final
@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of one call: the median of the rounds, and the quartiles."""

    median: float
    low: float
    high: float
    rounds: int
    calls: int
    """In each round."""


def clock_of(threads: int) -> tuple[str, Callable[[], float]]:
    """How time is taken, in words, and the clock.

    Other work on the machine does not count with one thread.  With more, how long it takes until the last one is done
    does.
    """
    return ("thread CPU time", time.thread_time) if threads == 1 else ("wall time", time.perf_counter)


def in_turns(
    calls: Mapping[str, Callable[[], object]],
    clock: Callable[[], float],
    budget: float,
    tell: Callable[[int], None] = lambda _: None,
) -> dict[str, Timing]:
    """Time calls in rounds, each time in another order.

    :param budget: seconds after which no round begins, once there are :data:`FEWEST`.  A call that takes longer is
        timed once only.
    :param tell: hears the number of each round.
    """
    first = {name: _sample(call, 1, clock) for name, call in calls.items()}  # this warms up, too
    samples = {name: [seconds] if seconds > budget else [] for name, seconds in first.items()}
    order = [name for name, seconds in first.items() if seconds <= budget]
    times = dict.fromkeys(calls, 1) | {name: _calls(calls[name], clock) for name in order}
    end = time.perf_counter() + budget
    with _without_collection():
        for k in range(MOST if order else 0):
            if k >= FEWEST and time.perf_counter() >= end:
                break
            tell(k)
            for name in order:
                samples[name].append(_sample(calls[name], times[name], clock))
            order = order[1:] + order[:1]
    return {name: _timing(found, times[name]) for name, found in samples.items()}


def _calls(call: Callable[[], object], clock: Callable[[], float]) -> int:
    """How many calls one sample takes."""
    n = 1
    while (seconds := _sample(call, n, clock) * n) < SAMPLE / 2 and n < 1 << 20:
        n = max(2 * n, min(int(n * SAMPLE / max(seconds, 1e-9)), 16 * n))
    return n


def _sample(call: Callable[[], object], calls: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(calls):
        call()
    return (clock() - start) / calls


def _timing(samples: list[float], calls: int) -> Timing:
    low, median, high = statistics.quantiles(samples, n=4, method="inclusive") if samples[1:] else samples * 3
    return Timing(median, low, high, len(samples), calls)


@contextmanager
def _without_collection() -> Iterator[None]:
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
