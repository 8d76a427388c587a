"""Pages for users import what is public, which is what docs/api.md lists, and nothing else."""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, blocks
from tests.docs.test_pages import EVERY

DOCS = ROOT / "docs"
ABOUT_INTERNALS = ("architecture.md", "how-a-proof-is-found.md", "intrinsics.md", "rules/", "contributing/")
FOR_USERS = [p for p in EVERY if not str(p.relative_to(DOCS) if DOCS in p.parents else p).startswith(ABOUT_INTERNALS)]
NAMESPACES = {"verified_tir", "verified_tir.te"}
"""Modules that are imported whole."""


def listed() -> set[str]:
    """The names that the page of the interface has: documented, or named at the beginning of a line."""
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    found = re.findall(r"^(?:\.\. auto\w+:: |`)(verified_tir[\w.]+)`?$", text, re.MULTILINE)
    return {*found, "verified_tir.script.tir", "verified_tir.script.ir"}


def imported(page: Path) -> Iterator[str]:
    """The names of this package that the Python blocks of a page import."""
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.language != "python":
            continue
        for node in ast.walk(ast.parse(block.text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "verified_tir":
                yield from (f"{node.module}.{a.name}" for a in node.names)
            elif isinstance(node, ast.Import):
                yield from (a.name for a in node.names if a.name.partition(".")[0] == "verified_tir")


@pytest.mark.parametrize("page", FOR_USERS, ids=lambda p: str(p.relative_to(ROOT)))
def test_pages_for_users_import_public_names_only(page: Path) -> None:
    assert {name for name in imported(page) if name not in NAMESPACES} <= listed()


def test_the_pages_import_something() -> None:
    assert "verified_tir.Schedule" in set(imported(DOCS / "start" / "first-schedule.md"))
    assert len(listed()) > 100


def test_listed_names_exist() -> None:
    for name in listed():
        module, _, attribute = name.rpartition(".")
        if module != "verified_tir.interop.tvm" or importlib.util.find_spec("tvm"):
            found = getattr(importlib.import_module(module), attribute, None) or importlib.import_module(name)
            assert found is not None, name
