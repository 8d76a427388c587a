"""The commands that run for as long as somebody works with them: ``lsp``, ``serve``; their options."""

from __future__ import annotations

from typing import Annotated, NoReturn

import typer

LSP = """Serve an editor: prove schedule files while they are written.

A language server on the standard input and output (LSP). Whatever an editor can show is verified as the editor has \
it: refused steps are underlined, with the claim that failed and the counterexample; hovering over a step shows the \
program after it. A file is executed, in a process of its own, if it imports schedule from verified_tir, and only then.

Examples:

\b
  vtir lsp                     what an editor starts (see docs/how-to/editor.md)
  vtir lsp --time-limit 120    for files that take longer

Exit code: 0 after the editor has ended it; 1 if the connection was lost; 2 if the extra "editor" is not installed.
"""

Limit = Annotated[float, typer.Option("--time-limit", metavar="SECONDS", min=1, help="The most time for one file.")]
Pause = Annotated[
    float, typer.Option("--pause", metavar="SECONDS", min=0, help="How long to wait for another change of the text.")
]


def lsp(time_limit: Limit = 30, pause: Pause = 0.5) -> None:
    """Serve an editor."""
    try:
        from verified_tir.editor.server import studio
    except ModuleNotFoundError as missing:
        _needs("lsp", "editor", missing)
    studio(time_limit, pause).server.start_io()


def _needs(command: str, extra: str, missing: ModuleNotFoundError) -> NoReturn:
    """End with a sentence that says which extra is missing.

    :raises ModuleNotFoundError: if what is missing is a part of verified_tir.
    """
    if missing.name is None or missing.name.partition(".")[0] == "verified_tir":
        raise missing
    typer.echo(
        f"vtir {command} needs {missing.name}, which is not installed: pip install 'verified_tir[{extra}]'", err=True
    )
    raise typer.Exit(2)
