"""What surrounds the package: its description on an index, hooks, the files about the project, examples of settings."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.pages import blocks
from verified_tir import __version__
from verified_tir.cli.settings import project_settings

ROOT = Path(__file__).resolve().parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
GUIDE = ROOT / "docs" / "how-to" / "continuous-integration.md"


def links(name: str) -> list[str]:
    """The targets of the links of a page, also of pictures."""
    return re.findall(r"\]\(([^)]*)\)", (ROOT / name).read_text(encoding="utf-8"))


def test_the_description_has_no_link_that_an_index_cannot_follow() -> None:
    assert PROJECT["readme"] == "PACKAGE.md"
    assert [link for link in links("PACKAGE.md") if not link.startswith("https://")] == []


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"])
def test_links_to_files_lead_somewhere(name: str) -> None:
    inner = [link for link in links(name) if "://" not in link]
    assert [link for link in inner if not (ROOT / link.partition("#")[0]).exists()] == []


def test_versions_agree() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert PROJECT["version"] == citation["version"] == __version__
    assert f"\n## {__version__}\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    (author,) = citation["authors"]
    assert PROJECT["authors"] == [author]


def test_every_extra_is_described() -> None:
    text = (ROOT / "PACKAGE.md").read_text(encoding="utf-8")
    assert [e for e in PROJECT["optional-dependencies"] if f"`{e}`" not in text] == ["graph", "docs", "dev"]


def test_the_hooks() -> None:
    """The hook that others install, and the one that the guide shows for a local installation."""
    (ours,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert (ours["id"], ours["entry"], ours["language"]) == ("vtir-verify", "vtir verify", "python")
    (shown,) = (h for page in workflows() for repo in page.get("repos", ()) for h in repo["hooks"])
    common = ("id", "name", "entry", "files", "pass_filenames")
    assert {k: shown[k] for k in common} == {k: ours[k] for k in common}


def workflows() -> list[Any]:
    """The YAML of the guide."""
    found = [yaml.safe_load(b.text) for b in blocks(GUIDE.read_text(encoding="utf-8")) if b.language == "yaml"]
    return [page for page in found if isinstance(page, dict)]


def test_the_workflows_of_the_guide_use_formats_that_exist() -> None:
    from verified_tir.report.formats import FORMATS

    assert len(workflows()) == 3
    used = re.findall(r"--format (\w+)", GUIDE.read_text(encoding="utf-8"))
    assert set(used) == {"github", "sarif", "junit"} <= set(FORMATS)


def test_the_settings_of_the_guide_are_settings(tmp_path: Path) -> None:
    (table,) = (b.text for b in blocks(GUIDE.read_text(encoding="utf-8")) if b.language == "toml")
    (tmp_path / "pyproject.toml").write_text(table)
    found = project_settings(tmp_path)
    assert found.paths == (Path("schedules"), Path("kernels/gemm.py"))
    assert tmp_path / "schedules" / "drafts" in found.exclude
    assert tmp_path / "schedules" / "gemm_old.py" in found.exclude
    assert tmp_path / "schedules" / "gemm.py" not in found.exclude
    assert (found.budget, found.validate, found.most_operations, found.format) == (2000000, True, 200000, "text")


def test_the_container_is_built_from_all_that_the_package_needs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    copied = " ".join(line for line in (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines() if "COPY" in line)
    assert set(copied.split()) >= {"pyproject.toml", "verified_tir", project["readme"], *project["license-files"]}
