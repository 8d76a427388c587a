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
from verified_tir.cli import (
    commands_help,
    commands_models,
    commands_programs,
    commands_project,
    commands_prove,
    commands_studio,
    commands_test,
)
from verified_tir.ir.collector import seldom_collected

app = typer.Typer(
    name="vtir",
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


def _commands() -> None:
    """The commands in the order in which ``--help`` shows them."""
    for group, command, short in (
        (commands_prove, "verify", "Prove every schedule in files and folders."),
        (commands_prove, "explain", "Show one schedule step by step, as a page with pictures."),
        (commands_programs, "lower", "Lower a function by a pipeline of proved passes."),
        (commands_models, "run", "Compile a function or a model and call it on random arrays."),
        (commands_models, "plan", "Choose layouts for a whole model; every change is proved."),
        (commands_programs, "validate", "Compare two programs by translation validation."),
        (commands_prove, "check", "Check certificates with a solver of choice."),
        (commands_test, "fuzz", "Look for mistakes of vtir with random programs."),
        (commands_studio, "lsp", "Serve an editor: prove schedule files while they are written."),
        (commands_studio, "serve", "Open a playground in the browser."),
        (commands_project, "init", "Write a small project that verifies."),
        (commands_project, "doctor", "Say what is installed and whether it works."),
        (commands_prove, "cache", "Show or clear what is kept between runs."),
        (commands_help, "help", "Explain the code of a refusal or an error."),
    ):
        app.command(name=command, help=getattr(group, command.upper()), short_help=short)(getattr(group, command))


_commands()


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
