"""Samples of tests: always the same ones, never none, and whole where that is asked for."""

from __future__ import annotations

import pytest

from tests import nightly

pytest_plugins = ["pytester"]

TESTS = """
import pytest

@pytest.mark.sample(3)
@pytest.mark.parametrize("k", range(20))
def test_some(k): ...

@pytest.mark.nightly
def test_late(): ...

@pytest.mark.parametrize("k", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_one_of_two(k): ...

def test_always(): ...
"""


def test_what_stays(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    # At its end that part of pytest collects the garbage of the whole process.
    pytester.makeini("[pytest]\naddopts = -p no:unraisableexception\nmarkers =\n    sample(count): x\n    nightly: x\n")
    items = pytester.getitems(TESTS)

    def stay(*asked: str) -> list[str]:
        out = {item.name for item in nightly.left_out(items, asked)}
        return [item.name for item in items if item.name not in out]

    monkeypatch.setattr(nightly, "WHOLE", False)
    some = stay()
    assert sum("test_some[" in name for name in some) == 3
    assert [name for name in some if "test_some" not in name] == ["test_one_of_two[1]", "test_always"]
    assert stay() == some
    file = items[0].nodeid.partition("::")[0]
    other = next(item.name for item in items if item.name not in some and "test_some" in item.name)
    assert other in stay(f"{file}::{other}")
    assert stay(f"{file}::test_some") == some
    assert "test_late" in stay(f"{file}::test_late")
    monkeypatch.setattr(nightly, "WHOLE", True)
    assert len(stay()) == len(items) == 24


def test_the_list_and_the_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nightly, "WHOLE", False)
    some = nightly.sample(range(100), 10, 1)
    assert len(some) == 10 and some == sorted(set(some)) == nightly.sample(range(100), 10, 1)
    assert nightly.sample("ab", 10, 1) == ["a", "b"]
    assert nightly.few(3, 40) == 3
    monkeypatch.setattr(nightly, "WHOLE", True)
    assert nightly.sample(range(100), 10, 1) == list(range(100))
    assert nightly.few(3, 40) == 40
