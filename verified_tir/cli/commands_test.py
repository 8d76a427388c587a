"""The command that tests ``vtir`` itself, ``fuzz``, and its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from verified_tir.cli.options import Executor, Json, Quiet, option

FUZZ = """Look for mistakes of vtir itself with random programs and schedules.

Each target draws cases and checks a property: what the kernel accepts computes the same, before, after and compiled, \
bit for bit; what is refused with a counterexample really differs; programs printed are read back (--list-targets). \
These targets run in the folder of a source checkout, targets of your own (module:ATTRIBUTE) anywhere. \
A case that fails is made smaller and written as a pytest file. A case that kills its process, or does not end, is a \
finding, too.

Examples:

\b
  vtir fuzz --time 10m --jobs 2                        all targets that run here
  vtir fuzz --target kernel --target codegen --time 1h two of them
  vtir fuzz --seed 7 --examples 200                    the same cases, whoever runs it
  vtir fuzz --database redis://host:6379/0 --time 8h   several machines share what fails
  vtir fuzz --jobs 8 --executor dask:tcp://host:8786   eight workers of a Dask cluster
  vtir fuzz --replay fuzz-findings                     which findings still fail?

A run that was interrupted goes on when the same command is given again; totals and coverage are kept over all runs. \
Exit code: 0 if nothing was found; 1 if something was; 2 for a mistake; 3 if no case was checked, or none of a target \
that was named; 130 if interrupted.
"""

FuzzTime = Annotated[
    str, option("--time", metavar="DURATION", text="As 90s, 10m or 1h30m; 10m unless --examples is given.")
]
FuzzJobs = Annotated[int, typer.Option("--jobs", "-j", metavar="N", min=1, help="Processes.")]
FuzzTargets = Annotated[
    list[str], option("--target", metavar="NAME", text="Only this one; may be repeated. Or module:ATTRIBUTE.")
]
FuzzSeed = Annotated[int | None, option("--seed", metavar="N", least=0, text="Decides all cases; a new one if none.")]
FuzzExamples = Annotated[
    int | None, option("--examples", metavar="N", least=1, text="Cases of each target, and then end.")
]
FuzzFindings = Annotated[Path, typer.Option("--findings", metavar="DIR", help="Where findings are written.")]
FuzzDatabase = Annotated[
    str, option("--database", metavar="DIR|URL", text="Failing cases: a folder, or redis://host:port/db.")
]
FuzzResume = Annotated[
    bool | None,
    option(
        "--resume/--fresh",
        text="Go on with the last seed, or forget all earlier runs; go on only if interrupted unless given.",
    ),
]
FuzzState = Annotated[Path, typer.Option("--state", metavar="DIR", help="Where the campaign remembers.")]
FuzzRegressions = Annotated[
    Path, typer.Option("--regressions", metavar="DIR", help="Tests of earlier findings: known if they still fail.")
]
FuzzTimeout = Annotated[
    str, typer.Option("--timeout", metavar="DURATION", help="A case that takes longer is a finding.")
]
FuzzShrink = Annotated[str, typer.Option("--shrink", metavar="DURATION", help="For making a finding smaller, at most.")]
FuzzList = Annotated[bool, option("--list-targets", text="Say which targets there are.")]
FuzzReplay = Annotated[
    list[Path], option("--replay", metavar="FILE|DIR", text="Run the files of findings again instead.")
]


def fuzz(  # noqa: PLR0913, PLR0917 (each is an option)
    time: FuzzTime = "",
    jobs: FuzzJobs = 1,
    target: FuzzTargets = [],  # noqa: B006 (typer copies it)
    seed: FuzzSeed = None,
    examples: FuzzExamples = None,
    findings: FuzzFindings = Path("fuzz-findings"),
    database: FuzzDatabase = "",
    resume: FuzzResume = None,
    state: FuzzState = Path(".vtir-fuzz"),
    regressions: FuzzRegressions = Path("tests/regressions"),
    timeout: FuzzTimeout = "120s",
    shrink: FuzzShrink = "60s",
    list_targets: FuzzList = False,
    replay: FuzzReplay = [],  # noqa: B006 (typer copies it)
    quiet: Quiet = False,
    json: Json = False,
    executor: Executor = "processes",
) -> None:
    """Look for mistakes of vtir itself with random programs and schedules."""
    if json and quiet:
        raise typer.BadParameter("--json and --quiet exclude each other")
    from verified_tir.cli.fuzz import Options, run

    options = Options(
        tuple(target), examples=examples, jobs=jobs, seed=seed, resume=resume, findings=findings,
        regressions=regressions, database=database, state=state, time=time, timeout=timeout, shrink=shrink,
        json=json, quiet=quiet, list_targets=list_targets, replay=tuple(replay),
        executor=executor,
    )  # fmt: skip
    raise typer.Exit(run(options))
