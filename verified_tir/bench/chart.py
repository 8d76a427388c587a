"""Charts of rates: a group of bars for each size, and what the machine can do at most as a line."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from verified_tir.bench.cases import OURS
from verified_tir.bench.record import Row
from verified_tir.explain.drawing import NARROW, Drawing, alone
from verified_tir.explain.markup import Markup, element, join

HEIGHT: Final = 220
TOP, LEFT, BAR, GAP = 64, 64, 14, 26
COLOURS: Final = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#8a8f98", "#b8a000")
"""Okabe and Ito's, which people who see few colours can tell apart; ours is the first."""


def charts(rows: Sequence[Row]) -> dict[str, str]:
    """A picture for each kernel, type and number of threads, by the name of its file."""
    found = {}
    for (kernel, dtype, threads), group in groupby(rows, lambda r: (r.case.kernel, r.case.dtype, r.case.threads)):
        plural = "s" if threads > 1 else ""
        found[f"{kernel}-{dtype}-{threads}.svg"] = alone(
            _chart(f"{kernel}, {dtype}, {threads} thread{plural}", list(group))
        )
    return found


def _chart(title: str, rows: list[Row]) -> Drawing:
    names = [OURS, *dict.fromkeys(n for r in rows for n in r.peers)]
    unit = rows[0].rate(1.0)[1]
    rates = [{n: r.rate(t.median)[0] for n, t in r.times.items() if n in names} for r in rows]
    ceilings = [r.share and r.rate(r.ours)[0] / r.share[0] for r in rows]
    most = max([x for group in rates for x in group.values()] + [c for c in ceilings if c])
    widths = [max(BAR * len(names), len(r.case.sizes) * NARROW) + GAP for r in rows]
    width = LEFT + sum(widths)
    parts, x = [_axis(most, unit, width), _legend(names)], float(LEFT)
    for row, group, ceiling, w in zip(rows, rates, ceilings, widths, strict=True):
        start = x + (w - BAR * len(names)) / 2
        for k, name in enumerate(names):
            if name in group:
                parts.append(
                    _bar(
                        start + k * BAR,
                        group[name] / most,
                        COLOURS[k % len(COLOURS)],
                        f"{name}: {group[name]:.3g} {unit}",
                    )
                )
        if ceiling:
            y = TOP + HEIGHT * (1 - ceiling / most)
            parts.append(
                element("path", d=f"M{x + 4:.1f} {y:.1f}H{x + w - 4:.1f}", stroke="#1c1e21", stroke_dasharray="4 3")
            )
        parts.append(element("text", row.case.sizes, x=round(x + w / 2), y=TOP + HEIGHT + 16, text_anchor="middle"))
        x += w
    said = "; ".join(
        f"{r.case.sizes}: " + ", ".join(f"{n} {v:.3g}" for n, v in g.items()) for r, g in zip(rows, rates, strict=True)
    )
    legend = LEFT + sum(len(n) * NARROW + 30 for n in names)
    return Drawing(
        max(width, legend, 20 + len(title) * NARROW) + 12,
        TOP + HEIGHT + 30,
        join(_head(title, unit), *parts),
        title,
        f"{unit}. {said}.",
    )


def _head(title: str, unit: str) -> Markup:
    return join(
        element("text", title, x=12, y=20, class_="strong"),
        element("text", f"{unit}; dashed: the most that this machine can do", x=12, y=36, class_="soft"),
    )


def _legend(names: Sequence[str]) -> Markup:
    parts, x = [], float(LEFT)
    for k, name in enumerate(names):
        parts.append(element("rect", x=round(x), y=TOP - 18, width=10, height=10, fill=COLOURS[k % len(COLOURS)]))
        parts.append(element("text", name, x=round(x) + 14, y=TOP - 9))
        x += len(name) * NARROW + 30
    return join(*parts)


def _axis(most: float, unit: str, width: float) -> Markup:
    parts = []
    for k in range(5):
        y = TOP + HEIGHT * (1 - k / 4)
        parts.append(element("path", d=f"M{LEFT} {y:.1f}H{width:.1f}", stroke="#d5d8dd"))
        parts.append(
            element("text", f"{most * k / 4:.3g}", x=LEFT - 6, y=round(y + 4), text_anchor="end", class_="soft")
        )
    return join(*parts)


def _bar(x: float, part: float, colour: str, said: str) -> Markup:
    height = HEIGHT * part
    title = element("title", said)
    return element(
        "g",
        title,
        element(
            "rect",
            x=round(x, 1),
            y=round(TOP + HEIGHT - height, 1),
            width=BAR - 2,
            height=round(height, 1),
            fill=colour,
        ),
    )
