"""docs/start/gallery.md: every file in examples/ with a program before and after its first schedule, really made."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.docs.before_after import before_after, shown, without_header
from tests.docs.pages import ROOT
from verified_tir import Schedule
from verified_tir.schedule.registry import ScheduleFunction, collecting

HEAD = """\
# Gallery

<!-- Made by tests/docs/gallery_page.py: pytest tests/docs/test_reference.py --update-golden -->

The files in `examples/`, each with what its first schedule makes of the program; `make verify` proves them all.
Schedules that are refused are there on purpose: they are the mistakes that are easily made. The steps of RFC 77 have
[pages of their own](../rfc77-errata.md).
"""
LONGEST = 30
"""Programs of more lines are shown up to there."""


def page(verified: Mapping[str, Any]) -> str:
    """The text of the page.

    :param verified: what ``vtir verify`` says of each file, by its path below ``examples``.
    """
    lines = [HEAD]
    examples = ROOT / "examples"
    for path in [*sorted(examples.glob("*.py")), *sorted((examples / "padding").glob("*.py"))]:
        lines += [*_entry(path, verified[str(path.relative_to(examples))]["schedules"]), ""]
    return "\n".join(lines).rstrip() + "\n"


def _entry(path: Path, verified: list[dict[str, Any]]) -> Iterator[str]:
    doc, functions = _imported(path)
    name = path.relative_to(ROOT)
    yield f"## {_title(path.stem)}"
    for paragraph in doc.split("\n\n"):
        yield ""
        yield _markdown(paragraph)
    yield ""
    yield f"{{download}}`{name} <../../{name}>`"
    yield ""
    first = next(one for one in verified if one["expect"] == "proved")
    program = next(f.program for f in functions if f.name == first["name"])
    yield f"`{first['name']}`: {_markdown(first['doc'])}"
    yield ""
    yield from before_after(_cut(shown(Schedule(program))), _cut(without_header(first["program"])))
    yield ""
    for other in verified:
        if other is not first:
            yield f"- {_told(other)}"


def _told(one: Mapping[str, Any]) -> str:
    text = f"`{one['name']}`: {_markdown(one['doc'])}"
    return text if one["refusal"] is None else f"{text} Refused: *{_markdown(one['refusal']['claim'])}*."


def _imported(path: Path) -> tuple[str, list[ScheduleFunction]]:
    """The docstring of a file, and its schedules."""
    spec = importlib.util.spec_from_file_location(f"gallery_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with collecting() as found:
        spec.loader.exec_module(module)
    return (module.__doc__ or "").strip(), found


def _title(stem: str) -> str:
    return stem.replace("_", " ").capitalize().replace("Nhwc to nchwc", "NHWC to NCHWc")


def _markdown(text: str) -> str:
    return re.sub(r"\s+", " ", text.replace("``", "`"))


def _cut(text: str) -> str:
    lines = text.splitlines()
    return text if len(lines) <= LONGEST else "\n".join([*lines[:LONGEST], "    …"])
