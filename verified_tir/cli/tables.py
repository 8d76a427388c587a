"""Tables as plain text."""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text


def aligned(rows: Sequence[Sequence[str]], *, numbers: bool = False) -> list[str]:
    """The rows as lines, with their columns below each other; of ``numbers``, all columns but the first are."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    for k in range(len(rows[0])):
        grid.add_column(justify="right" if numbers and k else "left")
    for cells in rows:
        grid.add_row(*map(Text, cells))
    text = io.StringIO()
    Console(file=text, width=10_000, force_terminal=False, color_system=None).print(grid)
    return [line.rstrip() for line in text.getvalue().splitlines()]
