"""The commands of ``vtir``; the options of each are in a file for a group of commands.

Nothing heavy is imported before a command runs: ``vtir --help`` answers at once.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Annotated

import typer

from verified_tir import __version__
from verified_tir.cli.on_demand import CommandsOnDemand
from verified_tir.ir.collector import seldom_collected

app = typer.Typer(
    name="vtir",
    cls=CommandsOnDemand,
    help="Schedules for tensor programs, proved step by step.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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


def main() -> None:
    """The entry point of the command ``vtir``."""
    if sys.stderr is None:  # closed by the caller
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        print("vtir: error: the standard output is closed", file=sys.stderr)
        sys.exit(2)
    if hasattr(signal, "SIGPIPE"):  # `vtir lower … | head` ends like any other command
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    with seldom_collected():
        app(prog_name="vtir")
