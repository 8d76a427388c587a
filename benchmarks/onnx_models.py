"""Where the time of a whole model goes, operator by operator.

    python benchmarks/onnx_models.py resnet50
    python benchmarks/onnx_models.py --all

The models are the light ones that the ``onnx`` package ships, with random weights, planned to NCHW16c (weights packed
in the order in which a convolution reads them) and compiled, on one thread.  Times are processor times, medians of five
runs.  ``vtir bench`` times whole models beside onnxruntime.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx

from verified_tir.graph.annotate import Annotations
from verified_tir.graph.execute import Executable, build
from verified_tir.graph.ir import Graph, Node
from verified_tir.graph.onnx import from_onnx
from verified_tir.graph.onnx.weights import randomised
from verified_tir.graph.plan import plan

LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"
LAYOUTS = {"conv2d": "NCHW16c:OI16iHW16o"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=["resnet50"])
    parser.add_argument("--all", action="store_true", help="all light models")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    models = sorted(p.stem[6:] for p in LIGHT.glob("*.onnx")) if options.all else options.models
    for name in models:
        print(f"{name}:", flush=True)
        graph = from_onnx(randomised(onnx.load(LIGHT / f"light_{name}.onnx"), options.seed), name=name)
        planned = plan(graph, Annotations(LAYOUTS).frozen(graph)).graph
        ours = build(planned, threads=1)
        for why in ours.refused:
            print(f"  {why}")
        (given,) = graph.inputs
        profile(ours, planned, np.random.default_rng(options.seed).random(given.shape, np.float32))
    return 0


def profile(f: Executable, graph: Graph, x: np.ndarray) -> None:
    """Time by program, in one of five runs each."""
    spent: dict[Node, list[float]] = defaultdict(list)
    for _ in range(5):
        marks: list[tuple[Node | None, float]] = []
        f.run([x], watch=lambda n, marks=marks: marks.append((n, time.thread_time())))  # type: ignore[misc]
        marks.append((None, time.thread_time()))
        for (n, t), (_, end) in pairwise(marks):
            assert n is not None
            spent[n].append(end - t)
    by: dict[str, list[float]] = defaultdict(list)
    for n, times in spent.items():
        by[n.func.name if n.func is not None else n.op].append(statistics.median(times))
    for name, times in sorted(by.items(), key=lambda item: -sum(item[1])):
        print(f"  {sum(times) * 1e3:8.2f} ms  {len(times):4d} x {name}")
    for n, times in sorted(spent.items(), key=lambda item: -statistics.median(item[1]))[:12]:
        print(f"  {statistics.median(times) * 1e3:8.2f} ms  {n} {[v.shape for v in n.inputs]}")


if __name__ == "__main__":
    sys.exit(main())
