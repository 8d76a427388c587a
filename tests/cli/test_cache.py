"""``vtir cache`` and ``vtir verify --no-cache``: what is kept, what is not, and what the second run asks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.files import GOOD, REFUSED, invoke, verify, vtir, write


@pytest.fixture
def caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VTIR_CACHE_DIR", str(tmp_path / "caches"))
    monkeypatch.delenv("VTIR_VERDICT_CACHE")
    return tmp_path / "caches"


def plain(out: str) -> str:
    """Without times, and without the method of a proof."""
    return re.sub(r"(\d[\d.]* ?[mµ]?s\b| +|cached|z3)", " ", out)


def test_the_second_run_says_the_same(caches: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write(tmp_path / "s", good=GOOD, refused=REFUSED)
    runs = [verify(capsys, folder, verbose=True) for _ in range(2)]
    without = verify(capsys, folder, verbose=True, cache=False)
    assert runs[0][0] == runs[1][0] == without[0] == 1
    assert plain(runs[0][1]) == plain(runs[1][1]) == plain(without[1])
    assert " z3" in runs[0][1] and " z3" in without[1] and " z3" not in runs[1][1]


def test_no_cache_keeps_nothing(caches: Path, tmp_path: Path) -> None:
    write(tmp_path, good=GOOD)
    assert invoke("verify", "--no-cache", "good.py", cwd=tmp_path).returncode == 0
    assert not (caches / "verdicts").exists()
    assert invoke("verify", "good.py", cwd=tmp_path).returncode == 0
    assert list((caches / "verdicts").glob("*/*.verdict"))


def test_what_there_is_and_how_to_be_rid_of_it(caches: Path, tmp_path: Path) -> None:
    write(tmp_path, good=GOOD)
    empty = invoke("cache", cwd=tmp_path)
    assert empty.returncode == 0 and "verdicts:    0 queries, 0.0 MB\n" in empty.stdout
    assert invoke("run", "good.py:good", cwd=tmp_path).returncode == 0
    shown = invoke("cache", cwd=tmp_path).stdout
    count = re.search(r"verdicts: +(\d+) queries", shown)
    assert count is not None and int(count[1]) == len(list((caches / "verdicts").glob("*/*.verdict"))) > 0
    assert f"folder:      {caches}\n" in shown and "object code: 1 programs" in shown
    (caches / "mine.txt").write_text("of another program")
    cleared = invoke("cache", "--clear", cwd=tmp_path)
    assert cleared.stdout == f"removed: object code of 1 programs, {count[1]} verdicts\n"
    assert [p.name for p in caches.iterdir()] == ["mine.txt"]
    assert invoke("cache", "--clear", cwd=tmp_path).stdout == "removed: object code of 0 programs, 0 verdicts\n"


def test_that_it_is_off_is_said(tmp_path: Path) -> None:
    shown = vtir("cache", cwd=tmp_path, VTIR_CACHE_DIR=str(tmp_path))
    assert shown.returncode == 0 and "(VTIR_VERDICT_CACHE is off: none are read or kept)" in shown.stdout


def test_without_a_home(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from verified_tir.cli import cache

    monkeypatch.setattr(cache, "cache_folder", lambda: None)
    assert cache.run(clear=False) == 2 and "VTIR_CACHE_DIR" in capsys.readouterr().err
