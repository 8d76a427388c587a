"""Every link within the repository leads somewhere: from pages to pages and headings, and from code to pages.

External links are asked by ``make links``, a part of ``make nightly``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.docs.test_pages import EVERY

_FENCED = re.compile(r"^ *(`{3,}|~{3,}).*?^ *\1 *$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!\\)\[[^\]]*\]\(<?([^)>\s]+)>?\)")
_DOWNLOAD = re.compile(r"\{download\}`(?:[^`<]*<)?([^`<>]+)>?`")
_IN_CODE = re.compile(r"\bdocs/[\w/-]+\.md")
PAGES = [*EVERY, *(p for p in sorted(ROOT.glob("*.md")) if p.name != "README.md")]
FOLDERS = ("verified_tir", "tests", "examples")
CODE = [
    p
    for pattern in ("*.toml", "Makefile", "benchmarks/*.py", *(f"{x}/**/*.py" for x in FOLDERS))
    for p in sorted(ROOT.glob(pattern))
]


def links(page: Path) -> Iterator[str]:
    """The targets of a page's links, but for external ones."""
    text = _FENCED.sub("", _text(page))
    for target in [*_LINK.findall(re.sub(r"`[^`\n]+`", "", text)), *_DOWNLOAD.findall(text)]:
        if not re.match(r"[a-z]+:", target):
            yield target


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def anchors(page: Path) -> frozenset[str]:
    """The names of a page's headings in links, and its labels."""
    text = _FENCED.sub("", _text(page))
    titles = re.findall(r"^#{1,3} (.*)$", text, re.MULTILINE)
    slugs = [re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", t.strip().lower())) for t in titles]
    return frozenset([*(s.replace(" ", "-") for s in slugs), *re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE)])


def broken(page: Path) -> list[str]:
    found = []
    for target in links(page):
        path, _, anchor = target.partition("#")
        other = (page.parent / path).resolve() if path else page
        if not other.exists() or (anchor and other.suffix == ".md" and anchor not in anchors(other)):
            found.append(target)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    assert broken(page) == []


def test_pages_that_code_names_exist() -> None:
    named = {(str(p.relative_to(ROOT)), name) for p in CODE for name in _IN_CODE.findall(_text(p))}
    assert len(named) > 20
    assert sorted(pair for pair in named if not (ROOT / pair[1]).exists()) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One *two*\n\n[a](#one-two) [b](#two) [](other.md) `[c](code.md)` [](http://a.org) {download}`page.md`\n"
    )
    assert broken(page) == ["#two", "other.md"]
