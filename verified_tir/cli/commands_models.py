"""The commands for whole models: ``plan``, ``run``; their options."""

from __future__ import annotations

from typing import Annotated

import typer

from verified_tir.cli.options import Json, PipelineText, Where, option

RUN = """Compile a function and call it on random arrays.

Prints shapes, the time of one call and a checksum of the arrays' bits.

Examples:

\b
  vtir run gemm.py:tiled --check          compare with the interpreter, bit for bit
  vtir run f.py --shape n=1000 --seed 3   other sizes, other arrays

Exit code: 0; 1 if the function was refused, or the results differ; 2 for a mistake in the file or the options.
"""

Shape = Annotated[list[str], option("--shape", metavar="NAME=VALUE", text="The value of a symbol (16 unless given).")]
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of the random arrays.")]
Check = Annotated[bool, option("--check", text="Compare with the interpreter, bit for bit.")]


def run(
    where: Where,
    pipeline: PipelineText = "default",
    shape: Shape = [],  # noqa: B006 (typer copies it)
    seed: Seed = 0,
    check: Check = False,
    json: Json = False,
) -> None:
    """Compile a function and call it on random arrays."""
    from verified_tir.cli.execute import Options, execute

    raise typer.Exit(execute(Options(where, pipeline, tuple(shape), seed, check, json)))
