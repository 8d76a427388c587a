"""The commands that prove and check: ``verify``, ``explain``, ``check``, ``cache``; their options."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from verified_tir.cli.apart import apart
from verified_tir.cli.options import Budget, Executor, Jobs, Json, NoCache, Quiet, option

if TYPE_CHECKING:
    from verified_tir.cli.discover import Choose
    from verified_tir.cli.settings import Project
    from verified_tir.report.formats import Format

VERIFY = """Prove every schedule in the given files and folders.

A schedule is a function decorated with @schedule(program). Each of its steps has proof obligations; a step whose \
obligations cannot be proved is refused, and the schedule with it. Then an independent validator compares the original \
and the scheduled program at a few sizes. Files are ordinary Python and are executed. Without PATH, those are verified \
that pyproject.toml names in its table tool.vtir.

Examples:

\b
  vtir verify schedules/                    every schedule below a folder
  vtir verify gemm.py -k tiled -v           one schedule, each obligation
  vtir verify gemm.py --show-program        also the scheduled program
  vtir verify gemm.py --diff                also what each step changed
  vtir verify gemm.py --every-step          ask the validator after every step
  vtir verify gemm.py --to-llvm             also compare LLVM IR with the program
  vtir verify gemm.py:tiled --profile       one schedule by its whole name; where the time went
  vtir verify schedules/ --json > out.json  a report for other programs
  vtir verify schedules/ --format github    annotations of the lines in GitHub Actions
  vtir verify --changed-since origin/main   what a branch may have broken
  vtir verify --watch                       again whenever a file changes
  vtir verify schedules/ --jobs 0           on all cores; --executor dask:ADDRESS on a cluster

Exit code: 0 if every schedule ended as expected; 1 if one was refused unexpectedly, was not refused as expected, or \
raised an exception, or if the validator disagrees (a bug in vtir); 2 if a file could not be executed, or there was \
nothing to verify; 4 if the only problem is that no input satisfies a program's assumptions, or that none was found.
"""


class FormatName(StrEnum):
    """Formats of the report."""

    text = "text"
    json = "json"
    junit = "junit"
    sarif = "sarif"
    github = "github"


_PATHS = "Python files (or FILE:NAME for one schedule), or folders to search for them."
Paths = Annotated[list[Path], typer.Argument(metavar="PATH", help=_PATHS, show_default="those of pyproject.toml")]
ChangedSince = Annotated[
    str | None, option("--changed-since", metavar="REV", text="Only files that changed since, or import what changed.")
]
Watch = Annotated[bool, option("--watch", text="Verify again what changes, until interrupted.")]
JsonFormat = Annotated[bool, option("--json", text="Print one JSON document; short for --format json.")]
Verbose = Annotated[bool, option("--verbose", "-v", text="Show each obligation: claim, verdict, time, method.")]
Only = Annotated[str, option("-k", metavar="NAME", text="Only schedules whose name contains this text.")]
ShowProgram = Annotated[bool, option("--show-program", text="Show each scheduled program.")]
Diff = Annotated[bool, option("--diff", text="Show what each step changed in the program.")]
Smt = Annotated[Path | None, option("--smt", metavar="DIR", text="Write each obligation as an SMT-LIB file.")]
ReportFormat = Annotated[FormatName | None, option("--format", text="How to write the report; text unless given.")]
Validate = Annotated[
    bool | None,
    option(
        "--validate/--no-validate",
        text="Give the validator as much work as vtir validate, or do not ask it; the default is little work.",
    ),
]
EveryStep = Annotated[bool, option("--every-step", text="Ask the validator after every step, not only after the last.")]
Operations = Annotated[
    int | None, option("--most-operations", metavar="N", least=1, text="Most operations of one comparison.")
]
Profile = Annotated[bool, option("--profile", text="Show where the time of each schedule went.")]
ToLLVM = Annotated[bool, option("--to-llvm", text="Lower and compile; compare LLVM IR, before and after optimisation.")]
Certify = Annotated[Path | None, option("--certify", metavar="DIR", text="Write certificates of what is proved.")]


def verify(  # noqa: PLR0913, PLR0917 (each is an option)
    paths: Paths = [],  # noqa: B006 (typer copies it)
    json: JsonFormat = False,
    format: ReportFormat = None,
    verbose: Verbose = False,
    quiet: Quiet = False,
    only: Only = "",
    show_program: ShowProgram = False,
    smt: Smt = None,
    budget: Budget = None,
    validate: Validate = None,
    every_step: EveryStep = False,
    most_operations: Operations = None,
    certify: Certify = None,
    to_llvm: ToLLVM = False,
    changed_since: ChangedSince = None,
    watch: Watch = False,
    no_cache: NoCache = False,
    diff: Diff = False,
    profile: Profile = False,
    jobs: Jobs = 1,
    executor: Executor = "processes",
) -> None:
    """Prove every schedule in the given files and folders."""
    if verbose and quiet:
        raise typer.BadParameter("--verbose and --quiet exclude each other")
    if validate is False and (every_step or most_operations is not None):
        raise typer.BadParameter("--no-validate excludes --every-step and --most-operations")
    if json and format not in (None, FormatName.json):
        raise typer.BadParameter("--json and --format exclude each other")
    project = _project()
    where = tuple(paths) or project.paths
    if not where:
        raise typer.BadParameter("no PATH was given, and [tool.vtir] in pyproject.toml has no paths")
    form: Format = "json" if json else project.format if format is None else format.value
    if watch and form != "text":
        raise typer.BadParameter(f"--watch writes text, not {form}")
    if validate is None and not every_step and most_operations is None:
        validate, most_operations = project.validate, project.most_operations

    def work(choose: Choose = list) -> int:
        from verified_tir.cli.run import Options, run
        from verified_tir.cli.second_opinion import THOROUGH, When

        when: When = "never" if validate is False else "every" if every_step else "last"
        operations = most_operations or (THOROUGH if validate else None)
        options = Options(
            where, form, verbose, quiet, only, show_program, smt, budget or project.budget,
            when, operations, certify, to_llvm, not no_cache, diff, project.exclude, changed_since, project.file,
            profile, jobs, executor,
        )  # fmt: skip
        return run(options, choose)

    def otherwise(sentence: str) -> None:
        from verified_tir.cli.run import show_nothing

        show_nothing(sentence, form)

    if watch:
        from verified_tir.cli.watch import watch as watched

        raise typer.Exit(watched(where, project.exclude, work))
    raise typer.Exit(apart(work, quiet=quiet, otherwise=None if form == "text" else otherwise))


def _project() -> Project:
    """The settings of the project around the working folder; a mistake in them ends the command."""
    from verified_tir.cli.settings import BadSettings, project_settings

    try:
        return project_settings(Path.cwd())
    except BadSettings as mistake:
        typer.echo(f"vtir: error: {mistake}", err=True)
        raise typer.Exit(2) from None


EXPLAIN = """Show one schedule step by step: what each step changed, what was proved of it, why one was refused.

On the terminal, each step has the difference of the programs and its obligations. --html writes one page that needs \
no network: also layouts and loops as pictures, and both answers of a refused step. The schedule is verified as by \
vtir verify; its file is executed.

Examples:

\b
  vtir explain gemm.py:tiled                        on the terminal
  vtir explain gemm.py:tiled --html tiled.html      as a page
  vtir explain gemm.py:tiled --svg pictures/        the pictures as SVG files

Exit code: that of vtir verify for this schedule; 2 also if there is no such schedule, or a file cannot be written.
"""

OfSchedule = Annotated[str, typer.Argument(metavar="FILE[:SCHEDULE]", help="A file, and a schedule in it.")]
Html = Annotated[Path | None, option("--html", metavar="FILE", text="Write a page instead.")]
Svg = Annotated[Path | None, option("--svg", metavar="DIR", text="Write the pictures as SVG files.")]


def explain(
    where: OfSchedule, html: Html = None, svg: Svg = None, budget: Budget = None, no_cache: NoCache = False
) -> None:
    """Show one schedule step by step."""

    def work() -> int:
        from verified_tir.cli.explain import Options
        from verified_tir.cli.explain import explain as run

        return run(Options(where, html, svg, budget, cache=not no_cache))

    raise typer.Exit(apart(work))


CHECK = """Check certificates that `vtir verify --certify` wrote: their hashes; their rules, applied again by the \
kernel, which computes every program and every obligation; and every obligation, asked anew.

Neither primitives nor earlier verdicts are used. --regenerate also repeats the recorded calls of primitives; \
--questions-only leaves the kernel out and trusts that the obligations are the right ones.

Examples:

\b
  vtir check proofs/certificates --solver both             two solvers must agree
  vtir check certificates/ --regenerate                    also repeat the calls
  vtir check certificates/ --questions-only                only ask the questions
  vtir check certificates/ -k gemm --before gemm.py:gemm   is it about this program?
  vtir check certificates/ --executor dask:tcp://host:8786 on a Dask cluster

Exit code: 0 if everything was proved; 1 if a claim is false, or something was changed; 2 for invalid options or \
files; 3 if something was not decided, or could not be computed again; 4 if a plan believes something that --believe \
does not allow.
"""

Certificates = Annotated[Path, typer.Argument(metavar="DIR", help="A folder that vtir verify --certify wrote.")]
WhichSolver = Annotated[str, typer.Option("--solver", metavar="z3|cvc5|both", help="Which solvers to ask.")]
Regenerate = Annotated[bool, option("--regenerate", text="Repeat the recorded calls of primitives, and compare.")]
QuestionsOnly = Annotated[bool, option("--questions-only", text="Trust that the questions are those of the rules.")]
OnlyCertificates = Annotated[str, option("-k", metavar="NAME", text="Only certificates whose name contains this.")]
Before = Annotated[str, option("--before", metavar="FILE[:FUNCTION]", text="The program before must be this one.")]
After = Annotated[str, option("--after", metavar="FILE[:FUNCTION]", text="The program after must be this one.")]
Believe = Annotated[
    list[str], option("--believe", metavar="NAME", text="Allow what is reported as believed under this name.")
]


def check(  # noqa: PLR0913, PLR0917 (each is an option)
    directory: Certificates,
    solver: WhichSolver = "z3",
    regenerate: Regenerate = False,
    questions_only: QuestionsOnly = False,
    jobs: Jobs = 0,
    executor: Executor = "processes",
    only: OnlyCertificates = "",
    before: Before = "",
    after: After = "",
    budget: Budget = None,
    quiet: Quiet = False,
    json: Json = False,
    believe: Believe = [],  # noqa: B006
) -> None:
    """Check certificates with a solver of choice."""

    def work() -> int:
        from verified_tir.cli.check import Options, run

        options = Options(
            directory, solver, regenerate, questions_only, jobs, executor, only, before, after, budget, quiet, json,
            tuple(believe),
        )  # fmt: skip
        return run(options)

    raise typer.Exit(apart(work, quiet=quiet))


CACHE = """Show what is kept on disk between runs: compiled programs, and verdicts of the solver.

The folder is $VTIR_CACHE_DIR, or verified_tir in $XDG_CACHE_HOME or ~/.cache. The key of a verdict is the text of the \
query, the budget and the solver's version; VTIR_VERDICT_CACHE=off keeps none.
"""

Clear = Annotated[bool, option("--clear", text="Remove it all.")]


def cache(clear: Clear = False) -> None:
    """Show or clear what is kept between runs."""
    from verified_tir.cli.cache import run

    raise typer.Exit(run(clear=clear))
