"""What a parallel loop costs: on two threads beside one, for loops that take no time, and some, on one thread.

    python benchmarks/parallel_loops.py               a table
    python benchmarks/parallel_loops.py --threads 8   on more threads
    python benchmarks/parallel_loops.py --json        the same figures for programs

Each loop computes exponentials, so that memory plays no part.  *Warm* calls follow each other, *asleep* ones a pause of
two milliseconds, after which the workers sleep.  A figure is the median of all calls; in each round all are measured,
one after the other.  Results are compared before.  On a machine with other work, look at the ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import median

import numpy as np

from verified_tir import Schedule, build

PROGRAM = """
@T.prim_func
def f(A: T.Buffer(({iterations}, {each}), "float32"), B: T.Buffer(({iterations}, {each}), "float32")):
    for i in T.{kind}({iterations}):
        for j in range({each}):
            B[i, j] = {value}
"""
ITERATIONS, PAUSE, CALLS = 64, 0.002, 10
SIZES = {"nothing": (1, "A[i, j]"), "10 µs": (320, "T.exp(A[i, j])"), "50 µs": (1600, "T.exp(A[i, j])"),
         "300 µs": (9000, "T.exp(A[i, j])")}  # fmt: skip
"""Elements for each iteration; about so long they take on one thread."""


@dataclass(frozen=True)
class Row:
    """Seconds of a loop."""

    work: str
    serial: float
    warm: float
    serial_after_pause: float
    asleep: float


def measure(work: str, threads: int, rounds: int) -> Row:
    """One loop, on one thread and on several, warm and after a pause."""
    each, value = SIZES[work]
    a = np.random.default_rng(1).random((ITERATIONS, each), np.float32)
    b, c = np.zeros_like(a), np.zeros_like(a)
    texts = [
        PROGRAM.format(iterations=ITERATIONS, each=each, kind=kind, value=value) for kind in ("serial", "parallel")
    ]
    serial, parallel = build(Schedule(texts[0]), threads=1), build(Schedule(texts[1]), threads=threads)
    serial(a, b)
    parallel(a, c)
    assert (b.view(np.int32) == c.view(np.int32)).all()

    def once(f: Callable[..., None]) -> float:
        start = time.perf_counter()
        f(a, b)
        return time.perf_counter() - start

    def warm(f: Callable[..., None]) -> list[float]:
        f(a, b)
        return [once(f) for _ in range(CALLS)]

    def asleep(f: Callable[..., None]) -> list[float]:
        time.sleep(PAUSE)
        return [once(f)]

    columns: list[list[float]] = [[], [], [], []]
    for _ in range(rounds):
        for column, found in zip(
            columns, (warm(serial), warm(parallel), asleep(serial), asleep(parallel)), strict=True
        ):
            column.extend(found)
    return Row(work, *map(median, columns))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=151)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = [measure(work, options.threads, options.runs) for work in SIZES]
    if options.json:
        print(json.dumps({"threads": options.threads, "load": os.getloadavg()[0], "rows": [asdict(r) for r in rows]}))
        return
    print(f"microseconds; {options.threads} threads; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    print(f"{'':10}{'one thread':>12}{'warm':>12}{'':8}{'after a pause: one':>20}{'several':>12}")
    for r in rows:
        us = [1e6 * x for x in (r.serial, r.warm, r.serial_after_pause, r.asleep)]
        print(
            f"{r.work:10}{us[0]:12.1f}{us[1]:12.1f}{us[0] / us[1]:7.2f}×{us[2]:20.1f}{us[3]:12.1f}{us[2] / us[3]:7.2f}×"
        )


if __name__ == "__main__":
    main()
