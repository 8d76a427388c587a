"""What a call costs, and what loading a compiled function costs: each beside its peer, measured in turns in one run.

    python benchmarks/codegen.py             a table; exit code 1 if a target is missed
    python benchmarks/codegen.py --json      the same figures for programs
    python benchmarks/codegen.py --runs 41   more rounds

* ``call``: three float32 arrays of eight elements, checked, against ``numpy.add`` on the same arrays.
* ``call, symbolic``: the same with a shape symbol; ``call, scalars``: with an integer and a float besides.
* ``load``: ``build`` with the object code in the cache, against ``build`` without.
* ``first load``: the same as the first thing that a process does with the theorem it has proved, LLVM's start included.

A figure is the median of all rounds; in a round all are measured one after the other.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from verified_tir import Schedule, build

CALL_TARGET, LOAD_TARGET = 0.5e-6, 1e-3
CALLS = 2_000
"""So few that the operating system seldom takes the processor away meanwhile."""

ADD = """
@T.prim_func
def add(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        C[i] = A[i] + B[i]
"""
SYMBOLIC = """
@T.prim_func
def add(a: T.handle, b: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    C = T.match_buffer(c, (n,), "float32")
    for i in range(n):
        C[i] = A[i] + B[i]
"""
SCALARS = """
@T.prim_func
def add(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"),
        n: T.int32, x: T.float32):
    for i in range(8):
        C[i] = A[i] + B[i] * x
"""

FIRST = f"""
import time
from verified_tir import Schedule, build
import verified_tir.codegen.build
theorem = Schedule({ADD!r}).theorem
start = time.perf_counter()
build(theorem)
print(time.perf_counter() - start)
"""


@dataclass(frozen=True)
class Figure:
    """Seconds of one thing, and of its peer; ``target`` in seconds, if there is one."""

    name: str
    seconds: float
    peer: str
    peer_seconds: float
    target: float | None = None

    @property
    def ratio(self) -> float:
        """How many times as long the peer takes."""
        return self.peer_seconds / self.seconds

    @property
    def missed(self) -> bool:
        return self.target is not None and self.seconds > self.target


def timed(call: Callable[..., object], *args: Any, times: int = CALLS) -> float:
    """Seconds of one call, over many."""
    start = time.perf_counter()
    for _ in range(times):
        call(*args)
    return (time.perf_counter() - start) / times


def in_turns(rounds: int, *measures: Callable[[], float]) -> list[float]:
    """The median of each measure, taken one after the other in every round."""
    for m in measures:
        m()
    found = [[m() for m in measures] for _ in range(rounds)]
    return [statistics.median(column) for column in zip(*found, strict=True)]


def calls(rounds: int) -> list[Figure]:
    """Checked calls, beside numpy's."""
    a, b, c = np.arange(8, dtype=np.float32), np.ones(8, np.float32), np.zeros(8, np.float32)
    plain, symbolic, scalars = (build(Schedule(text), threads=1) for text in (ADD, SYMBOLIC, SCALARS))
    for f, more in ((plain, ()), (symbolic, ()), (scalars, (3, 1.0))):
        c[:] = 0
        f(a, b, c, *more)
        np.testing.assert_array_equal(c, a + b)
    peer, *own = in_turns(
        10 * rounds,
        lambda: timed(np.add, a, b, c),
        lambda: timed(plain, a, b, c),
        lambda: timed(symbolic, a, b, c),
        lambda: timed(scalars, a, b, c, 3, 1.0),
    )
    names = ("call", "call, symbolic", "call, scalars")
    return [Figure(name, seconds, "numpy.add", peer, CALL_TARGET) for name, seconds in zip(names, own, strict=True)]


def loads(rounds: int) -> list[Figure]:
    """Loading from the cache, beside compiling."""
    theorem = Schedule(ADD).theorem
    build(theorem)
    cached, compiled, first = in_turns(
        rounds,
        lambda: statistics.median(timed(build, theorem, times=1) for _ in range(11)),
        lambda: timed(lambda: build(theorem, cache=False), times=1),
        first_load,
    )
    return [
        Figure("load", cached, "build without cache", compiled, LOAD_TARGET),
        Figure("first load", first, "build without cache", compiled),
    ]


def first_load() -> float:
    """Seconds of the first ``build`` in a process."""
    done = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=21, help="rounds; the medians are shown")
    parser.add_argument("--json", action="store_true", help="the figures as JSON")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["VTIR_CACHE_DIR"] = folder
        figures = calls(args.runs) + loads(args.runs)
    if args.json:
        print(json.dumps([{**asdict(f), "ratio": f.ratio} for f in figures], indent=2))
    else:
        for f in figures:
            target = "" if f.target is None else f"   target {f.target * 1e6:.1f} {'MISSED' if f.missed else 'met'}"
            print(f"{f.name:<16}{f.seconds * 1e6:10.3f} µs   {f.peer}: {f.peer_seconds * 1e6:10.3f} µs   "
                  f"ratio {f.ratio:.2f}{target}")  # fmt: skip
    return 1 if any(f.missed for f in figures) else 0


if __name__ == "__main__":
    sys.exit(main())
