"""What a notebook shows of programs, schedules, theorems, index maps, refusals and plans."""

from __future__ import annotations

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
from verified_tir.report.display import SHOWN, script_html

NOTEBOOK = Path(__file__).resolve().parents[2] / "examples" / "first_schedule.ipynb"

ADDS = """
@T.prim_func
def adds(A: T.Buffer((16,), "float32"), B: T.Buffer((1,), "float32")):
    for i in range(16):
        if i < 12:
            B[0] = B[0] + A[i]
"""


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
        self.open.append(tag)

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
    assert "Counterexample:" in page and "two of its iterations" in Text(page).text
    other = refusal(lambda s: s.split("k", [4, 4]))
    assert isinstance(other, NotApplicable)
    assert "there is no loop called &#x27;k&#x27;; the loops are i" in shown(other) and "Counterexample" not in shown(
        other
    )


def test_an_index_map_shows_where_elements_are() -> None:
    page = shown(IndexMap.from_func(lambda i: [i // 6, i % 6], 1))
    assert "its elements in a layout of shape [3, 6]" in page
    assert page.count('title="padding"') == 2
    assert page.count("<td") == 18
    for no_picture in (
        IndexMap.from_func(lambda i, j, k: [k, j, i], 3),
        IndexMap.from_func(lambda i: [i // 2], 1),
        IndexMap.from_func(lambda i: [i * 1000], 1),
    ):
        assert "<table" not in shown(no_picture) and "lambda i" in shown(no_picture)


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
