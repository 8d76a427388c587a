"""The commands for single programs: ``lower``, ``validate``; their options."""

from __future__ import annotations

from typing import Annotated

import typer

from verified_tir.cli.apart import apart
from verified_tir.cli.options import Json, PipelineText, Where, option

LOWER = """Lower a function by a pipeline of passes; each pass is proved, as the steps of a schedule are.

FILE holds @schedule functions or programs in TVMScript. A file that does not import verified_tir is read and not \
executed. Passes are joined by >>, as in "FlattenBuffer() >> UnrollLoop(max_extent=16)"; "default", "layout" and \
"none" are pipelines, too.

Examples:

\b
  vtir lower gemm.py:tiled                              the lowered program
  vtir lower gemm.py:tiled --print-after FlattenBuffer  the program after one pass
  vtir lower f.py --pipeline "UnrollLoop >> Simplify"   other passes

Exit code: 0 if every function was lowered; 1 if one was refused; 2 if the file cannot be read, or there is no such
function or pipeline.
"""


PrintAfter = Annotated[list[str], option("--print-after", metavar="PASS", text="Show the program after this pass.")]
PrintAll = Annotated[bool, option("--print-all", text="Show the program after every pass.")]


def lower(
    where: Where,
    pipeline: PipelineText = "default",
    print_after: PrintAfter = [],  # noqa: B006 (typer copies it)
    print_all: PrintAll = False,
    json: Json = False,
) -> None:
    """Lower a function by a pipeline of passes."""

    def work() -> int:
        from verified_tir.cli.lower import Options
        from verified_tir.cli.lower import lower as run

        return run(Options(where, pipeline, tuple(print_after), print_all, json))

    raise typer.Exit(apart(work))


VALIDATE = """Compare two programs by translation validation, at given sizes.

BEFORE and AFTER are files of TVMScript (FILE or FILE:FUNCTION), from this or any other compiler; they are read and \
never executed. One .jsonl file alone holds recorded pairs: objects with "before", "after", and perhaps "id" and \
"kind". The validator executes both programs symbolically and knows nothing of schedules or rules.

Examples:

\b
  vtir validate before.py after.py                 every function of both files
  vtir validate a.py:f b.py:g --shape n=100        two functions at one size
  vtir validate pairs.jsonl -k compute_at          recorded pairs, and a table

Without --shape, symbols are 0, 1, 2, 3, 7, 8 and 17 in turns. Exit code: 0 if all are equal (or equal over the \
reals, which is said); 1 if a difference was found and replayed, or a race is new; 2 for a mistake; 3 if something \
was not decided, or in part only, or if the first program has undefined behaviour on all inputs that were tried.
"""

Files = Annotated[list[str], typer.Argument(metavar="BEFORE AFTER | PAIRS", help="Two files, or one of pairs.")]
Sizes = Annotated[list[str], option("--shape", metavar="NAME=VALUE", text="The value of a symbol.")]
OnlyPairs = Annotated[str, option("-k", metavar="TEXT", text="Only recorded pairs whose id or kind contains this.")]
Group = Annotated[str, option("--class", metavar="NAME", text="Only recorded pairs of this class: plain, gpu, opaque.")]
Limit = Annotated[int, typer.Option("--limit", metavar="N", min=0, help="The first N recorded pairs only; 0 for all.")]
Jobs = Annotated[int, typer.Option("--jobs", metavar="N", min=1, help="Processes for recorded pairs.")]
Timeout = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", min=0, help="The most time for a recorded pair; 0 for any.")
]
Most = Annotated[
    int, typer.Option("--most-operations", metavar="N", min=1, help="Operations to execute in each program at most.")
]


def validate(
    files: Files,
    shape: Sizes = [],  # noqa: B006 (typer copies it)
    only: OnlyPairs = "",
    group: Group = "all",
    limit: Limit = 0,
    jobs: Jobs = 1,
    timeout: Timeout = 0,
    most_operations: Most = 5_000_000,
    json: Json = False,
) -> None:
    """Compare two programs by translation validation."""

    def work() -> int:
        from verified_tir.cli.validate import Options, run

        return run(Options(tuple(files), tuple(shape), only, most_operations, json, group, limit, timeout, jobs))

    raise typer.Exit(apart(work))
