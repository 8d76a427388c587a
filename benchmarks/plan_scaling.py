"""How the time of planning grows with a model: residual graphs of 125, 250, 500 and 1000 operators.

    python benchmarks/plan_scaling.py [--distinct] [--sizes 125 250 500 1000]

A block is a convolution, a batch norm, a relu, another convolution, and an addition of the block's input.  Programs of
one kind are proved once, so without --distinct only the graph grows; with it every block has another number of
channels, so that each has programs, and proofs, of its own.  Prints the processor's time of planning, and what each
operator took of it; verdicts are not kept on disk, so that every run is a cold one.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from verified_tir.graph import Graph, GraphBuilder
from verified_tir.graph.annotate import Annotations
from verified_tir.graph.plan import plan
from verified_tir.schedule.verdicts import without_store


def residual(operators: int, *, distinct: bool) -> Graph:
    """A graph of about so many operators, in blocks of five."""
    g = GraphBuilder(f"residual_{operators}")
    y = g.input("x", (1, 16, 8, 8))
    for k in range(max(1, operators // 5)):
        inner = 16 * (k % 61 + 1) if distinct else 32
        size = 1 + 2 * (k // 61 % 3) if distinct else 3
        w1 = g.constant(np.zeros((inner, 16, size, size), np.float32), "w1")
        w2 = g.constant(np.zeros((16, inner, 1, 1), np.float32), "w2")
        scale = [g.constant(np.ones(inner, np.float32), name) for name in ("gamma", "beta", "mean", "variance")]
        pad = (size // 2,) * 4
        z = g.op("nn.conv2d", y, w1, padding=pad, name=f"c{k}")
        z = g.op("nn.relu", g.op("nn.batch_norm", z, *scale, epsilon=1e-5), name=f"r{k}")
        y = g.op("add", g.op("nn.conv2d", z, w2), y, name=f"a{k}")
    return g.finish(y)


def main() -> None:
    parser = argparse.ArgumentParser(description="Time of planning by the size of a model.")
    parser.add_argument("--sizes", type=int, nargs="+", default=[125, 250, 500, 1000])
    parser.add_argument("--distinct", action="store_true", help="every block has programs of its own")
    options = parser.parse_args()
    print("| operators | programs | options | choice and proofs | in all | of each operator |")
    print("|---|---|---|---|---|---|")
    for size in options.sizes:
        graph = residual(size, distinct=options.distinct)
        frozen = Annotations({"conv2d": "NCHW16c"}).frozen(graph)
        with without_store():
            start = time.process_time()
            made = plan(graph, frozen)
            seconds = time.process_time() - start
        programs = len({r.schedule for r in made.relaid.values()})
        wall = made.seconds["options"]
        print(
            f"| {len(graph.nodes)} | {programs} | {wall:.1f} s | {sum(made.seconds.values()) - wall:.1f} s "
            f"| {seconds:.2f} s of the processor | {seconds / len(graph.nodes) * 1e3:.1f} ms |",
            flush=True,
        )


if __name__ == "__main__":
    main()
