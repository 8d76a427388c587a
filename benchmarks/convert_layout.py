"""What layout planning leaves, beside TVM's ConvertLayout, on the models that come with the onnx package.

    python benchmarks/convert_layout.py [--model light_resnet50]

For each model and layout of conv2d both passes run, one after the other, in one process.  TVM gets the model as its
own importer reads it, and as ours does, translated to Relax operator by operator (``relax_graphs``), once as it is,
and once "written for it": products and sums in place of batch norms, constants with four dimensions.
Counted are the convolutions that got the layout, and the rewrites (``permute_dims``, ``layout_transform``, and for ours
``pad`` and ``crop``) that the model did not have: of constants (made before the model runs, by ours at once), of the
model's inputs, in front of its results, and inside.  What rewrites of values move is given in megabytes, read and
written.

Ours proves each of them; its seconds contain that.  ``VTIR_CACHE_DIR`` says where verdicts are kept: with an empty
folder the first run of a model is cold, the second finds the verdicts.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnx
import tvm
from relax_graphs import to_relax
from tvm import relax
from tvm.ir.expr import Constant
from tvm.relax.frontend.onnx import from_onnx

from verified_tir.graph import Graph
from verified_tir.graph.annotate import Annotations
from verified_tir.graph.onnx import load_onnx
from verified_tir.graph.plan import Plan, plan

LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"
LAYOUTS = {"NHWC": ("NHWC:OHWI", ["NHWC", "OHWI"]), "NCHW16c": ("NCHW16c", ["NCHW16c", "OIHW16i16o"])}
"""What we are asked for, and TVM."""

MOVES = ("relax.permute_dims", "relax.layout_transform")


@dataclass
class Left:
    """Rewrites that a pass has added, by where they stand; megabytes moved by those of values; seconds."""

    seconds: float
    where: Counter[str] = field(default_factory=Counter)
    megabytes: float = 0.0
    problem: str = ""
    convolutions: str = ""

    def cells(self) -> str:
        if self.problem:
            return f"{self.problem} | | | | | {self.seconds:.1f}"
        constants, ends = self.where["constant"], f"{self.where['input']} / {self.where['output']}"
        inside, moved = self.where["inside"], f"{self.megabytes:.1f}"
        return f"{self.convolutions} | {constants} | {ends} | {inside} | {moved} | {self.seconds:.1f}"


# -- ours --------------------------------------------------------------------------------------------------------------


def ours(graph: Graph, text: str) -> tuple[Plan, Left]:
    start = time.perf_counter()
    made = plan(graph, Annotations({"conv2d": text}).frozen(graph))
    left = Left(time.perf_counter() - start, megabytes=made.cost / 1e6)
    convolutions = [n for n in graph.nodes if n.op == "nn.conv2d"]
    plain = {n.source for n in made.graph.nodes if n.op == "nn.conv2d"}
    left.convolutions = f"{sum(n.source not in plain for n in convolutions)} of {len(convolutions)}"
    for node, _ in made.rewrites:
        if node.inputs[0] in made.graph.inputs:
            left.where["input"] += 1
        elif node.output in made.graph.outputs:
            left.where["output"] += 1
        else:
            left.where["inside"] += 1
    return made, left


# -- TVM's -------------------------------------------------------------------------------------------------------------


def converted(module: Any, layout: list[str]) -> Left:
    """ConvertLayout on a module, and what it adds."""
    before = moves(module)
    start = time.perf_counter()
    try:
        with tvm.target.Target("llvm"):
            after = relax.transform.ConvertLayout({"relax.nn.conv2d": layout})(module)
    except Exception as problem:  # its internal errors have no common type
        return Left(time.perf_counter() - start, problem=f"error: {str(problem).splitlines()[-1][:90]}")
    left = Left(time.perf_counter() - start)
    main = after["main"]
    bound, results = bindings(after), returned(main)
    layouts = [value.attrs.data_layout for _, value in bound if named(value, "relax.nn.conv2d")]
    left.convolutions = f"{sum(x == layout[0] for x in layouts)} of {len(layouts)}"
    for v, value in bound:
        if named(value, *MOVES):
            where, size = place(main, dict(bound), v, value.args[0], results)
            left.where[where] += 1
            left.megabytes += 0.0 if where == "constant" else size
    for where, (count, size) in before.items():
        left.where[where] -= count
        left.megabytes -= size
    return left


def named(value: Any, *names: str) -> bool:
    return isinstance(value, relax.Call) and getattr(value.op, "name", "") in names


def moves(module: Any) -> dict[str, tuple[int, float]]:
    """The rewrites that a module has, and what they move, by where they stand."""
    found: dict[str, tuple[int, float]] = {}
    bound = bindings(module)
    for v, value in bound:
        if named(value, *MOVES):
            where, size = place(module["main"], dict(bound), v, value.args[0], returned(module["main"]))
            count, total = found.get(where, (0, 0.0))
            found[where] = count + 1, total + (0.0 if where == "constant" else size)
    return found


def bindings(module: Any) -> list[tuple[Any, Any]]:
    return [(b.var, b.value) for block in module["main"].body.blocks for b in block.bindings]


def returned(main: Any) -> set[Any]:
    body = main.body.body
    aliases = {b.var: b.value for block in main.body.blocks for b in block.bindings if isinstance(b.value, relax.Var)}
    results = list(body.fields) if isinstance(body, relax.Tuple) else [body]
    return {*results, *(aliases[r] for r in results if r in aliases)}


def place(main: Any, bound: dict[Any, Any], made: Any, operand: Any, results: set[Any]) -> tuple[str, float]:
    """Where a rewrite stands, and the megabytes that it reads and writes."""
    shape = [int(e) for e in made.ty.shape]
    size = 2.0
    for e in shape:
        size *= e
    size *= tvm.runtime.DataType(made.ty.dtype).bits / 8 / 1e6
    source = operand
    while isinstance(source, relax.Var) and isinstance(bound.get(source), relax.Call):
        inner = bound[source]
        if getattr(inner.op, "name", "") not in (*MOVES, "relax.reshape", "relax.broadcast_to", "relax.expand_dims"):
            break
        source = inner.args[0]
    if isinstance(source, Constant):
        return "constant", size
    if operand in main.params:
        return "input", size
    return ("output" if made in results else "inside"), size


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--model", action="append", default=[], help="names of files without .onnx; all if none")
    parser.add_argument("--theirs", action="store_true", help="TVM alone")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    print("| model | layout | pass | convolutions | of constants | at input / result | inside | MB moved | seconds |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in options.model or sorted(p.stem for p in LIGHT.glob("*.onnx")):
        path = LIGHT / f"{name}.onnx"
        graph, short = load_onnx(path), name.removeprefix("light_")
        for title, (mine, theirs) in LAYOUTS.items():
            left = Left(0.0) if options.theirs else ours(graph, mine)[1]
            print(f"| {short} | {title} | vtir | {left.cells()} |", flush=True)
            print(f"| | | TVM, same graph | {converted(to_relax(graph), theirs).cells()} |", flush=True)
            if any(n.op == "nn.batch_norm" for n in graph.nodes):
                plain = converted(to_relax(graph, norms=False), theirs)
                print(f"| | | TVM, written for it | {plain.cells()} |", flush=True)
            module = from_onnx(onnx.load(path), keep_params_in_input=False)
            print(f"| | | TVM, its importer | {converted(module, theirs).cells()} |", flush=True)


if __name__ == "__main__":
    main()
