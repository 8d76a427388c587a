"""docs/findings.md says what is so, and every file in tests/regressions stands alone."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "findings.md"
FOLDER = ROOT / "tests" / "regressions"
FILES = sorted(FOLDER.glob("*.py"))
CAMPAIGNS = ("tests.fuzz.onnx_models.", "tests.fuzz.targets.", "tests.parts.", "tests.rules.")
OTHERS = {"ml_dtypes", "pytest", "numpy", "hypothesis", "verified_tir"}
FIXTURES = {"tmp_path", "monkeypatch", "capsys", "recwarn", "caplog", "request"}


@dataclass(frozen=True)
class Finding:
    """One entry of the page."""

    part: str
    title: str
    found: str
    commits: tuple[str, ...]
    also: tuple[str, ...]
    tests: tuple[str, ...]


def entries(text: str) -> list[Finding]:
    """The entries of a page: headings of the third level below those of the second."""
    found = []
    for section in text.split("\n## ")[1:]:
        part, *rest = section.split("\n### ")
        for entry in rest:
            lines = " ".join(entry.split("\n"))
            by, fixed = re.findall(r"- \*found by\* ([^;]*); \*fixed in\* ((?:`\w+`(?:, )?)+)", lines)[0]
            (also,) = re.findall(r"- \*also caught by\* (.*?) - \*kept by\*", lines)
            kept = lines.split("- *kept by* ")[1]
            nets = [n.partition(" (")[0] for n in also.partition(";")[0].split(", ")]
            found.append(
                Finding(
                    part.split("\n")[0], entry.split("\n")[0], by, tuple(re.findall(r"`(\w+)`", fixed)),
                    tuple(n for n in nets if n != "none"), tuple(re.findall(r"`([^`]+)`", kept)),
                )
            )  # fmt: skip
    return found


FINDINGS = entries(PAGE.read_text(encoding="utf-8"))


@cache
def names_in(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return frozenset(n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name.startswith("test_"))


# ------------------------------------------------------------------------------------------------------- the page


@pytest.mark.nightly
def test_every_finding_is_kept_by_a_test_that_exists() -> None:
    assert len(FINDINGS) >= 100
    assert len({f.title for f in FINDINGS}) == len(FINDINGS)
    for finding in FINDINGS:
        assert finding.tests, finding.title
        for test in finding.tests:
            file, _, name = test.partition("::")
            assert name in names_in(file), f"{finding.title}: there is no {test}"


def test_nets_are_those_that_the_page_explains() -> None:
    nets = set(re.findall(r"^- \*\*([\w ]+)\*\*: ", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    for finding in FINDINGS:
        assert {finding.found, *finding.also} <= nets, finding.title
        assert finding.found not in finding.also, finding.title


def tables() -> list[list[list[str]]]:
    """The cells of each table of the page, its heading first, the line below that left out."""
    found: list[list[list[str]]] = []
    inside = False
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("|"):
            cells = [c.strip() for c in line.strip("|").split("|")]
            if not inside:
                found.append([])
            if set("".join(cells)) != {"-"}:
                found[-1].append(cells)
        inside = line.startswith("|")
    return found


def test_the_numbers_are_those_of_the_entries() -> None:
    parts, nets = tables()
    heads = dict.fromkeys(f.part for f in FINDINGS)
    columns = parts[0][1:-1]
    rows = [(row[0], [int(c or 0) for c in row[1:]]) for row in parts[1:]]
    assert len(rows) == len(heads) + 1
    for (_, numbers), head in zip(rows, heads, strict=False):
        count = Counter(f.found for f in FINDINGS if f.part == head)
        assert numbers == [*(count[n] for n in columns), count.total()], head
    whole = Counter(f.found for f in FINDINGS)
    assert rows[-1] == ("all", [*(whole[n] for n in columns), len(FINDINGS)])
    assert set(columns) == set(whole)
    for name, *counts in nets[1:]:
        alone = sum(f.found == name and not f.also for f in FINDINGS)
        assert [int(n) for n in counts] == [whole[name], sum(name in f.also for f in FINDINGS), alone], name
    assert {name for name, *_ in nets[1:]} == {n for f in FINDINGS for n in (f.found, *f.also)}


def test_every_file_of_the_folder_is_told_of() -> None:
    told = {t.partition("::")[0] for f in FINDINGS for t in f.tests}
    files = {f.relative_to(ROOT).as_posix() for f in FILES if f.name.startswith("test_")}
    assert files <= told, "docs/findings.md has no entry about " + ", ".join(sorted(files - told))


# ----------------------------------------------------------------------------------------------------- the folder


def problems(source: str) -> list[str]:
    """Why a file does not stand alone."""
    found = []
    tree = ast.parse(source)
    if not ast.get_docstring(tree):
        found.append("it does not say what was found")
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                modules = [n.name for n in names]
            case ast.ImportFrom(module=module, level=level, names=names):
                modules = [module or ""] if not level else ["."]
                if any(n.name.startswith("_") for n in names) and module != "__future__":
                    found.append(f"it imports what is private: {module}")
            case ast.FunctionDef(name=name, args=args, decorator_list=marks) if name.startswith("test_"):
                modules = []
                given = {a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)}
                named = " ".join(ast.unparse(m) for m in marks)
                if not named.startswith(("given", "@given")) and "given(" not in named:
                    found += [f"{name} takes the fixture {g}" for g in sorted(given - FIXTURES) if g not in named]
            case _:
                continue
        for name in modules:
            first = name.partition(".")[0]
            known = first in OTHERS or first in sys.stdlib_module_names or name.startswith(CAMPAIGNS)
            if not known:
                found.append(f"it imports {name or 'something'}")
            if any(part.startswith("_") for part in name.split(".")) and first != "__future__":
                found.append(f"it imports what is private: {name}")
    return found


@pytest.mark.parametrize("file", [f for f in FILES if f.name != "__init__.py"], ids=lambda f: f.stem)
def test_a_regression_test_stands_alone(file: Path) -> None:
    assert re.fullmatch(r"test_[a-z0-9_]+\.py", file.name) and not re.search(
        r"_\d+\.py$", file.name.replace("uint64", "")
    )
    assert problems(file.read_text(encoding="utf-8")) == []


def test_what_does_not_stand_alone_is_noticed() -> None:
    assert problems('"""A."""\nfrom tests.kernel import programs\n') == ["it imports tests.kernel"]
    assert problems('"""A."""\nfrom . import programs\n') == ["it imports ."]
    assert problems('"""A."""\nimport scipy\n') == ["it imports scipy"]
    assert problems('"""A."""\nfrom verified_tir.x import _y\n') == ["it imports what is private: verified_tir.x"]
    assert problems('"""A."""\ndef test_x(golden): ...\n') == ["test_x takes the fixture golden"]
    assert problems("import numpy\n") == ["it does not say what was found"]
    assert problems('"""A."""\nfrom tests.fuzz.targets.forged_plans import assert_found\n') == []
    assert problems('"""A."""\nimport math\nimport numpy\ndef test_x(tmp_path): ...\n') == []
