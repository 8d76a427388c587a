"""The examples of the playground are those of ``examples/``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from verified_tir import ScheduleError
from verified_tir.cli.load import loaded
from verified_tir.ir.script import script
from verified_tir.schedule.schedule import Schedule
from verified_tir.serve.reading import steps_in, take

ROOT = Path(__file__).parents[2]
EXAMPLES = json.loads((ROOT / "verified_tir" / "serve" / "page" / "examples.json").read_text(encoding="utf-8"))


@pytest.mark.sample(2)
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: str(e["name"]))
def test_an_example_leads_where_the_file_leads(example: dict[str, Any]) -> None:
    file, _, name = example["name"].partition(":")
    with loaded(ROOT / "examples" / file, file) as functions:
        (function,) = [f for f in functions if f.name == name]
        there = Schedule(function.program)
        refused_there = ends(lambda: function.function(there))
    here = Schedule(example["program"])
    known: dict[str, Any] = {}
    refused_here = ends(lambda: [take(here, step, known) for step in steps_in(example["steps"])])
    assert script(here.func) == script(there.func)
    assert [r.name for r in here.steps] == [r.name for r in there.steps]
    assert refused_here == refused_there
    assert bool(refused_here) == (function.expect == "refused") == ("(refused)" in example["title"])


def ends(run: Any) -> str:
    try:
        run()
    except ScheduleError as refused:
        return f"{refused.step}: {refused.summary()}"
    return ""
