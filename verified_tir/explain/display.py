"""How programs, schedules, theorems, index maps, refusals and plans look in a notebook.

The classes know nothing of notebooks: IPython's own registry maps a class to a function that gives HTML, by name, so
that nothing is imported before something is shown.  ``import verified_tir`` inside IPython registers them, and so does
``%load_ext verified_tir``.

Colours are Jupyter's own variables, which follow its light and dark themes; the fallbacks are readable on both.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Final

from verified_tir.durations import duration

if TYPE_CHECKING:
    from verified_tir.explain.relaid import Layout
    from verified_tir.graph.plan import Plan
    from verified_tir.index.map import IndexMap
    from verified_tir.kernel.theorem import Refines
    from verified_tir.schedule.errors import ScheduleError
    from verified_tir.schedule.schedule import Schedule

_COLOURS: Final = {
    "comment": "var(--jp-mirror-editor-comment-color, #7d8590)",
    "string": "var(--jp-mirror-editor-string-color, #c2600f)",
    "number": "var(--jp-mirror-editor-number-color, #2f8f5b)",
    "keyword": "var(--jp-mirror-editor-keyword-color, #9a57c9)",
    "decorator": "var(--jp-mirror-editor-meta-color, #a8730c)",
    "name": "var(--jp-mirror-editor-def-color, #3b7fd4)",
}
_WORDS: Final = re.compile(
    r"(?P<comment>#.*)"
    r"|(?P<string>\"[^\"]*\"|'[^']*')"
    r"|(?P<decorator>@[\w.]+)"
    r"|(?P<keyword>\b(?:def|for|in|with|if|else|elif|while|and|or|not|lambda|class|pass|range|return)\b)"
    r"|(?P<name>\b[TIR]\.\w+)"
    r"|(?P<number>\b\d[\w.]*)"
)
_MARK: Final = "# <-- "
_PRE: Final = (
    "margin:0;padding:.4em .6em;line-height:1.35;text-align:left;overflow-x:auto;white-space:pre;"
    "background:transparent;font-size:.9em;"
    "font-family:var(--jp-code-font-family, ui-monospace, Menlo, Consolas, monospace)"
)
_MARKED: Final = "display:inline-block;min-width:100%;background:rgba(220,60,60,.18);border-left:3px solid #d33"
_CELL: Final = "text-align:left;padding:.15em .7em;border-bottom:1px solid rgba(128,128,128,.3)"


def script_html(text: str) -> str:
    """A program's text, highlighted; a line that the text marks has a background."""
    lines = (_line(line) for line in text.rstrip("\n").split("\n"))
    return f'<pre style="{_PRE}">{chr(10).join(lines)}</pre>'


def _line(line: str) -> str:
    end, parts = 0, []
    for found in _WORDS.finditer(line):
        colour = _COLOURS[found.lastgroup or "name"]
        parts += [escape(line[end : found.start()]), f'<span style="color:{colour}">{escape(found.group())}</span>']
        end = found.end()
    shown = "".join([*parts, escape(line[end:])])
    return f'<span style="{_MARKED}">{shown}</span>' if _MARK in line else shown


def _program(program: Any) -> str:
    from verified_tir.ir.script import script

    return script_html(script(program))


def _schedule(s: Schedule) -> str:
    steps = s.steps
    count, proved = len(steps) - 1, sum(len(r.obligations) for r in steps)
    rows = [(str(r), len(r.obligations), duration(r.seconds)) for r in steps]
    return _box(
        _title("Schedule of", s.func.name, f"{count} step{'s' * (count != 1)}, {proved} obligations proved"),
        script_html(s.script()),
        _folded("steps", _table(("step", "obligations", "time"), rows)),
        _list("assuming", s.assumptions),
    )


def _theorem(theorem: Refines) -> str:
    from verified_tir.derivation.assumptions import assumptions
    from verified_tir.ir.script import script

    rules = theorem.derivation
    owed = sum(len(step.obligations) for step in rules)
    what = f"{theorem.after.name} refines {theorem.before.name}"
    return _box(
        _title("Theorem:", what, f"{len(rules)} rules, {owed} obligations"),
        _folded("before", script_html(script(theorem.before))),
        _folded("after", script_html(script(theorem.after)), is_open=True),
        _list("assuming", assumptions(theorem)),
    )


def _refusal(refused: ScheduleError) -> str:
    from verified_tir.schedule.errors import Refuted, marked

    found, replayed = [], ""
    if isinstance(refused, Refuted):
        found = [(k, v) for k, v in refused.counterexample.items()]
        replayed = refused.replay.describe() if refused.replay is not None else ""
    always = isinstance(refused, Refuted) or refused.marks_all
    return _box(
        _title("Refused:", refused.step),
        f"<p style='margin:.4em 0'>{escape(refused.summary())}</p>",
        script_html(marked(refused.program, refused.place, always)),
        "<p style='margin:.4em 0'>Counterexample:</p>" + _table(("variable", "value"), found) if found else "",
        f"<pre style='{_PRE}'>{escape(replayed)}</pre>" if replayed else "",
        f"<p style='margin:.4em 0'><b>What to try:</b> {escape(refused.remedy)}</p>" if refused.remedy else "",
    )


def _index_map(index_map: IndexMap) -> str:
    return _box(f"<code>{escape(str(index_map))}</code>", _picture(index_map))


_SHAPES: Final = {1: (16,), 2: (4, 8), 3: (2, 3, 4)}
"""Of the arrays whose places are drawn, by rank."""


def _picture(index_map: IndexMap) -> str:
    """The grids of ``vtir explain`` for a small array; nothing if the map has no places for it."""
    from base64 import b64encode

    from verified_tir.explain.drawing import alone, beside
    from verified_tir.explain.grids import Marks, draw, layout_grids

    layout = _layout(index_map)
    if layout is None:
        return ""
    before, after = (draw(grid) for grid in layout_grids(layout, Marks(), ("logical", "in memory")))
    drawing = beside(str(index_map), before, after)
    coded = b64encode(alone(drawing).encode()).decode()
    return (
        f'<p style="margin:.4em 0"><img src="data:image/svg+xml;base64,{coded}" alt="{escape(drawing.description)}" '
        'style="max-width:none"></p>'
    )


def _layout(index_map: IndexMap) -> Layout | None:
    """The layout of an array of a small shape of the map's rank; elements may share a place."""
    from verified_tir.explain.relaid import Relaid, layout_of
    from verified_tir.index.errors import NotInjective
    from verified_tir.ir.buffer import Buffer
    from verified_tir.ir.dtype import FLOAT32
    from verified_tir.ir.node import IRError
    from verified_tir.ir.sugar import const
    from verified_tir.schedule.tactics.layout import layout_map

    shape = _SHAPES.get(len(index_map.inputs))
    if shape is None:
        return None
    old = Buffer.fresh("A", FLOAT32, tuple(const(n, index_map.dtype) for n in shape), "global")
    try:
        layout, shared = layout_map(index_map, old), False
        try:
            index_map.inverse(shape)
        except NotInjective:
            shared = True
        new = Buffer.fresh("A", FLOAT32, layout.shape, "global")
        return layout_of(Relaid(old, new, layout, shared), {})
    except (IRError, OverflowError):  # it divides by a symbol, an index is negative, …: then there is only the formula
        return None


def _plan(plan: Plan) -> str:
    from verified_tir.graph.write_text import graph_text

    rows = [
        ("nodes", len(plan.graph.nodes)),
        ("programs moved to other layouts", len(plan.relaid)),
        ("constants packed", len(plan.packed)),
        ("theorems", len(plan.theorems)),
        ("bytes moved by rewrites", f"{plan.cost:,.0f} (around each frozen node alone: {plan.naive:,.0f})"),
    ]
    return _box(
        _title("Plan of", plan.graph.name),
        _table(("", ""), rows),
        _list("rewrites left", [f"{node}: {why}" for node, why in plan.rewrites]),
        _list("problems", plan.problems),
        _folded("graph", script_html(graph_text(plan.graph))),
    )


# -- pieces ------------------------------------------------------------------------------------------------------------


def _box(*parts: str) -> str:
    return f'<div class="verified-tir">{"".join(parts)}</div>'


def _title(kind: str, name: str, more: str = "") -> str:
    rest = f" <span style='opacity:.7'>{escape(more)}</span>" if more else ""
    return f"<p style='margin:.4em 0'>{kind} <b>{escape(name)}</b>{rest}</p>"


def _table(names: Iterable[str], rows: Iterable[Sequence[object]]) -> str:
    head = "".join(f'<th style="{_CELL}">{escape(n)}</th>' for n in names)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{escape(str(c))}</td>' for c in row) + "</tr>" for row in rows
    )
    return f"<table style='border-collapse:collapse'><tr>{head}</tr>{body}</table>"


def _list(name: str, items: Sequence[str]) -> str:
    if not items:
        return ""
    return _folded(f"{name} ({len(items)})", "<ul>" + "".join(f"<li>{escape(i)}</li>" for i in items) + "</ul>")


def _folded(name: str, inside: str, *, is_open: bool = False) -> str:
    return f"<details{' open' if is_open else ''}><summary>{escape(name)}</summary>{inside}</details>"


# -- IPython -----------------------------------------------------------------------------------------------------------

SHOWN: Final[dict[tuple[str, str], Callable[[Any], str]]] = {
    ("verified_tir.ir.func", "PrimFunc"): _program,
    ("verified_tir.ir.func", "IRModule"): _program,
    ("verified_tir.schedule.schedule", "Schedule"): _schedule,
    ("verified_tir.kernel.refines", "Refines"): _theorem,
    ("verified_tir.index.map", "IndexMap"): _index_map,
    ("verified_tir.schedule.errors", "NotApplicable"): _refusal,
    ("verified_tir.schedule.errors", "Refuted"): _refusal,
    ("verified_tir.schedule.errors", "Undecided"): _refusal,
    ("verified_tir.graph.plan", "Plan"): _plan,
}
"""What is shown, by the place of its class, and how."""


def register(shell: Any = None) -> None:
    """Have an IPython shell (the running one unless given) show what is in ``SHOWN`` as HTML."""
    if shell is None:
        ipython = sys.modules.get("IPython")
        shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    if shell is not None:
        html = shell.display_formatter.formatters["text/html"]
        for (module, name), show in SHOWN.items():
            html.for_type_by_name(module, name, show)
