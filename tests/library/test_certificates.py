"""``proofs/library``: certificates of kernels are those that are made now, and are checked."""

from __future__ import annotations

import json
from pathlib import Path
from runpy import run_path

import pytest

from verified_tir.certificate.check import check
from verified_tir.certificate.store import MANIFEST
from verified_tir.logic.recheck import version

PROOFS = Path(__file__).resolve().parents[2] / "proofs"
KEPT = PROOFS / "library"


def names(folder: Path) -> dict[str, str]:
    """The hashes of the certificates of a folder, by name."""
    listed: dict[str, str] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["certificates"]
    return listed


def test_there_is_one_of_each_kernel_that_is_listed() -> None:
    assert list(names(KEPT)) == sorted(run_path(str(PROOFS / "library.py"))["KERNELS"])


@pytest.mark.nightly
def test_they_are_those_of_the_library(tmp_path: Path) -> None:
    """If not: ``make proofs``."""
    run_path(str(PROOFS / "library.py"))["main"](tmp_path)
    assert sorted(names(tmp_path)) == sorted(names(KEPT))
    for name in names(KEPT):
        now, then = (json.loads((f / f"{name}.json").read_text(encoding="utf-8")) for f in (tmp_path, KEPT))
        assert now["after"] == then["after"] and now["theorem"] == then["theorem"], "run make proofs"
        if then["tool"]["z3"] == version("z3"):
            assert names(tmp_path) == names(KEPT), "run make proofs"


@pytest.mark.nightly
def test_they_are_checked() -> None:
    done = check(KEPT, ("z3",))
    assert not done.all_findings and done.exit_code == 0
