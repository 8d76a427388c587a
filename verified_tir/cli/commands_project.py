"""The commands about a project and an installation as a whole, ``init`` and ``doctor``; their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from verified_tir.cli.options import Json

INIT = """Write a small project that verifies: schedules, a test, settings, and files for GitHub Actions and pre-commit.

Nothing is overwritten.

Examples:

\b
  vtir init             in this folder
  vtir init my-kernels  in a new one

Exit code: 0, or 2 if one of the files is there already, or cannot be written.
"""

Folder = Annotated[str, typer.Argument(metavar="[DIR]", help="The folder; it need not exist.")]


def init(folder: Folder = ".") -> None:
    """Write a small project that verifies."""
    from verified_tir.cli.new_project import run

    if not folder:  # as of a variable of the shell that is not set: not this folder
        raise typer.BadParameter("the name of the folder is empty")
    raise typer.Exit(run(Path(folder)))


DOCTOR = """Say what is installed and whether it works.

The base is imported; of each extra the version is shown, or how to install it. A schedule is proved and compiled, and \
the folder of the cache is written to.

Examples:

\b
  vtir doctor         a table
  vtir doctor --json  to attach to a report

Exit code: 0; 1 if something of the base is missing or does not work. A missing extra is no failure.
"""


def doctor(json: Json = False) -> None:
    """Say what is installed and whether it works."""
    from verified_tir.cli.doctor import run

    raise typer.Exit(run(as_json=json))
