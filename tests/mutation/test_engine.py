"""The engine on a small package of its own: who is killed by which test, who survives, and what is kept."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.mutation import selection
from tests.mutation.engine import Engine
from tests.mutation.mutant import Mutant
from tests.mutation.operators import mutants
from tests.mutation.results import Result
from tests.mutation.selection import COUNTS, may_decide
from tests.mutation.sources import Source
from tests.mutation.worker import _decides
from verified_tir.kernel.theorem import licensed

RULE = """
from functools import lru_cache

LIMIT = 10


def fits(low, high):
    if low > high or low < 0:
        return "empty" if low > high else "negative"
    return None


@lru_cache
def doubled(n):
    while n < 2 and n > 0:
        n += n
    return n


class Rule:
    @property
    def top(self):
        return LIMIT - 1

    def accepts(self, low, high):
        return fits(low, high) is None and high <= self.top
"""
TESTS = """
from toy.rule import Rule, doubled, fits


def test_accepts():
    assert Rule().accepts(2, 9)


def test_refuses():
    assert not Rule().accepts(3, 2)
    assert not Rule().accepts(3, 10)


def test_doubled():
    assert doubled(1) == 2


def test_not_of_this():
    assert True
"""
FILE = "toy/rule.py"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "toy").mkdir()
    (folder / "toy" / "__init__.py").write_text("")
    (folder / FILE).write_text(RULE)
    (folder / "tests").mkdir()
    (folder / "tests" / "test_rule.py").write_text(TESTS)
    (folder / "pyproject.toml").write_text("")
    return folder


def engine(root: Path, said: list[dict[str, Any]]) -> Engine:
    return Engine(
        root, root / "state", budget=20, tests=("tests/test_rule.py",), package="toy", fine=(FILE,), slack=1.5,
        report=said.append,
    )  # fmt: skip


def changed(source: Source, before: str, after: str, function: str = "Rule.accepts") -> Mutant:
    """The function with another text at one place."""
    within = source.function(function)
    start = source.data.index(before.encode(), within.start, within.end)
    end = start + len(before)
    words = f"`{before}` is `{after}`"
    name = f"toy:{function}:{after}"
    return Mutant(name, FILE, function, "toy", "weaker", words, source.line_of(start), start, end, after)


def planted(root: Path) -> list[Mutant]:
    source = Source.read(root, FILE)
    return [
        changed(source, "high <= self.top", "True"),
        changed(source, "LIMIT - 1", "LIMIT", "Rule.top"),
        changed(source, "n += n", "n += 0", "doubled"),
        changed(source, " or low < 0", "", "fits"),
        changed(source, '"negative"', '"below"', "fits"),
        changed(source, "n < 2", "n < 3", "doubled"),
    ]


@pytest.fixture(scope="module")
def first(root: Path) -> tuple[list[Result], list[dict[str, Any]]]:
    said: list[dict[str, Any]] = []
    return engine(root, said).run(planted(root)), said


@pytest.mark.nightly
def test_each_mutant_is_killed_by_the_test_that_sees_it(first: tuple[list[Result], list[dict[str, Any]]]) -> None:
    outcome = [(r.status, r.by.rpartition("::")[2]) for r in first[0]]
    assert outcome == [
        ("killed", "test_refuses"),
        ("killed", "test_refuses"),  # below a property
        ("timeout", "test_doubled"),  # below a cache; never ends
        ("survived", ""),
        ("survived", ""),
        ("killed", "test_doubled"),
    ]


@pytest.mark.nightly
def test_only_tests_that_reach_the_place_are_run(first: tuple[list[Result], list[dict[str, Any]]]) -> None:
    survivor = first[0][3]
    assert (survivor.ran, survivor.of) == (2, 2)


@pytest.fixture(scope="module")
def some(root: Path) -> tuple[list[Mutant], list[Result]]:
    """One that is killed and one that survives: of those in ``first`` one never ends."""
    mutants = planted(root)[::3]
    return mutants, engine(root, []).run(mutants)


def test_what_is_known_is_not_run_again(root: Path, some: tuple[list[Mutant], list[Result]]) -> None:
    mutants, results = some
    assert [r.status for r in results] == ["killed", "survived"]
    said: list[dict[str, Any]] = []
    assert engine(root, said).run(mutants) == results
    assert said == []


@pytest.mark.nightly
def test_a_changed_test_file_is_looked_at_again(root: Path, first: tuple[list[Result], list[dict[str, Any]]]) -> None:
    path = root / "tests" / "test_rule.py"
    path.write_text(TESTS + "\n\ndef test_negative():\n    assert not Rule().accepts(-1, 2)\n")
    try:
        said: list[dict[str, Any]] = []
        results = engine(root, said).run(planted(root)[3:4])
        assert [(r.status, r.by.rpartition("::")[2]) for r in results] == [("killed", "test_negative")]
        assert [e["event"] for e in said if e["event"] != "collected"] == ["recorded", "done"]
    finally:
        path.write_text(TESTS)


@pytest.mark.nightly
def test_a_test_that_fails_anyway_kills_nobody(root: Path) -> None:
    """It was not failing when it was recorded: the engine looks again before it believes a kill."""
    path, flag = root / "tests" / "test_moody.py", root / "flag"
    path.write_text(
        "from pathlib import Path\nfrom toy.rule import fits\n\n\ndef test_moody():\n"
        f"    assert fits(1, 2) is None and not Path({str(flag)!r}).exists()\n"
    )
    said: list[dict[str, Any]] = []
    moody = engine(root, said)
    moody.tests = ("tests/test_moody.py",)
    moody.record()
    flag.write_text("")
    results = moody.run(planted(root)[3:4])
    assert [(r.status, r.of) for r in results] == [("survived", 0)]
    assert {"event": "unusable", "test": "tests/test_moody.py::test_moody"} in said


@pytest.mark.nightly
def test_what_a_mutant_compiles_is_not_kept(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code is kept by the sources on disk, which are the same for all mutants."""
    monkeypatch.setenv("VTIR_CACHE_DIR", str(tmp_path))
    (root / "tests" / "test_kept.py").write_text(
        "import os\nfrom pathlib import Path\nfrom toy.rule import fits\n\n\ndef test_kept():\n"
        "    kept = Path(os.environ['VTIR_CACHE_DIR']) / 'kept'\n"
        "    if not kept.exists():\n        kept.write_text(fits(-1, 2))\n    assert kept.read_text() == 'negative'\n"
    )
    keeping = engine(root, [])
    keeping.tests = ("tests/test_kept.py",)
    results = keeping.run(planted(root)[4:5])
    assert [(r.status, r.by.rpartition("::")[2]) for r in results] == [("killed", "test_kept")]


@pytest.mark.nightly
def test_the_operators_mutants_of_the_toy(root: Path) -> None:
    """Those survive that no test of the toy looks at."""
    found = [m for m in mutants(Source.read(root, FILE)) if m.function in ("fits", "Rule.accepts")]
    results = engine(root, []).run(found)
    survived = {m.words for m, r in zip(found, results, strict=True) if not r.killed}
    assert survived == {
        "`low > high or low < 0` without the operand `low < 0` of `or`",
        "`<=` in `low < 0`",
        "`>=` in `low > high`",
        "1 for 0",
        'always the first of `"empty" if low > high else "negative"`',
        'always the other of `"empty" if low > high else "negative"`',
    }


@pytest.mark.usefixtures("some")
def test_results_are_lines_of_json(root: Path) -> None:
    lines = (root / "state" / "results.jsonl").read_text().splitlines()
    assert {"id", "key", "status", "by", "how", "seconds", "ran", "of"} == set(json.loads(lines[0]))


def _asks(theorem: Any) -> Any:
    return theorem.derivation


def test_a_test_decides_that_calls_what_looks_at_obligations() -> None:
    """Of a test, and of its helpers, the names count; not those of the kernel's functions that it calls."""

    def kernel(theorem: Any) -> bool:
        return isinstance(licensed(theorem, theorem, theorem), tuple)

    def helper(theorem: Any) -> bool:
        return bool(_asks(theorem))

    assert not COUNTS.isdisjoint(licensed.__code__.co_names)
    assert _decides(cast(pytest.Item, SimpleNamespace(function=kernel)))
    assert not _decides(cast(pytest.Item, SimpleNamespace(function=helper)))


def test_certificates_decide_about_certificates_alone() -> None:
    """Any change of the kernel changes what is written; of what is written, the text is what counts."""
    test = "tests/certificate/test_check.py::test_x"
    assert may_decide(test, "verified_tir/certificate/check.py") and may_decide(test, "verified_tir/logic/smtlib.py")
    assert not may_decide(test, "verified_tir/kernel/rules/reorder.py")
    assert may_decide("tests/kernel/test_calls.py::test_x", "verified_tir/kernel/calls.py")
    assert _decides(cast(pytest.Item, SimpleNamespace(function=_asks, nodeid=test)))
    root = Path(__file__).resolve().parents[2]
    assert "tests/certificate/test_check.py" in selection.test_files(root, everything=True)
    assert not [t for t in selection.test_files(root, everything=False) if "certificate" in t]
