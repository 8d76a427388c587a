"""``vtir doctor``."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.files import invoke
from tests.cli.test_missing_extras import base
from verified_tir import __version__
from verified_tir.cli import doctor


def test_all_is_well(tmp_path: Path) -> None:
    done = invoke("doctor", cwd=tmp_path, VTIR_CACHE_DIR=str(tmp_path / "cache"))
    assert done.returncode == 0
    for line in (
        rf"  verified_tir  {re.escape(__version__)}, /.*verified_tir",
        r"  Python        3\.\d+\.\d+.*",
        r"  z3-solver     \d+\..*",
        r"  hypothesis +\d+\..*",
        r"  tvm +0\.27\..*",
        r"  proof         a step that is right is proved, one that is wrong is refused",
        r"  machine code  a program is compiled, and computes what it should",
        rf"  cache         {re.escape(str(tmp_path))}/cache can be written to",
        r"all is well",
    ):
        assert re.search(rf"^{line}$", done.stdout, re.MULTILINE), line


def test_json(tmp_path: Path) -> None:
    found = json.loads(invoke("doctor", "--json", cwd=tmp_path).stdout)
    assert found["ok"]
    assert {c["group"] for c in found["checks"]} == {"installed", "extra", "works"}
    assert all(c["state"] == "ok" and c["detail"] for c in found["checks"])


@pytest.mark.nightly
def test_a_base_installation_is_well_and_learns_of_the_extras(tmp_path: Path) -> None:
    done = base(tmp_path, "doctor")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^  hypothesis +missing: python -m pip install .*\[testing\]", done.stdout, re.MULTILINE)
    assert done.stdout.count("missing: ") == 11
    assert done.stdout.endswith("all is well\n")


def test_a_cache_that_cannot_be_written_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = invoke("doctor", cwd=tmp_path, VTIR_CACHE_DIR=str(tmp_path / "file" / "cache"))
    assert done.returncode == 1
    assert re.search(r"^  cache +failed: NotADirectoryError: ", done.stdout, re.MULTILINE)
    assert re.search(r"1 of \d+ checks failed\n$", done.stdout)


@pytest.mark.parametrize("json_", [False, True])
def test_what_is_broken_is_in_the_report(json_: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(doctor._BASE, "no_such_module", "no-such-module")
    monkeypatch.setattr(doctor, "_PROGRAM", doctor._PROGRAM.replace("A[i] + A[i]", "A[i]"))
    done = invoke("doctor", *(["--json"] if json_ else []), cwd=tmp_path)
    assert done.returncode == 1
    if json_:
        failed = {c["name"]: c["detail"] for c in json.loads(done.stdout)["checks"] if c["state"] == "failed"}
        assert failed["no-such-module"] == "ModuleNotFoundError: No module named 'no_such_module'"
        assert failed["machine code"].startswith("the sums are [0.0, 1.0")
    else:
        assert "failed: ModuleNotFoundError: No module named 'no_such_module'" in done.stdout
        assert re.search(r"2 of \d+ checks failed\n$", done.stdout)
