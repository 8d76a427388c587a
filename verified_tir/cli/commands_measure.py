"""The command that measures: ``bench``; its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from verified_tir.cli.apart import apart
from verified_tir.cli.options import Contract, PipelineText, option

BENCH = """Time kernels, schedules and models beside everything else that is installed.

WHAT is a kernel of the library (gemm, for example), a schedule (FILE or FILE:SCHEDULE), or an ONNX model. Kernels run \
beside numpy, torch, onnxruntime, TVM, Halide and numba, as far as they are installed; schedules beside the program as \
it is written, the schedule as TVM compiles it, and functions of yours; models beside onnxruntime. First all results \
are compared. Then all run in turns, in one process.

Examples:

\b
  vtir bench gemm --sizes 256,512 --threads 1         two sizes, float32
  vtir bench gemm --sizes 333x777x555 --dtype float64 M x N x K
  vtir bench gemm.py:tiled --shape n=1000             a schedule of yours
  vtir bench gemm --peer numpy --peer torch           beside these only
  vtir bench gemm.py:tiled --peer gemm.py:by_numpy    beside a function of yours
  vtir bench m.onnx --layout auto --contract          a model, as planned, with fused multiply-add
  vtir bench gemm --json new.json --compare old.json  what changed since
  vtir bench gemm --svg pictures/ --markdown          a chart; a table for a page

Exit code: 0; 1 if results differ or a function given with --peer fails (then nothing is timed), a schedule is \
refused, or --compare finds something slower; 2 for a mistake in the options or the files.
"""

What = Annotated[list[str], typer.Argument(metavar="WHAT", help="Kernels, FILE[:SCHEDULE], or models.")]
Sizes = Annotated[
    str,
    option("--sizes", metavar="N,MxNxK,…", text="Of kernels: each is a number for all dimensions, or one for each."),
]
Dtype = Annotated[
    str, typer.Option("--dtype", metavar="TYPE", help="Of the elements of kernels; float32 unless given.")
]
Threads = Annotated[int, typer.Option("--threads", metavar="N", help="Of ours, and of every peer.")]
Time = Annotated[str, typer.Option("--time", metavar="DURATION", help="To spend on each row, as in 0.5s or 10s.")]
Shape = Annotated[
    list[str], option("--shape", metavar="NAME=VALUE", text="The value of a symbol of a schedule; a shape, of a model.")
]
Peer = Annotated[
    list[str],
    option("--peer", metavar="NAME", text="Only this one; or FILE:FUNCTION, of a schedule's arrays (repeatable)."),
]
Layout = Annotated[
    list[str],
    option("--layout", metavar="OPERATOR=LAYOUT", text="Plan a model with this layout first; or auto (repeatable)."),
]
Weights = Annotated[str, option("--weights", metavar="given|random", text="Of a model: as in the file, or random.")]
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of the random arrays.")]
JsonFile = Annotated[Path | None, option("--json", metavar="FILE", text="Keep the figures in a file.")]
Old = Annotated[
    Path | None, option("--compare", metavar="FILE", text="What --json wrote earlier: say what is slower now.")
]
Tolerance = Annotated[
    float, typer.Option("--tolerance", metavar="X", min=0, help="How much slower than with --compare is no mistake.")
]
Svg = Annotated[Path | None, option("--svg", metavar="DIR", text="Write a chart for each kernel.")]
Markdown = Annotated[bool, option("--markdown", text="Print the table in Markdown.")]


def bench(  # noqa: PLR0913, PLR0917 (each is an option)
    what: What,
    sizes: Sizes = "",
    dtype: Dtype = "",
    threads: Threads = 1,
    time: Time = "1s",
    shape: Shape = [],  # noqa: B006 (typer copies it)
    pipeline: PipelineText = "default",
    peer: Peer = [],  # noqa: B006
    layout: Layout = [],  # noqa: B006
    weights: Weights = "given",
    contract: Contract = False,
    seed: Seed = 0,
    json: JsonFile = None,
    compare: Old = None,
    tolerance: Tolerance = 0.1,
    svg: Svg = None,
    markdown: Markdown = False,
) -> None:
    """Time kernels, schedules and models beside everything else that is installed."""

    def work() -> int:
        from verified_tir.cli.bench import Options, run

        return run(
            Options(
                tuple(what), sizes, dtype, threads, time, tuple(shape), pipeline, tuple(peer), tuple(layout), weights,
                contract, seed, json, compare, tolerance, svg, markdown,
            )
        )  # fmt: skip

    raise typer.Exit(apart(work))
