"""The command that searches, ``tune``, and its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from verified_tir.cli.apart import apart
from verified_tir.cli.options import Budget, Executor, Jobs, Json, NoCache, PipelineText, Quiet, option
from verified_tir.codegen.processors import MOST_THREADS

TUNE = """Search for the fastest candidate among those that a strategy leaves open.

A strategy is a function decorated with @schedule(program). What it samples is searched: s.sample_perfect_tile, \
s.sample_categorical, s.sample_compute_location; the argument decision=… is the default. Optuna proposes candidates. \
Each is proved before it is built, and its results are compared with those of the program without a schedule before \
it is timed. One that is refused is counted, with the reason. In the end the best ones are timed once more against \
the default, and the best is printed as Python. The file is executed.

Examples:

\b
  vtir tune matmul.py:tiled                          50 trials
  vtir tune matmul.py:tiled --trials 200 --time 10m  whichever comes first
  vtir tune matmul.py:tiled --store tuning.sqlite    goes on when it is called again
  vtir tune rows.py:tiled --shape n=1024             the size of a symbolic extent
  vtir tune matmul.py:tiled --output best.py         write the file with the best decisions
  vtir tune matmul.py:tiled --jobs 4                 candidates are measured by several processes

Exit code: 0 if the search came to its end; 1 if the strategy itself is refused, or a candidate's results differ (a \
bug in vtir); 2 for a mistake in the file or the options; 130 if interrupted, with what was found until then.
"""

OfStrategy = Annotated[str, typer.Argument(metavar="FILE:STRATEGY", help="A file, and a strategy in it.")]
Trials = Annotated[int, typer.Option("--trials", metavar="N", min=1, help="Candidates, those in --store included.")]
Time = Annotated[str, option("--time", metavar="DURATION", text="End the search after this time, as in 90s or 10m.")]
Shape = Annotated[list[str], option("--shape", metavar="NAME=VALUE", text="The value of a symbol.")]
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of the proposals.")]
Store = Annotated[
    Path | None, option("--store", metavar="FILE", text="Keep the trials in an SQLite file, and go on from it.")
]
Threads = Annotated[
    int,
    typer.Option(
        "--threads",
        metavar="N",
        min=1,
        max=MOST_THREADS,
        help="For parallel loops; with more than one, clock time counts.",
    ),
]
Output = Annotated[
    Path | None, option("--output", metavar="FILE", text="Write the best candidate: FILE.py or FILE.json.")
]


def tune(  # noqa: PLR0913, PLR0917 (each is an option)
    where: OfStrategy,
    trials: Trials = 50,
    time: Time = "",
    shape: Shape = [],  # noqa: B006 (typer copies it)
    seed: Seed = 0,
    store: Store = None,
    pipeline: PipelineText = "default",
    threads: Threads = 1,
    jobs: Jobs = 1,
    executor: Executor = "processes",
    output: Output = None,
    budget: Budget = None,
    no_cache: NoCache = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Search for the fastest candidate among those that a strategy leaves open."""

    def work() -> int:
        from verified_tir.cli.tune import Options, run

        options = Options(
            where, trials, time, tuple(shape), seed, store, pipeline, threads, jobs, executor, output, budget,
            not no_cache, json, quiet,
        )  # fmt: skip
        return run(options)

    raise typer.Exit(apart(work, quiet=quiet))
