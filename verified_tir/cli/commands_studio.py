"""The commands that run for as long as somebody works with them: ``lsp``, ``serve``; their options."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Annotated, Any, NoReturn

import typer

from verified_tir.cli.options import option

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
    _speak(studio(time_limit, pause).server.start_io)


SERVE = """Open a playground: a page on which programs are scheduled step by step, in the browser.

The page is for this machine alone, at the address that is printed; its token is needed for every request. A program \
is TVMScript and its steps are calls such as split("i", [None, 4]). Both are parsed and never executed. One run may \
take 10 seconds (--time-limit) and 2 GiB of memory.

Examples:

\b
  vtir serve                   http://127.0.0.1:8765/, with a new token
  vtir serve --port 0          any free port
  VTIR_TOKEN=… vtir serve      a token of your own: addresses stay good

Exit code: 0 after Ctrl-C; 2 if the port is taken, for a bad token, or if the extra "serve" is not installed.
"""

Port = Annotated[int, typer.Option("--port", metavar="N", min=0, max=65535, help="Where to listen; 0 for any port.")]
Token = Annotated[
    str,
    option(
        "--token",
        metavar="TEXT",
        text="The token, at least 16 letters, digits, - and _; a new one unless given. $VTIR_TOKEN does the same, and "
        "no other user of the machine sees it.",
    ),
]
RunLimit = Annotated[float, typer.Option("--time-limit", metavar="SECONDS", min=1, help="The most time for one run.")]
Container = Annotated[
    bool, option("--in-container", text="Listen on all addresses: in a container whose port is published locally.")
]


def serve(port: Port = 8765, token: Token = "", time_limit: RunLimit = 10, in_container: Container = False) -> None:
    """Open a playground in the browser."""
    try:
        from verified_tir.serve.run import run
    except ModuleNotFoundError as missing:
        _needs("serve", "serve", missing)
    given = token or os.environ.get("VTIR_TOKEN", "")
    raise typer.Exit(run(port, given, seconds=time_limit, in_container=in_container))


def _speak(start: Callable[[], None]) -> None:
    """Answer an editor until it leaves; what is not of the protocol is a line each on the standard error."""
    import logging

    class Sentence(logging.Formatter):
        def formatException(self, problem: Any) -> str:  # noqa: N802 (the name is logging's)
            return f"vtir: {problem[0].__name__}: {problem[1]}"

    heard = logging.StreamHandler()
    heard.setFormatter(Sentence("vtir: %(message)s"))
    logging.getLogger("pygls").addHandler(heard)
    logging.getLogger("pygls").propagate = False
    try:
        start()
    except (MemoryError, OverflowError) as problem:
        typer.echo(f"vtir: error: a message is announced that does not fit into memory ({problem!r})", err=True)
        raise typer.Exit(2) from None


def _needs(command: str, extra: str, missing: ModuleNotFoundError) -> NoReturn:
    """End with a sentence that says which extra is missing.

    :raises ModuleNotFoundError: if what is missing is a part of verified_tir.
    """
    if missing.name is None or missing.name.partition(".")[0] == "verified_tir":
        raise missing
    from verified_tir.extras import missing as needs

    typer.echo(f"vtir: error: {needs(f'vtir {command}', extra)}", err=True)
    raise typer.Exit(2)
