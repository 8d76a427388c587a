"""How the cost of a step grows with the program around it: N independent nests or blocks, side by side.

    python benchmarks/many_blocks.py [--sizes 125 250 500] [--stores 250 500 1000] [--only NAME ...]

A step on one nest should cost what it changes, and not what stands beside it.  Each row is one step at each size, in
milliseconds of the processor, with the ratio of the last two (sizes double, so that linear growth is 2).  Verdicts are
not kept on disk, so that every run is a cold one.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable

from verified_tir.lower.pipelines import PIPELINES
from verified_tir.lower.remove_no_op import RemoveNoOp
from verified_tir.schedule.schedule import Schedule
from verified_tir.schedule.verdicts import without_store

Measured = dict[str, float]
"""Milliseconds, by step."""


def nests(n: int, *, blocks: bool) -> str:
    """The text of ``n`` nests over buffers of their own; those in the middle are a producer and its consumer."""
    names = [x for k in range(n) for x in (f"A_{k}", f"B_{k}")]
    parameters = ", ".join(f'{x}: T.Buffer((16,), "float32")' for x in [*names, "Z"])
    lines = ["@T.prim_func", f"def f({parameters}):"]
    lines.append('    M = T.alloc_buffer((16,), "float32")')
    for k in range(n):
        lines += nest(k, f"A_{k}", f"B_{k}", blocks)
        if k == n // 2:
            lines += nest(n, f"A_{k}", "M", blocks) + nest(n + 1, "M", "Z", blocks)
    return "\n".join(lines)


def nest(k: int, source: str, target: str, block: bool) -> list[str]:
    """One nest, a bare one or around a block with an axis."""
    if not block:
        return [
            f"    for i_{k} in range(16):",
            f'        with T.sblock("b_{k}"):',
            f"            {target}[i_{k}] = {source}[i_{k}] + T.float32(1)",
        ]
    return [
        f"    for i_{k} in range(16):",
        f'        with T.sblock("b_{k}"):',
        f"            v_{k} = T.axis.spatial(16, i_{k})",
        f"            {target}[v_{k}] = {source}[v_{k}] + T.float32(1)",
    ]


def stores(n: int) -> str:
    """The text of ``n`` stores in a row."""
    lines = ["@T.prim_func", f'def f(B: T.Buffer(({n},), "float32")):']
    return "\n".join([*lines, *(f"    B[{k}] = T.float32({k})" for k in range(n))])


def timed(found: Measured, name: str, step: Callable[[], object]) -> None:
    """Measure one step."""
    gc.collect()
    start = time.process_time()
    step()
    found[name] = (time.process_time() - start) * 1e3


def steps(n: int, *, blocks: bool) -> Measured:
    """Each step on a program of ``n`` nests."""
    found: Measured = {}
    made: list[Schedule] = []
    text = nests(n, blocks=blocks)
    timed(found, "Schedule()", lambda: made.append(Schedule(text)))
    (s,) = made
    timed(found, "split", lambda: s.split(f"i_{n // 3}", [None, 4]))
    timed(found, "vectorize", lambda: s.vectorize(f"i_{n // 3}_1"))
    timed(found, "parallel", lambda: s.parallel(f"i_{n - 1}"))
    timed(found, "compute_at", lambda: s.compute_at(f"b_{n}", f"i_{n + 1}"))
    timed(found, "cache_read", lambda: s.cache_read(f"b_{n // 4}", f"A_{n // 4}", "local"))
    timed(found, "cache_write", lambda: s.cache_write(f"b_{n // 5}", f"B_{n // 5}", "local"))
    timed(found, "split again", lambda: s.split(f"i_{n // 2}", [None, 4]))
    return found


def passes(n: int) -> Measured:
    """A pass over ``n`` nests."""
    s = Schedule(nests(n, blocks=False))
    found: Measured = {}
    timed(found, "remove_no_op", lambda: RemoveNoOp().run(s))
    return found


def lowered(n: int) -> Measured:
    """``n`` stores, through the default pipeline."""
    made: list[Schedule] = []
    found: Measured = {}
    text = stores(n)
    timed(found, "Schedule() of stores", lambda: made.append(Schedule(text)))
    timed(found, "lower stores", lambda: PIPELINES["default"].run(made[0]))
    return found


def table(title: str, sizes: list[int], measure: Callable[[int], Measured]) -> None:
    """Print what ``measure`` says of each size."""
    columns = [measure(n) for n in sizes]
    print(f"\n| {title} | " + " | ".join(f"N = {n}" for n in sizes) + " | ratio |")
    print("|---" * (len(sizes) + 2) + "|")
    for name in columns[-1]:
        figures = [c[name] for c in columns]
        ratio = f"{figures[-1] / figures[-2]:.2f}" if len(figures) > 1 else ""
        print(f"| {name} | " + " | ".join(f"{x:.0f} ms" for x in figures) + f" | {ratio} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="The cost of steps by the size of the program around them.")
    parser.add_argument("--sizes", type=int, nargs="+", default=[125, 250, 500])
    parser.add_argument("--stores", type=int, nargs="+", default=[250, 500, 1000])
    parser.add_argument("--only", nargs="+", default=["nests", "blocks", "passes", "stores"])
    options = parser.parse_args()
    with without_store():
        if "nests" in options.only:
            table("nests", options.sizes, lambda n: steps(n, blocks=False))
        if "blocks" in options.only:
            table("blocks with axes", options.sizes, lambda n: steps(n, blocks=True))
        if "passes" in options.only:
            table("passes", [n // 10 for n in options.sizes], passes)
        if "stores" in options.only:
            table("stores", options.stores, lowered)


if __name__ == "__main__":
    main()
