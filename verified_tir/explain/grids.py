"""Grids of cells: the two sides of a layout, and arrays with their values.

The cells of a line lie next to each other in memory, and the lines follow each other.  The colour of a cell tells its
logical index: the hue the line, the lightness the place in it.
"""

from __future__ import annotations

import colorsys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from typing import final

from verified_tir.explain.drawing import Drawing
from verified_tir.explain.markup import Content, Markup, element, join
from verified_tir.explain.relaid import Axis, Layout, columns
from verified_tir.explain.touched import Index

HEIGHT, GAP, CUT, LABEL = 18, 5, 18, 6.1
"""Of a cell; between tiles; where indices are left out; of a character."""
HATCH = 6


@final
@dataclass(frozen=True, slots=True)
class Cell:
    """What is drawn in a place: a text, what the pointer shows, a colour, the key of its counterparts."""

    text: str
    title: str
    fill: str = ""
    key: str | None = None
    kind: str = ""


@final
@dataclass(frozen=True, slots=True)
class Marks:
    """Places with a frame: those that are touched, and those at which something is wrong."""

    touched: frozenset[Index] = frozenset()
    wrong: frozenset[Index] = frozenset()


@final
@dataclass(frozen=True, slots=True)
class Grid:
    """Cells by their indices, on axes."""

    title: str
    axes: tuple[Axis, ...]
    cells: Mapping[Index, Cell]
    marks: Marks = field(default_factory=Marks)
    description: str = ""


def layout_grids(layout: Layout, touched: Marks, names: tuple[str, str] = ("before", "after")) -> tuple[Grid, Grid]:
    """The logical and the physical grid of a layout; ``touched`` are marks of the physical one."""
    r, places = layout.relaid, layout.places
    keys = {x: str(k) for k, x in enumerate(places)}
    holds: dict[Index, list[Index]] = {}
    for x, y in places.items():
        holds.setdefault(y, []).append(x)
    paint = dict(_colours(layout.logical))
    logical = {
        x: Cell(_short(x, layout.logical), _pair(r.before.name, x, r.after.name, places.get(x)), paint[x], keys.get(x))
        for x in _indices(layout.logical)
    }
    physical = {}
    for y in _indices(layout.physical):
        here = holds.get(y, [])
        if y in layout.padding:
            physical[y] = Cell("", f"{_element(r.after.name, y)} is padding", kind="pad")
        elif here:
            label = _short(here[0], layout.logical) + ("…" if len(here) > 1 else "")
            title = ", ".join(_element(r.before.name, x) for x in here[:8])
            physical[y] = Cell(
                label, f"{_element(r.after.name, y)} holds {title}", paint[here[0]], " ".join(keys[x] for x in here)
            )
        else:
            why = "is free" if layout.is_whole else "holds nothing that is drawn"
            physical[y] = Cell("", f"{_element(r.after.name, y)} {why}", kind="free")
    marks = Marks(*(frozenset(x for x, y in places.items() if y in m) for m in (touched.touched, touched.wrong)))
    said = _described(layout)
    first = Grid(_headline(r.before.name, layout.logical, names[0]), layout.logical, logical, marks, said[0])
    return first, Grid(_headline(r.after.name, layout.physical, names[1]), layout.physical, physical, touched, said[1])


def _described(layout: Layout) -> tuple[str, str]:
    r = layout.relaid
    shapes = [" × ".join(str(a.extent) for a in axes) for axes in (layout.logical, layout.physical)]
    padding = f", {len(layout.padding)} of the places drawn are padding" if layout.padding else ""
    return (
        f"{r.before.name} has {shapes[0]} elements; each cell tells its index.",
        f"{r.after.name} has {shapes[1]} places; each cell tells the index of the element that it holds{padding}.",
    )


def _headline(name: str, axes: Sequence[Axis], when: str) -> str:
    return f"{name}[{', '.join(a.name for a in axes)}] {when} ({' × '.join(str(a.extent) for a in axes)})"


def _pair(before: str, x: Index, after: str, y: Index | None) -> str:
    return _element(before, x) if y is None else f"{_element(before, x)} is {_element(after, y)}"


def _element(name: str, index: Index) -> str:
    return f"{name}[{', '.join(map(str, index))}]"


def _short(index: Index, axes: Sequence[Axis]) -> str:
    """An index without the dimensions that have one."""
    kept = [str(k) for k, a in zip(index, axes, strict=True) if a.extent > 1]
    return ",".join(kept or ["0"])


def _indices(axes: Sequence[Axis]) -> Iterator[Index]:
    return product(*(a.shown for a in axes))


def _colours(axes: Sequence[Axis]) -> Iterator[tuple[Index, str]]:
    """A colour for each logical index."""
    across = columns([a.extent for a in axes])
    lines, inside = list(_indices(axes[:-across])), list(_indices(axes[-across:]))
    for k, line in enumerate(lines):
        for m, place in enumerate(inside):
            many = len(lines) > 1
            hue = (k / len(lines) if many else m / len(inside)) * 0.86 + 0.02
            light = 0.9 - 0.26 * (m / max(1, len(inside) - 1) if many else 0.5)
            rgb = colorsys.hls_to_rgb(hue, light, 0.62)
            yield (*line, *place), "#" + "".join(f"{round(255 * c):02x}" for c in rgb)


# -- drawing -----------------------------------------------------------------------------------------------------------


def draw(grid: Grid) -> Drawing:
    """The picture of a grid."""
    across = columns([a.extent for a in grid.axes])
    down, over = grid.axes[:-across], grid.axes[-across:]
    texts = [c.text for c in grid.cells.values()]
    names = [_short(i, over) for i in _indices(over)]
    width = max(22.0, max(map(len, [*texts, *names])) * LABEL * 0.92 + 6)
    rows, heights = _positions(down, HEIGHT)
    left = max((len(_short(i, down)) for i in rows), default=0) * LABEL + 8 if down else 2
    lines, widths = _positions(over, width)
    parts: list[Content] = [_heads(lines, over, left, width)]
    for r, y in rows.items():
        parts.append(_row_name(r, down, left, y))
        parts += [_cell(grid.cells[*r, *c], left + x, y + 14, width) for c, x in lines.items()]
    frames = [
        element("rect", x=left + lines[i[-across:]], y=rows[i[:-across]] + 14, width=width, height=HEIGHT, class_=kind)
        for kind, places in (("touched", grid.marks.touched), ("wrong", grid.marks.wrong))
        for i in sorted(places)
        if i in grid.cells
    ]
    parts += [_cuts(lines, over, left, width, heights), _cuts_down(rows, down, left, widths), *frames]
    return Drawing(left + widths + 2, heights + 16, join(*parts), grid.title, grid.description)


def _positions(axes: Sequence[Axis], size: float) -> tuple[dict[Index, float], float]:
    """Where each line begins, and where the last one ends: tiles are set apart, and more so what is left out."""
    found: dict[Index, float] = {}
    at = 0.0
    last: Index | None = None
    for index in _indices(axes):
        if last is not None:
            at += size + (CUT if _cut_between(last, index, axes) else GAP if index[:-1] != last[:-1] else 0)
        found[index], last = at, index
    return found, at + size


def _cut_between(a: Index, b: Index, axes: Sequence[Axis]) -> bool:
    """Whether indices are left out between two lines that follow each other."""
    number = [0, 0]
    for i, j, axis in zip(a, b, axes, strict=True):
        number = [number[0] * axis.extent + i, number[1] * axis.extent + j]
    return number[1] != number[0] + 1


def _heads(lines: Mapping[Index, float], axes: Sequence[Axis], left: float, width: float) -> Markup:
    return join(
        *(
            element("text", _short(i, axes), x=left + x + width / 2, y=10, class_="small soft", text_anchor="middle")
            for i, x in lines.items()
        )
    )


def _row_name(row: Index, axes: Sequence[Axis], left: float, y: float) -> Markup | None:
    if not axes:
        return None
    return element("text", _short(row, axes), x=left - 5, y=y + 14 + 12.5, class_="small soft", text_anchor="end")


def _cell(cell: Cell, x: float, y: float, width: float) -> Markup:
    kind = " ".join(["cell", *([cell.kind] if cell.kind else [])])
    hatch = None
    if cell.kind == "pad":
        strokes = [f"M{x + d:.1f} {y + HEIGHT}l{min(HEIGHT, width - d):.1f} {-min(HEIGHT, width - d):.1f}"
                   for d in range(0, int(width), HATCH)]  # fmt: skip
        strokes += [f"M{x} {y + d}l{d} {-d}" for d in range(HATCH, HEIGHT, HATCH)]
        hatch = element("path", d="".join(strokes))
    return element(
        "g",
        element("title", cell.title),
        element("rect", x=x, y=y, width=width, height=HEIGHT, fill=cell.fill or None),
        hatch,
        element("text", cell.text, x=x + width / 2, y=y + 12.5) if cell.text else None,
        class_=kind,
        data_key=cell.key,
    )


def _cuts(lines: Mapping[Index, float], axes: Sequence[Axis], left: float, width: float, height: float) -> Markup:
    """Ellipses where columns are left out."""
    gaps = [x for (a, x), (b, _) in pairwise(lines.items()) if _cut_between(a, b, axes)]
    return join(
        *(
            element(
                "text", "⋯", x=left + x + width + CUT / 2, y=14 + height / 2 + 4, text_anchor="middle", class_="soft"
            )
            for x in gaps
        )
    )


def _cuts_down(rows: Mapping[Index, float], axes: Sequence[Axis], left: float, width: float) -> Markup:
    """Ellipses where lines are left out."""
    gaps = [y for (a, y), (b, _) in pairwise(rows.items()) if _cut_between(a, b, axes)]
    return join(
        *(
            element(
                "text", "⋮", x=left + width / 2, y=14 + y + HEIGHT + CUT / 2 + 4, text_anchor="middle", class_="soft"
            )
            for y in gaps
        )
    )


# -- arrays ------------------------------------------------------------------------------------------------------------


def array_grid(
    title: str, names: Sequence[str], shape: Sequence[int], shown: Sequence[Iterable[int]], texts: Mapping[Index, str],
    differs: frozenset[Index] = frozenset(), marks: Marks | None = None, description: str = "",
) -> Grid:  # fmt: skip
    """An array with its values; those that differ stand out."""
    axes = tuple(Axis(n, e, tuple(sorted(s))) for n, e, s in zip(names, shape, shown, strict=True))
    cells = {
        i: Cell(texts.get(i, ""), f"[{', '.join(map(str, i))}]", key=",".join(map(str, i)),
                kind="differs" if i in differs else "number")
        for i in _indices(axes)
    }  # fmt: skip
    return Grid(title, axes, cells, marks or Marks(), description)
