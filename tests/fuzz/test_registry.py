"""Targets by name."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from verified_tir.extras import install
from verified_tir.fuzz.registry import TARGETS, BrokenTarget, MissingModule, UnknownTarget, load


@pytest.mark.parametrize("name", TARGETS)
def test_every_target_that_is_listed_can_be_loaded(name: str) -> None:
    if name == "tvm" and importlib.util.find_spec("tvm") is None:
        with pytest.raises(MissingModule, match=re.escape(install("tvm"))):
            load(name)
        return
    target = load(name)
    assert target.name == name and target.summary and "\n" not in target.summary
    universe: Sequence[tuple[str, str]] = target.universe()
    assert len(universe) == len(set(universe)) > 0


def test_a_module_that_is_missing_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "needs no_such_module, not installed here: python -m pip install no_such_module"
    with pytest.raises(MissingModule, match=said):
        load("tests.fuzz.toys:NEEDY")
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "hypothesis" else find(name, *a))
    with pytest.raises(MissingModule, match=re.escape(install("testing"))):
        load("kernel")


def test_targets_of_a_source_checkout_say_so_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another package may be called ``tests``; targets of other modules do not mind."""
    find, away = importlib.util.find_spec, "tests.fuzz.targets.kernel"
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == away else find(name, *a))
    said = "^kernel needs a source checkout of verified_tir: run vtir in the folder of one$"
    with pytest.raises(MissingModule, match=said) as missing:
        load("kernel")
    assert missing.value.modules == (away,)
    assert load("tests.fuzz.toys:FINE").name == "fine"


def test_what_is_no_target_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("kernels", "kernel:", ":TARGET", ""):
        with pytest.raises(UnknownTarget, match="there are kernel, codegen, validator"):
            load(name)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "vtir_target_a.py").write_text("import nothing_of_this_name\n")
    (tmp_path / "vtir_target_b.py").write_text("1 // 0\n")
    for name, reason in (
        ("no_such_package.x:T", "there is no module no_such_package"),
        ("vtir_target_a:T", "cannot be imported: No module named 'nothing_of_this_name'"),
        ("vtir_target_b:T", "cannot be imported: ZeroDivisionError"),
        ("tests.fuzz.toys:NOTHING", "has no NOTHING"),
    ):
        with pytest.raises(BrokenTarget, match=reason):
            load(name)
    assert "vtir_target_a" not in sys.modules
