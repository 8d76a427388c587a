"""The parts that all pictures have: a size, a title and a description, and their colours.

On the page the colours are those of the page, light or dark.  A file of its own has the light ones, since it is put on
paper.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from verified_tir.explain.markup import Markup, element, join

NARROW = 6.65
"""Width of a character of the monospace font at 11 pixels."""

FONT = 'svg{font:11px ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace}\n'

LIGHT = {
    "ink": "#1c1e21", "soft": "#5c6370", "line": "#8a8f98", "card": "#fff", "pad": "#e9e9ec", "serial": "#f4f5f7",
    "parallel": "#d5e5fb", "vectorized": "#d3efd8", "unrolled": "#fdebc8", "thread": "#eadcf7", "mark": "#c2185b",
}  # fmt: skip
DARK = {
    "ink": "#e6e8eb", "soft": "#a3abb8", "line": "#6b7280", "card": "#1d2127", "pad": "#343a44", "serial": "#272c34",
    "parallel": "#1f3a5f", "vectorized": "#1f4a2c", "unrolled": "#574318", "thread": "#44305e", "mark": "#ff6fa5",
}  # fmt: skip
"""Colours of pictures by their names."""

RULES = """
text{fill:var(--ink)}
.soft{fill:var(--soft)}
.small{font-size:9px}
.strong{font-weight:bold}
.cell rect{stroke:var(--line);stroke-width:.6}
.cell text{text-anchor:middle;font-size:9px;fill:#1c1e21}
.pad rect{fill:var(--pad)}
.pad path{stroke:var(--line);stroke-width:.8;fill:none}
.touched{fill:none;stroke:var(--ink);stroke-width:2}
.wrong{fill:none;stroke:var(--mark);stroke-width:3}
.number text{fill:var(--ink)}
.number rect,.free rect{fill:var(--card)}
.differs rect{fill:#f8c9d8}
.differs text{fill:#7a0f38;font-weight:bold}
.box{stroke:var(--line);fill:var(--serial)}
.parallel{fill:var(--parallel)}
.vectorized{fill:var(--vectorized)}
.unrolled{fill:var(--unrolled)}
.thread{fill:var(--thread)}
.block{fill:none;stroke:var(--soft);stroke-dasharray:4 3}
.new{stroke:var(--ink);stroke-width:2}
"""
"""What the classes of pictures look like, here and there."""


@final
@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture: its size in pixels, its parts, and what it shows, in a title and a sentence."""

    width: float
    height: float
    body: Markup
    title: str
    description: str


def on_page(drawing: Drawing, name: str) -> Markup:
    """A drawing as an element of the page; ``name`` is a name that no other drawing on it has."""
    return element(
        "svg",
        element("title", drawing.title, id=f"{name}-title"),
        element("desc", drawing.description, id=f"{name}-desc"),
        drawing.body,
        viewBox=f"0 0 {drawing.width:.0f} {drawing.height:.0f}",
        width=round(drawing.width),
        height=round(drawing.height),
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
    )


def alone(drawing: Drawing) -> str:
    """A drawing as the text of an SVG file."""
    whole = element(
        "svg",
        element("title", drawing.title),
        element("desc", drawing.description),
        element("style", Markup(FONT + _with_colours(RULES))),
        element("rect", width=drawing.width, height=drawing.height, fill=LIGHT["card"]),
        drawing.body,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {drawing.width:.0f} {drawing.height:.0f}",
        width=round(drawing.width),
        height=round(drawing.height),
    )
    return f"{whole}\n"


def variables(colours: Mapping[str, str]) -> str:
    """The colours as variables of CSS."""
    return "".join(f"--{name}:{value};" for name, value in colours.items())


def _with_colours(rules: str) -> str:
    """Rules with the light colours themselves: programs that set papers know no variables."""
    return re.sub(r"var\(--(\w+)\)", lambda m: LIGHT[m[1]], rules)


def beside(title: str, *drawings: Drawing, gap: float = 32, margin: float = 12) -> Drawing:
    """Several drawings in a row, each under its title."""
    x, parts = margin, []
    for d in drawings:
        name = element("text", d.title, x=x, y=margin + 10, class_="strong")
        parts.append(join(name, element("g", d.body, transform=f"translate({x:.0f} {margin + 22:.0f})")))
        x += max(d.width, len(d.title) * NARROW * 1.02) + gap
    height = max(d.height for d in drawings) + 2 * margin + 22
    return Drawing(x - gap + margin, height, join(*parts), title, " ".join(d.description for d in drawings))
