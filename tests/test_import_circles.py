"""Modules of the package do not import each other in circles, not even inside functions."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest

from tests.mutation.trusted import imports, module_file

ROOT = Path(__file__).resolve().parent.parent


def circles(root: Path) -> list[set[str]]:
    """The files of each circle of imports, as paths in the package; imports for types only do not count."""
    graph = nx.DiGraph()
    for file in (root / "verified_tir").rglob("*.py"):
        found = {name: other for name in imports(file) if (other := module_file(root, name)) is not None}
        for name, other in found.items():
            if other != file and not any(longer.startswith(f"{name}.") for longer in found):  # nor packages of modules
                graph.add_edge(_path(root, file), _path(root, other))
    return [found for found in nx.strongly_connected_components(graph) if len(found) > 1]


def _path(root: Path, file: Path) -> str:
    return file.relative_to(root / "verified_tir").as_posix()


@pytest.mark.nightly
def test_there_are_none() -> None:
    assert circles(ROOT) == []


def test_a_circle_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "verified_tir"
    folder.mkdir()
    for name, text in (
        ("a", "from verified_tir.b import x"),
        ("b", "def f():\n    from verified_tir import c"),
        ("c", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from verified_tir.a import y"),
    ):
        (folder / f"{name}.py").write_text(text)
    assert circles(tmp_path) == []
    (folder / "c.py").write_text("from verified_tir.a import y")
    assert circles(tmp_path) == [{"a.py", "b.py", "c.py"}]
