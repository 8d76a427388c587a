"""The command that explains codes, ``help``."""

from __future__ import annotations

from typing import Annotated

import typer

HELP = """Explain the code of a refusal or an error.

Without a code: the list of all.

Examples:

\b
  vtir help           all codes with their titles
  vtir help VT0406    what happened, a minimal example, what to do

Exit code: 0; 2 if there is no such code.
"""

Code = Annotated[str, typer.Argument(metavar="[CODE]", help="As VT0406; it stands behind the message.")]


def help(code: Code = "") -> None:
    """Print the page of a code, or the list of all codes."""
    from verified_tir.report.codes import PAGES
    from verified_tir.report.codes.show import as_text, listed

    wanted = code.strip().strip("[]").upper()
    if not wanted:
        typer.echo(listed())
    elif wanted in PAGES:
        typer.echo(as_text(PAGES[wanted]))
    else:
        from verified_tir.schedule.spelling import meant

        typer.echo(f"vtir: error: there is no code {code!r}{meant(wanted, PAGES)}; vtir help lists them", err=True)
        raise typer.Exit(2)
