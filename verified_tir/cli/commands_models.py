"""The commands for whole models: ``plan``, and ``run``, which takes functions too; their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from verified_tir.cli.apart import apart
from verified_tir.cli.options import Contract, Json, NoCache, PipelineText, Quiet, Where, option
from verified_tir.codegen.processors import MOST_THREADS

PLAN = """Choose layouts for a whole model; every program that changes is proved.

MODEL is an ONNX file, or a graph as text. Operators that --layout speaks of get that layout; it flows to the others \
through their programs, weights are packed in advance, and the cheapest place is found for the rewrites that are left. \
What they are for is said, and where and why a layout went no further.

Examples:

\b
  vtir plan resnet50.onnx --layout auto                          blocks as wide as vectors here
  vtir plan resnet50.onnx --layout conv2d=NCHW16c                what is left, what was proved
  vtir plan m.onnx --layout conv2d=NHWC --shape data=1x3x224x224 a model with open shapes
  vtir plan m.onnx --layout conv2d=NCHW8c --certify proofs/      vtir check proofs/ --solver both
  vtir plan m.onnx --layout conv2d=NCHW8c --diagram m.svg        before and after, as a picture

Exit code: 0 if the model was planned and all of it proved; 1 if a program cannot be proved in the layout demanded of \
it; 2 for a mistake in the model or the options.
"""

RUN = """Compile a function or a model and call it on random arrays.

Prints shapes, the time of one call and a checksum of the arrays' bits.

A model is an ONNX file or a graph as text; its inputs are random unless --input says otherwise, and --expected and \
--compare say what to hold its results against.

Examples:

\b
  vtir run gemm.py:tiled --check          compare with the interpreter, bit for bit
  vtir run f.py --shape n=1000 --seed 3   other sizes, other arrays
  vtir run m.onnx --input data=x.npy --expected y.npy
  vtir run m.onnx --weights random --compare onnxruntime
  vtir run m.onnx --layout auto --compare unplanned
  vtir run m.onnx --threads 2             large nests in parallel: the same bits

Exit code: 0; 1 if the function was refused, or the results differ; 2 for a mistake in the file or the options.
"""

_LAYOUT = "Give these operators this layout, as in conv2d=NCHW16c; or auto: what is fast here (repeatable)."
_FLOW = "How layouts pass through other operators: from results to operands, or from operands to results."
_SHAPE = "The shape of an input, as in data=1x3x224x224, or the size of a dimension, as in batch=4."
_INPUT = "What an input is: FILE.npy, FILE.pb, random or ramp (a model's; repeatable)."
_EXPECTED = "What a model's results must be, in their order, or name=FILE (.npy, .pb; repeatable)."
_COMPARE = "Hold a model's results against those of onnxruntime, interpreter or unplanned (repeatable)."
_WEIGHTS = "Of a model: as in the file, or random."
_PLANNED = "Run a model as planned with this layout, as in conv2d=NCHW16c; or auto (repeatable)."

_PAD = (
    "Dimensions that are not multiples of their tile: those larger than it are padded and smaller ones where that is "
    "cheaper, or all, or none."
)

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="An ONNX file, or a graph as text.")]
Layout = Annotated[list[str], option("--layout", metavar="OPERATOR=LAYOUT", text=_LAYOUT)]
ModelShape = Annotated[list[str], option("--shape", metavar="NAME=SHAPE", text=_SHAPE)]
FlowText = Annotated[str, typer.Option("--flow", metavar="backward|forward", help=_FLOW)]
Fuse = Annotated[bool, option("--fuse", text="Put rewrites that are left into the programs beside them.")]
Operators = Annotated[bool, option("--operators", text="Let moved nodes keep the names of operators that they are.")]
Padded = Annotated[str, typer.Option("--pad", metavar="large|always|never", help=_PAD)]
Hoist = Annotated[bool, option("--hoist", text="First lift rewrites of layouts out of PrimFuncs; these are frozen.")]
Certify = Annotated[Path | None, option("--certify", metavar="DIR", text="Write certificates of what is proved.")]
Diagram = Annotated[Path | None, option("--diagram", metavar="FILE", text="Draw the graphs before and after (SVG).")]
Output = Annotated[Path | None, option("--output", metavar="FILE", text="Write the planned graph as text.")]
All = Annotated[bool, option("--verbose", "-v", text="Show every rewrite, constant and problem.")]

Shape = Annotated[
    list[str],
    option("--shape", metavar="NAME=VALUE", text="The value of a symbol (16 unless given); a shape, of a model."),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of the random arrays.")]
Check = Annotated[bool, option("--check", text="Compare with the interpreter, bit for bit.")]
Input = Annotated[list[str], option("--input", metavar="NAME=FILE", text=_INPUT)]
Weights = Annotated[str, option("--weights", metavar="given|random", text=_WEIGHTS)]
Planned = Annotated[list[str], option("--layout", metavar="OPERATOR=LAYOUT", text=_PLANNED)]
Expected = Annotated[list[str], option("--expected", metavar="FILE", text=_EXPECTED)]
Compare = Annotated[list[str], option("--compare", metavar="WITH", text=_COMPARE)]
Rtol = Annotated[float, typer.Option("--rtol", metavar="X", min=0, help="Relative tolerance of a model's results.")]
Atol = Annotated[
    float | None,
    typer.Option(
        "--atol", metavar="X", min=0, help="Absolute one; 1e-5 of the largest unless given.", show_default=False
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads", metavar="N", min=1, max=MOST_THREADS, show_default=False,
        help="Of parallel loops: as many as there are processors, of a model 1, unless given. The bits stay.",
    ),
]  # fmt: skip


def plan(  # noqa: PLR0913, PLR0917 (each is an option)
    model: Model,
    layout: Layout = [],  # noqa: B006 (typer copies it)
    shape: ModelShape = [],  # noqa: B006
    flow: FlowText = "backward",
    pad: Padded = "large",
    fuse: Fuse = False,
    operators: Operators = False,
    hoist: Hoist = False,
    certify: Certify = None,
    diagram: Diagram = None,
    output: Output = None,
    verbose: All = False,
    quiet: Quiet = False,
    no_cache: NoCache = False,
    json: Json = False,
) -> None:
    """Choose layouts for a whole model."""
    if verbose and quiet:
        raise typer.BadParameter("--verbose and --quiet exclude each other")

    def work() -> int:
        from verified_tir.cli.plan import Options
        from verified_tir.cli.plan import run as run_plan

        options = Options(
            model, tuple(layout), tuple(shape), flow, pad, fuse, hoist, certify, diagram, output, json, verbose, quiet,
            cache=not no_cache, operators=operators,
        )  # fmt: skip
        return run_plan(options)

    raise typer.Exit(apart(work, quiet=quiet))


def run(  # noqa: PLR0913, PLR0917 (each is an option)
    where: Where,
    pipeline: PipelineText = "default",
    shape: Shape = [],  # noqa: B006 (typer copies it)
    seed: Seed = 0,
    check: Check = False,
    input_: Input = [],  # noqa: B006
    weights: Weights = "given",
    layout: Planned = [],  # noqa: B006
    expected: Expected = [],  # noqa: B006
    compare: Compare = [],  # noqa: B006
    rtol: Rtol = 1e-3,
    atol: Atol = None,
    contract: Contract = False,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Compile a function or a model and call it on random arrays."""
    from verified_tir.cli.models import is_model

    of_models = bool(input_ or layout or expected or compare or contract or weights != "given")
    model = is_model(Path(where))
    if of_models and not model:
        raise typer.BadParameter(
            f"--input, --weights, --layout, --expected, --compare and --contract are for models; {where} is not one"
        )

    def work() -> int:
        if model:
            from verified_tir.cli.run_model import Options as ModelOptions
            from verified_tir.cli.run_model import run as run_model

            against = (*compare, *(["interpreter"] if check else []))
            options = ModelOptions(
                Path(where), tuple(shape), tuple(input_), seed, weights, tuple(layout), tuple(expected), against,
                rtol, atol, contract, json, 1 if threads is None else threads,
            )  # fmt: skip
            return run_model(options)
        from verified_tir.cli.execute import Options, execute

        return execute(Options(where, pipeline, tuple(shape), seed, check, json, threads))

    raise typer.Exit(apart(work))
