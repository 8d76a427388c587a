"""Whole models, compiled and run on one thread, beside onnxruntime.

    python benchmarks/onnx_models.py resnet50 --rounds 15
    python benchmarks/onnx_models.py --all --rounds 5
    python benchmarks/onnx_models.py resnet50 --profile

The models are the light ones that the ``onnx`` package ships, with random weights.  Each is planned to NCHW16c (weights
packed in the order in which a convolution reads them), compiled, and run in turns with onnxruntime in one process; a
figure is the median of the rounds.  Results are compared with onnxruntime's, and bit for bit with those of the graph
that was not planned (``--unplanned``).  All times are processor times.  ``VTIR_CACHE_DIR`` says where verdicts and code
are kept: an empty folder gives the time that everything takes the first time.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime

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
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--profile", action="store_true", help="time by operator")
    parser.add_argument("--unplanned", action="store_true", help="compare bits with the graph that is not planned")
    options = parser.parse_args()
    models = sorted(p.stem[6:] for p in LIGHT.glob("*.onnx")) if options.all else options.models
    print("| model | nodes | plan, s | build, s | ours, ms | onnxruntime, ms | ratio | largest error | memory, MB |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in models:
        print(row(name, options), flush=True)
    return 0


def row(name: str, options: argparse.Namespace) -> str:
    """One model's line of the table."""
    model = randomised(without_softmax(onnx.load(LIGHT / f"light_{name}.onnx")), options.seed)
    graph = from_onnx(model, name=name)
    start = time.process_time()
    planned = plan(graph, Annotations(LAYOUTS).frozen(graph)).graph
    between = time.process_time()
    ours = build(planned)
    built = time.process_time()
    for why in ours.refused:
        print(f"  {why}", file=sys.stderr)
    (given,) = graph.inputs
    x = np.random.default_rng(options.seed).random(given.shape, np.float32)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    settings.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    feed = {session.get_inputs()[0].name: x}
    mine, theirs = in_turns(options.rounds, lambda: ours.run([x])[0], lambda: session.run(None, feed)[0])
    a, b = ours.run([x])[0], session.run(None, feed)[0]
    error = float(np.max(np.abs(a - b)) / np.max(np.abs(b)))
    if options.unplanned:
        plain = build(graph).run([x])[0]
        print(
            f"  {name}: {'the same bits' if np.array_equal(a, plain, equal_nan=True) else 'other bits'}",
            file=sys.stderr,
        )
    if options.profile:
        profile(ours, planned, x)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return (
        f"| {name} | {len(planned.nodes)} | {between - start:.1f} | {built - between:.1f} | {mine * 1e3:.1f} | "
        f"{theirs * 1e3:.1f} | {mine / theirs:.2f} | {error:.1e} | {peak:.0f} |"
    )


def without_softmax(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without a last softmax, which would hide differences (its greatest result is 1 on random weights)."""
    last = model.graph.node[-1]
    if last.op_type == "Softmax":
        model.graph.output[0].name = last.input[0]
        model.graph.output[0].type.tensor_type.ClearField("shape")
        del model.graph.node[-1]
    return model


def in_turns(rounds: int, *functions: Callable[[], Any]) -> list[float]:
    """The median processor time of each, in seconds, measured in turns (others may use the machine)."""
    times: list[list[float]] = [[] for _ in functions]
    for k in range(rounds + 1):
        for which, f in zip(times, functions, strict=True):
            start = time.thread_time()
            f()
            if k:  # the first round warms up
                which.append(time.thread_time() - start)
    return [statistics.median(t) for t in times]


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
        print(f"  {sum(times) * 1e3:8.2f} ms  {len(times):4d} x {name}", file=sys.stderr)
    for n, times in sorted(spent.items(), key=lambda item: -statistics.median(item[1]))[:12]:
        print(f"  {statistics.median(times) * 1e3:8.2f} ms  {n} {[v.shape for v in n.inputs]}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
