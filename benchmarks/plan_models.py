"""Plans of the models that come with the onnx package: which rewrites are left, and why; theorems; seconds.

    python benchmarks/plan_models.py [--layout conv2d=NCHW16c] [--model light_resnet50] [--reasons]

Each model is planned once, with its constants as the file has them.  The table is in Markdown; with ``--reasons``, what
keeps a layout from going further follows each row.  Verdicts that are on disk from an earlier run are used, unless
VTIR_CACHE names an empty folder.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path

import onnx

from verified_tir.graph.annotate import Annotations
from verified_tir.graph.onnx import load_onnx
from verified_tir.graph.plan import Plan, plan

LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"


def row(name: str, layout: str, made: Plan, seconds: float) -> str:
    left = Counter(n.op for n, _ in made.rewrites)
    what = ", ".join(f"{k} {op}" for op, k in left.items()) or "none"
    return (
        f"| {name.removeprefix('light_')} | {layout} | {len(made.before.nodes)} | {what} | {made.naive / 1e6:.2f} | "
        f"{made.cost / 1e6:.2f} | {len(made.packed)} | {len(made.theorems)} | {seconds:.1f} |"
    )


def reasons(made: Plan) -> list[str]:
    found = [f"  - {why}" for why in dict.fromkeys(why for _, why in made.rewrites)]
    problems: dict[str, list[str]] = {}
    for p in made.problems:
        node, _, why = p.partition(": ")
        problems.setdefault(why, []).append(node)
    return found + [f"  - {nodes[0]}{f' and {len(nodes) - 1} more' if len(nodes) > 1 else ''}: {why}"
                    for why, nodes in problems.items()]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--layout", action="append", default=[], help="operator=layout; two of conv2d if none")
    parser.add_argument("--model", action="append", default=[], help="names of files without .onnx; all if none")
    parser.add_argument("--flow", default="backward", choices=("backward", "forward"))
    parser.add_argument("--reasons", action="store_true", help="say what keeps layouts from going further")
    options = parser.parse_args()
    models = options.model or sorted(p.stem for p in LIGHT.glob("*.onnx"))
    print("| model | layout | nodes | rewrites left | MB moved around each | MB moved | packed | theorems | seconds |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in models:
        graph = load_onnx(LIGHT / f"{name}.onnx")
        for layout in options.layout or ["conv2d=NCHW16c", "conv2d=NHWC"]:
            operator, _, text = layout.partition("=")
            start = time.perf_counter()
            made = plan(graph, Annotations({operator: text}).frozen(graph), flow=options.flow)
            print(row(name, layout, made, time.perf_counter() - start), flush=True)
            if options.reasons:
                print("\n".join(reasons(made)), flush=True)


if __name__ == "__main__":
    main()
