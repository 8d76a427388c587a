"""Both answers of refused steps, side by side on a terminal."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from verified_tir.explain.answers import number
from verified_tir.explain.story import Story

if TYPE_CHECKING:
    from rich.console import Console

MOST = 8
"""Elements that are shown of a parameter."""


def show_answers(story: Story, console: Console) -> None:
    """What both programs computed, for each refused step whose counterexample was confirmed by running them."""
    for r in story.refusals:
        for a in r.answers.found if r.answers is not None else ():
            count = len(a.differs)
            more = f", of which {MOST} are shown" if count > MOST else ""
            elements = "one element differs" if count == 1 else f"{count} elements differ{more}"
            console.print(Text(f"    {r.report.step}: {a.buffer} after both programs, {elements}"), soft_wrap=True)
            table = Table("      element", "before", "after", box=None, pad_edge=False, padding=(0, 3, 0, 0))
            for i in islice(sorted(a.differs), MOST):
                after = number(a.after[i]) if a.defined[1][i] else "undefined"
                name = Text(f"      {a.buffer}[{', '.join(map(str, i))}]")
                table.add_row(name, Text(number(a.before[i]), "green"), Text(after, "red"))
            console.print(table)
            console.print()
