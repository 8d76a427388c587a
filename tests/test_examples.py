"""Every example is proved, or refused where it says so: what ``make verify`` shows a newcomer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Verified

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
HEADER = "# from tvm.script import tirx as T"
HELPERS = {"displayed.py"}
FILES = sorted(p for p in EXAMPLES.rglob("*.py") if p.name not in HELPERS)


@pytest.fixture
def verified(verified_examples: Verified) -> dict[str, Any]:
    """What ``vtir verify`` says of each file, by its path below ``examples``."""
    return verified_examples.files


@pytest.mark.nightly
def test_all_examples_verify(verified: dict[str, Any]) -> None:
    assert {name for name, file in verified.items() if file["schedules"]} == {
        str(p.relative_to(EXAMPLES)) for p in FILES
    }
    for name, file in verified.items():
        assert file["error"] is None and file["warning"] is None, name
        for one in file["schedules"]:
            assert one["as_expected"], f"{name}: {one['name']}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(EXAMPLES)))
def test_the_programs_as_scheduled(path: Path, verified: dict[str, Any], golden: Callable[[str, str], None]) -> None:
    """Also of the schedules that are refused: as far as they came."""
    file = verified[str(path.relative_to(EXAMPLES))]
    texts = [
        f"# {one['name']}: {one['outcome']}\n{one['program'].split(HEADER)[-1].strip()}" for one in file["schedules"]
    ]
    golden("-".join(path.relative_to(EXAMPLES).with_suffix("").parts) + ".txt", "\n\n".join(texts))


@pytest.mark.parametrize("path", sorted((EXAMPLES / "rfc77").glob("*.py")), ids=lambda p: p.stem)
def test_each_refusal_on_the_way_is_confirmed(path: Path, verified: dict[str, Any]) -> None:
    """In the RFC's examples what is false came with an input on which the result differs."""
    if path.name in HELPERS:
        return
    for one in verified[str(path.relative_to(EXAMPLES))]["schedules"]:
        for refusal in one["expected_refusals"]:
            if refusal["kind"] == "refuted":
                assert refusal["replay"]["confirmed"], f"{one['name']}: {refusal['step']}"


def test_the_table_of_the_errata_adds_up() -> None:
    """docs/rfc77-errata.md counts the RFC's steps, and names the file of each section's schedules."""
    page = (ROOT / "docs" / "rfc77-errata.md").read_text(encoding="utf-8")
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("| ")]
    start = next(k for k, row in enumerate(rows) if row[0] == "section of the RFC") + 1
    end = next(k for k, row in enumerate(rows) if row[0] == "total")
    counts = [[int(c or 0) for c in row[1:6]] for row in rows[start : end + 1]]
    assert all(row[0] == sum(row[1:]) for row in counts)
    assert [sum(column) for column in zip(*counts[:-1], strict=True)] == counts[-1]
    named = {row[6].strip("`") for row in rows[start:end]}
    assert named - {"examples/row_summation.py"} | {"padded_transformations.py", "remove_assume_undef.py"} == {
        p.name for p in FILES if p.parent.name == "rfc77"
    }


def test_the_layout_keeps_a_dimension_of_one_place() -> None:
    from verified_tir import Schedule

    s = Schedule(
        """
@T.prim_func
def f(A: T.Buffer((1, 8), "float32"), B: T.Buffer((1, 8), "float32")):
    for n, c in T.grid(1, 8):
        B[n, c] = A[n, c]
"""
    )
    s.transform_layout("B", lambda n, c: [n, c // 4, c % 4])
    assert [v.name for v in s.sequential_buffer_access("B")] == ["n", "c_0", "c_1"]
