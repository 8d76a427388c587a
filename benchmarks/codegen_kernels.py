"""How fast the machine code is, beside what the machine can do: both are measured in turns, in one run.

    python benchmarks/codegen_kernels.py             a table; exit code 1 if a target is missed
    python benchmarks/codegen_kernels.py --json      the same figures for programs
    python benchmarks/codegen_kernels.py --runs 21   more rounds

* ``microkernel``: an 8 × 32 tile of a float32 product in a local buffer, K = 256, unrolled and vectorized by hand,
  against a loop of independent ``T.fma`` on registers (what the machine reaches at most).
* ``relu``: 64 MB of ``max(x, 0)``, vectorized, its tail cut off and masked, against libc's ``memcpy`` of as many bytes.

A figure is the ratio of the medians of all rounds; in a round the two are measured one after the other.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np

from verified_tir import Schedule, build, parse_func
from verified_tir.lower.flatten_buffer import FlattenBuffer
from verified_tir.lower.loop_partition import LoopPartition
from verified_tir.lower.simplify import Simplify
from verified_tir.lower.unroll_loop import UnrollLoop
from verified_tir.lower.vectorize_loop import VectorizeLoop

TILES, ROWS, COLUMNS, DEPTH, LANES = 64, 8, 32, 256, 16
MICROKERNEL_TARGET, RELU_TARGET = 0.9, 1.0
FLOATS = 16 * 1024 * 1024
"""64 MB of float32."""

MICROKERNEL = f"""
@T.prim_func
def microkernel(A: T.Buffer(({TILES}, {ROWS}, {DEPTH}), "float32"), B: T.Buffer(({DEPTH}, {COLUMNS}), "float32"),
                C: T.Buffer(({TILES}, {ROWS}, {COLUMNS}), "float32")):
    for t in range({TILES}):
        acc = T.alloc_buffer(({ROWS}, {COLUMNS}), "float32", scope="local")
        for i in T.unroll({ROWS}):
            for j in T.unroll({COLUMNS // LANES}):
                acc[i, j * {LANES}:j * {LANES} + {LANES}] = T.Broadcast(T.float32(0), {LANES})
        for k in range({DEPTH}):
            for i in T.unroll({ROWS}):
                for j in T.unroll({COLUMNS // LANES}):
                    acc[i, j * {LANES}:j * {LANES} + {LANES}] = T.fma(
                        T.Broadcast(A[t, i, k], {LANES}), B[k, j * {LANES}:j * {LANES} + {LANES}],
                        acc[i, j * {LANES}:j * {LANES} + {LANES}])
        for i in T.unroll({ROWS}):
            for j in T.unroll({COLUMNS // LANES}):
                C[t, i, j * {LANES}:j * {LANES} + {LANES}] = acc[i, j * {LANES}:j * {LANES} + {LANES}]
"""

CHAINS, STEPS = 20, 20_000
PEAK = f"""
@T.prim_func
def peak(X: T.Buffer(({LANES},), "float32"), Y: T.Buffer(({CHAINS}, {LANES}), "float32")):
    acc = T.alloc_buffer(({CHAINS}, {LANES}), "float32", scope="local")
    for i in T.unroll({CHAINS}):
        acc[i, 0:{LANES}] = X[0:{LANES}]
    for k in range({STEPS}):
        for i in T.unroll({CHAINS}):
            acc[i, 0:{LANES}] = T.fma(acc[i, 0:{LANES}], T.Broadcast(T.float32(0.5), {LANES}), X[0:{LANES}])
    for i in T.unroll({CHAINS}):
        Y[i, 0:{LANES}] = acc[i, 0:{LANES}]
"""

RELU = """
@T.prim_func
def relu(A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32"), n: T.int32):
    for i in range(n):
        B[i] = T.max(A[i], T.float32(0))
"""


@dataclass(frozen=True, slots=True)
class Figure:
    """A kernel beside its peer; rates in the given unit."""

    name: str
    rate: float
    peer: str
    peer_rate: float
    unit: str
    target: float

    @property
    def ratio(self) -> float:
        return self.rate / self.peer_rate


def in_turns(rounds: int, *calls: Callable[[], object]) -> list[float]:
    """The median seconds of each call, measured one after the other in every round."""
    for call in calls:
        call()
    seconds: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for call, found in zip(calls, seconds, strict=True):
            start = time.perf_counter()
            call()
            found.append(time.perf_counter() - start)
    return [statistics.median(s) for s in seconds]


def microkernel(rounds: int) -> Figure:
    """GFLOP/s of the micro-kernel and of a loop that does nothing but fused multiply-adds."""
    lowering = UnrollLoop() >> Simplify()
    kernel, peak = (build(lowering.run(Schedule(parse_func(text)))) for text in (MICROKERNEL, PEAK))
    rng = np.random.default_rng(0)
    a = rng.standard_normal((TILES, ROWS, DEPTH)).astype(np.float32)
    b = rng.standard_normal((DEPTH, COLUMNS)).astype(np.float32)
    c = np.zeros((TILES, ROWS, COLUMNS), np.float32)
    x, y = np.ones(LANES, np.float32), np.zeros((CHAINS, LANES), np.float32)
    kernel(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-3, atol=1e-3)
    seconds, best = in_turns(rounds, lambda: kernel(a, b, c), lambda: peak(x, y))
    work, most = 2 * TILES * ROWS * COLUMNS * DEPTH, 2 * CHAINS * STEPS * LANES
    return Figure(
        "microkernel", work / seconds / 1e9, "T.fma on registers", most / best / 1e9, "GFLOP/s", MICROKERNEL_TARGET
    )


def relu(rounds: int) -> Figure:
    """GB/s read and written by a rectifier, and by memcpy."""
    s = Schedule(parse_func(RELU))
    _, lanes = s.split("i", [None, 4 * LANES])
    s.vectorize(lanes)
    f = build((LoopPartition() >> FlattenBuffer() >> VectorizeLoop()).run(s))
    a = np.random.default_rng(0).standard_normal(FLOATS).astype(np.float32)
    b, c = np.zeros_like(a), np.zeros_like(a)
    f(a, b, FLOATS)
    np.testing.assert_array_equal(b, np.maximum(a, 0))
    to, source, size = c.ctypes.data, a.ctypes.data, a.nbytes
    memcpy = ctypes.CDLL(None).memcpy
    memcpy.argtypes, memcpy.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t], ctypes.c_void_p
    seconds, best = in_turns(rounds, lambda: f(a, b, FLOATS), lambda: memcpy(to, source, size))
    return Figure("relu", 2 * size / seconds / 1e9, "memcpy", 2 * size / best / 1e9, "GB/s", RELU_TARGET)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=11, help="rounds; the medians are shown")
    parser.add_argument("--json", action="store_true", help="the figures as JSON")
    args = parser.parse_args()
    figures = [microkernel(args.runs), relu(args.runs)]
    if args.json:
        print(json.dumps([{**asdict(f), "ratio": f.ratio} for f in figures], indent=2))
    else:
        for f in figures:
            met = "met" if f.ratio >= f.target else "MISSED"
            print(
                f"{f.name:<12} {f.rate:8.1f} {f.unit:<8} {f.peer}: {f.peer_rate:8.1f}   ratio {f.ratio:.2f}"
                f"   target {f.target:.2f} {met}"
            )
    return 0 if all(f.ratio >= f.target for f in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
