"""What a notebook shows of programs, schedules, theorems, index maps, refusals and plans."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from verified_tir import IndexMap, IRModule, NotApplicable, Refuted, Schedule, ScheduleError, parse_func
from verified_tir.explain.display import SHOWN, script_html
from verified_tir.explain.story import _layouts
from verified_tir.script import tir as T

NOTEBOOK = Path(__file__).resolve().parents[2] / "examples" / "first_schedule.ipynb"

ADDS = """
@T.prim_func
def adds(A: T.Buffer((16,), "float32"), B: T.Buffer((1,), "float32")):
    for i in range(16):
        if i < 12:
            B[0] = B[0] + A[i]
"""


SHIFT = """
@T.prim_func
def shift(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        B[i] = A[i]
"""
N = T.int32()


class Text(HTMLParser):
    """The words of a document; every element that needs an end must have one, in the right order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.extend([tag] * (tag != "img"))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)


def shown(value: object) -> str:
    """What the registry gives for a value."""
    kind = type(value)
    return SHOWN[kind.__module__, kind.__name__](value)


def refusal(step: Callable[[Schedule], object]) -> ScheduleError:
    with pytest.raises(ScheduleError) as caught:
        step(Schedule(ADDS))
    return caught.value


def test_a_program_is_its_text() -> None:
    func = parse_func(ADDS)
    assert Text(shown(func)).text == str(func).rstrip("\n")
    assert Text(shown(IRModule((("adds", func),)))).text.count("def adds") == 1


def test_text_is_escaped() -> None:
    hostile = 'A["<script>alert(1)</script>"] = B < 3 && x > "</pre>"  # <-- here <b>'
    assert "<script" not in script_html(hostile)
    assert Text(script_html(hostile)).text == hostile
    step = refusal(lambda s: s.split("<b>i</b>", [4, 4]))
    assert "<b>i</b>" not in shown(step)
    assert "&lt;b&gt;i&lt;/b&gt;" in shown(step)


def test_a_schedule_shows_its_program_steps_and_assumptions() -> None:
    s = Schedule(ADDS)
    s.split("i", [4, 4])
    text = Text(shown(s)).text
    assert "Schedule of adds 1 step, " in text and "split(i, [4, 4])" in text
    assert "B[0] = B[0] + A[i_0 * 4 + i_1]" in text
    assert "A, B hold definite values" in text
    theorem = Text(shown(s.theorem)).text
    assert "adds refines adds" in theorem and "A[i]" in theorem and "A[i_0 * 4 + i_1]" in theorem


def test_a_refusal_marks_its_line_and_shows_its_counterexample() -> None:
    refused = refusal(lambda s: s.parallel("i"))
    assert isinstance(refused, Refuted)
    page = shown(refused)
    (marked,) = re.findall(r'<span style="[^"]*border-left[^"]*">(.*?)</span>(?=\n|</pre>)', page)
    assert Text(marked).text.strip().startswith("B[0] = B[0] + A[i]")
    assert "Counterexample:" in page and "that another one writes" in Text(page).text
    other = refusal(lambda s: s.split("k", [4, 4]))
    assert isinstance(other, NotApplicable)
    assert "there is no loop called &#x27;k&#x27;; the loops are i" in shown(other) and "Counterexample" not in shown(
        other
    )


def picture(index_map: IndexMap) -> str:
    """The SVG text of the picture of an index map."""
    (coded,) = re.findall(r'src="data:image/svg\+xml;base64,([\w+/=]+)"', shown(index_map))
    return base64.b64decode(coded).decode()


def test_an_index_map_shows_the_grids_of_explain() -> None:
    index_map = IndexMap.from_func(lambda i: [i // 6, i % 6], 1)
    drawn = picture(index_map)
    assert drawn.count('class="cell pad"') == 2
    assert drawn.count('class="cell') == 16 + 18
    assert "A[1, 2] holds A[8]" in drawn
    assert "each cell tells the index of the element that it holds, 2 of the places drawn are padding." in shown(
        index_map
    )
    s = Schedule(SHIFT)
    s.transform_layout("A", index_map)
    (story,) = [x for x in _layouts(s.steps[-1]) if x.drawing is not None]
    cells = re.compile(r'<g[^>]*class="cell.*?</g>')
    assert story.drawing is not None
    assert cells.findall(drawn) == cells.findall(str(story.drawing.body))


def test_elements_that_share_a_place_are_drawn_in_one_cell() -> None:
    assert "A[0] holds A[0], A[1]" in picture(IndexMap.from_func(lambda i: [i // 2], 1))


@pytest.mark.parametrize(
    "no_picture",
    [
        IndexMap.from_func(lambda i, j, k, m: [k, j, i, m], 4),
        IndexMap.from_func(lambda i: [i - 1], 1),
        IndexMap.from_func(lambda i: [i // N, i % N], 1),
    ],
    ids=str,
)
def test_index_maps_without_a_picture_show_their_formula(no_picture: IndexMap) -> None:
    assert "<img" not in shown(no_picture) and "lambda i" in shown(no_picture)


SHELL = """
import sys
{before}
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell({cells!r})
registered = shell.display_formatter.formatters["text/html"].deferred_printers
print(sorted(name for module, name in registered if module.startswith("verified_tir")))
print(sorted({{"z3", "numpy", "verified_tir.schedule.schedule"}} & set(sys.modules)))
"""


@pytest.mark.parametrize(
    ("before", "cells"), [("", "import verified_tir"), ("import verified_tir", "%load_ext verified_tir")]
)
def test_ipython_is_told(before: str, cells: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SHELL.format(before=before, cells=cells)], capture_output=True, text=True, check=False
    )
    names, heavy = done.stdout.splitlines()[-2:]
    assert names == str(sorted(name for _, name in SHOWN))
    assert heavy == "[]"


def test_every_class_that_is_shown_is_there() -> None:
    from importlib import import_module

    for module, name in SHOWN:
        assert getattr(import_module(module), name).__module__ == module


def comparable(notebook: Any) -> list[Any]:
    """Sources, and what is shown of outputs, without times."""
    shown = [(c["source"], [o.get("data", o).get("text/html", o.get("text")) for o in c.get("outputs", [])])
             for c in notebook["cells"]]  # fmt: skip
    text = json.dumps(shown)
    text = re.sub(r"[\d.]+ (?:\\u00b5s|ms|s)\b", "TIME", text)
    found: list[Any] = json.loads(text)
    return found


@pytest.mark.nightly
@pytest.mark.slow
def test_the_notebook_runs_and_its_outputs_are_fresh() -> None:
    import nbclient
    import nbformat

    stored = nbformat.read(NOTEBOOK, as_version=4)
    fresh = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(fresh, timeout=120, record_timing=False).execute()
    assert [o.output_type for c in fresh.cells for o in c.get("outputs", []) if o.output_type == "error"] == []
    assert comparable(fresh) == comparable(stored)
