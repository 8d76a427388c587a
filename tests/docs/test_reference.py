"""Reference pages that are made from what they describe.  ``--update-golden`` writes them."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.docs import commands_page, primitives_page
from tests.docs.pages import ROOT
from tests.docs.primitive_programs import SECTIONS

REFERENCE = ROOT / "docs" / "reference"


def same(name: str, text: str, request: pytest.FixtureRequest) -> None:
    path = REFERENCE / name
    if request.config.getoption("--update-golden"):
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text, f"docs/reference/{name} is old: pytest {__file__} --update-golden"


def test_the_primitives_are_what_the_page_shows(request: pytest.FixtureRequest) -> None:
    same("primitives.md", primitives_page.page(), request)


def test_the_commands_are_what_the_page_shows(request: pytest.FixtureRequest) -> None:
    same("commands.md", commands_page.page(), request)


def test_each_primitive_has_one_example() -> None:
    shown = Counter(example.name for _, examples in SECTIONS for example in examples)
    assert set(shown.values()) == {1}
    assert set(shown) == set(primitives_page.primitives())
