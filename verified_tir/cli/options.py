"""Options that several commands have."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from verified_tir.cli.settings import MOST_BUDGET

_BUDGET = "Resource limit of one query (Z3's rlimit); more decides more and takes longer."
_PIPELINE = "Passes joined by >>, or the name of a pipeline."


def option(
    *names: str, text: str, metavar: str | None = None, least: int | None = None, most: int | None = None
) -> Any:
    """An option whose default is not shown: "off" and "none" tell nobody anything."""
    return typer.Option(*names, help=text, metavar=metavar, min=least, max=most, show_default=False)


Json = Annotated[bool, option("--json", text="Print one JSON document instead of text.")]
Quiet = Annotated[bool, option("--quiet", "-q", text="Show only what went wrong, and the last line.")]
NoCache = Annotated[bool, option("--no-cache", text="Use no verdict of an earlier run, and store none.")]
Budget = Annotated[int | None, option("--budget", metavar="N", least=1, most=MOST_BUDGET, text=_BUDGET)]
Where = Annotated[str, typer.Argument(metavar="FILE[:FUNCTION]", help="A file, and a function in it.")]
PipelineText = Annotated[str, typer.Option("--pipeline", metavar="EXPR", help=_PIPELINE)]

Executor = Annotated[
    str, typer.Option("--executor", metavar="processes|dask[:ADDRESS]", help="Where to work, with several jobs.")
]
Jobs = Annotated[int, typer.Option("--jobs", "-j", metavar="N", min=0, help="Number of processes; 0 for one per core.")]
Contract = Annotated[
    bool,
    typer.Option("--contract", help="In a model's sums of products, round each a * b + c once (fused multiply-add)."),
]
