"""The commands of ``vtir`` and their options.

Nothing heavy is imported before a command runs: ``vtir --help`` answers at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from verified_tir import __version__

app = typer.Typer(
    name="vtir",
    help="Schedules for tensor programs, proved step by step.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_VERIFY = """Prove every schedule in the given files and folders.

A schedule is a function decorated with @schedule(program). Each of its steps owes proof obligations; a step whose \
obligations cannot be proved is refused, and the schedule with it. Files are ordinary Python and are executed.

Examples:

\b
  vtir verify schedules/                    every schedule below a folder
  vtir verify gemm.py -k tiled -v           one schedule, each obligation
  vtir verify gemm.py --show-program        also the program as scheduled
  vtir verify schedules/ --json > out.json  for other programs

Exit code: 0 if every schedule ended as expected; 1 if one was refused, or was to be refused and was not, or raised an \
exception; 2 if a file could not be executed, or there was nothing to verify.
"""

_BUDGET = "Resource limit of one query (Z3's rlimit); more decides more and takes longer."


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"vtir {__version__}")
        raise typer.Exit


@app.callback()
def vtir(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Schedules for tensor programs, proved step by step."""


def _option(*names: str, text: str, metavar: str | None = None, least: int | None = None) -> Any:
    """An option whose default is not shown: "off" and "none" tell nobody anything."""
    return typer.Option(*names, help=text, metavar=metavar, min=least, show_default=False)


Paths = Annotated[list[Path], typer.Argument(metavar="PATH", help="Python files, or folders to search for them.")]
Json = Annotated[bool, _option("--json", text="Print one JSON document instead of text.")]
Verbose = Annotated[bool, _option("--verbose", "-v", text="Show each obligation: claim, verdict, time, method.")]
Quiet = Annotated[bool, _option("--quiet", "-q", text="Show only what went wrong, and the last line.")]
Only = Annotated[str, _option("-k", metavar="NAME", text="Only schedules whose name contains this text.")]
ShowProgram = Annotated[bool, _option("--show-program", text="Show each program as scheduled.")]
Smt = Annotated[Path | None, _option("--smt", metavar="DIR", text="Write each obligation as an SMT-LIB file.")]
Budget = Annotated[int | None, _option("--budget", metavar="N", least=1, text=_BUDGET)]


@app.command(help=_VERIFY, short_help="Prove every schedule in files and folders.")
def verify(
    paths: Paths,
    json: Json = False,
    verbose: Verbose = False,
    quiet: Quiet = False,
    only: Only = "",
    show_program: ShowProgram = False,
    smt: Smt = None,
    budget: Budget = None,
) -> None:
    """Prove every schedule in the given files and folders."""
    if verbose and quiet:
        raise typer.BadParameter("--verbose and --quiet exclude each other")
    from verified_tir.cli.run import Options, run

    options = Options(tuple(paths), json, verbose, quiet, only, show_program, smt, budget)
    raise typer.Exit(run(options))


def main() -> None:
    """The entry point of the command ``vtir``."""
    app(prog_name="vtir")
