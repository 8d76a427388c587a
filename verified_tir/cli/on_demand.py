"""The commands of ``vtir``, each built when it is asked for, and the help that lists them.

``vtir --help`` needs their names and one line each.  It is drawn here as typer draws the help of commands: typer's own
module for that imports readers of Markdown and of tracebacks, which takes as long as everything else together.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, cast

import typer
from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from rich.panel import Panel

_COMMANDS: Final = {
    "verify": ("prove", "Prove every schedule in files and folders."),
    "explain": ("prove", "Show one schedule step by step, as a page with pictures."),
    "lower": ("programs", "Lower a function by a pipeline of proved passes."),
    "run": ("models", "Compile a function or a model and call it on random arrays."),
    "bench": ("measure", "Time kernels, schedules and models beside everything else that is installed."),
    "tune": ("tune", "Search for the fastest candidate that a strategy leaves open."),
    "plan": ("models", "Choose layouts for a whole model; every change is proved."),
    "validate": ("programs", "Compare two programs by translation validation."),
    "check": ("prove", "Check certificates with a solver of choice."),
    "fuzz": ("test", "Look for mistakes of vtir with random programs."),
    "lsp": ("studio", "Serve an editor: prove schedule files while they are written."),
    "serve": ("studio", "Open a playground in the browser."),
    "init": ("project", "Write a small project that verifies."),
    "doctor": ("project", "Say what is installed and whether it works."),
    "cache": ("prove", "Show or clear what is kept between runs."),
    "help": ("help", "Explain the code of a refusal or an error."),
}
"""In the order in which ``--help`` shows them: the file ``commands_….py``, and what the command does in one line."""


@cache
def _built(name: str) -> TyperCommand:
    group, short = _COMMANDS[name]
    module = import_module(f"verified_tir.cli.commands_{group}")
    alone = typer.Typer(add_completion=False)
    alone.command(name=name, help=getattr(module, name.upper()), short_help=short)(getattr(module, name))
    return cast(TyperCommand, typer.main.get_command(alone))


LEAST_COLUMNS: Final = 10
"""What a terminal has at least; rich writes nothing at all in none."""


class _Commands(Mapping[str, TyperCommand]):
    def __getitem__(self, name: str) -> TyperCommand:
        if name not in _COMMANDS:
            raise KeyError(name)
        return _built(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_COMMANDS)

    def __len__(self) -> int:
        return len(_COMMANDS)


class CommandsOnDemand(TyperGroup):
    """The group of all commands."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = cast(Any, _Commands())

    def main(self, *arguments: Any, **settings: Any) -> Any:
        """Run a command; a width that nothing can be written in is not believed."""
        if os.environ.get("COLUMNS", "").isdigit() and int(os.environ["COLUMNS"]) < LEAST_COLUMNS:
            del os.environ["COLUMNS"]
        return super().main(*arguments, **settings)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print options and commands in two frames, without building a command."""
        from rich.console import Console
        from rich.padding import Padding
        from rich.text import Text

        console = Console(highlight=False)
        usage = Text.assemble(
            ("Usage: ", "yellow"), (" ".join((ctx.command_path, *self.collect_usage_pieces(ctx))), "bold")
        )
        console.print(Padding(usage, 1))
        console.print(Padding(self.help or "", (0, 1, 1, 1)))
        options = ((*_spellings(option), getattr(option, "help", "")) for option in self.get_params(ctx))
        console.print(_framed("Options", options))
        console.print(_framed("Commands", ((name, line) for name, (_, line) in _COMMANDS.items())))


def _spellings(option: Any) -> tuple[str, str]:
    """The long and the short names of an option."""
    long = [name for name in option.opts if name.startswith("--")]
    return ",".join(long), ",".join(name for name in option.opts if name not in long)


def _framed(title: str, rows: Iterable[tuple[str, ...]]) -> Panel:
    from rich.panel import Panel
    from rich.table import Table

    table = Table(box=None, show_header=False, expand=True, pad_edge=False)
    for row in rows:
        table.add_row(*row)
    *_, last = table.columns
    for column, style in zip(table.columns, ("bold cyan", "bold green"), strict=False):
        if column is not last:
            column.style, column.no_wrap = style, True
    last.ratio = 1
    return Panel(table, title=title, title_align="left", border_style="dim")
