"""Pages that are made from what they describe.  ``--update-golden`` writes them."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.conftest import Verified
from tests.docs import commands_page, gallery_page, primitives_page
from tests.docs.pages import ROOT
from tests.docs.primitive_programs import SECTIONS

DOCS = ROOT / "docs"


def same(name: str, text: str, request: pytest.FixtureRequest) -> None:
    path = DOCS / name
    if request.config.getoption("--update-golden"):
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text, f"docs/{name} is old: pytest {__file__} --update-golden"


def test_the_primitives_are_what_the_page_shows(request: pytest.FixtureRequest) -> None:
    same("reference/primitives.md", primitives_page.page(), request)


def test_the_commands_are_what_the_page_shows(request: pytest.FixtureRequest) -> None:
    same("reference/commands.md", commands_page.page(), request)


@pytest.mark.nightly
@pytest.mark.slow
def test_the_examples_are_what_the_gallery_shows(verified_examples: Verified, request: pytest.FixtureRequest) -> None:
    same("start/gallery.md", gallery_page.page(verified_examples.files), request)


def test_each_primitive_has_one_example() -> None:
    shown = Counter(example.name for _, examples in SECTIONS for example in examples)
    assert set(shown.values()) == {1}
    assert set(shown) == set(primitives_page.primitives())
