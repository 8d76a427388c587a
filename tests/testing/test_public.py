"""What ``verified_tir.testing`` offers, and what it says where Hypothesis is missing."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import verified_tir.testing as testing
from verified_tir.extras import missing

API = Path(__file__).resolve().parents[2] / "docs" / "api.md"


@pytest.mark.parametrize("name", testing.__all__)
def test_every_public_name_can_be_imported_and_is_described(name: str) -> None:
    value = getattr(testing, name)
    assert value is not None
    if inspect.isclass(value) or inspect.isfunction(value):
        assert value.__doc__


def test_names_are_not_repeated_and_what_is_documented_exists() -> None:
    assert len(testing.__all__) == len(set(testing.__all__))
    documented = re.findall(r"^\.\. auto\w+:: verified_tir\.testing\.(\w+)$", API.read_text("utf-8"), re.MULTILINE)
    assert {"prim_funcs", "arguments", "index_maps"} <= set(documented) <= set(testing.__all__)


def test_there_is_no_other_name() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = testing.nonsense


def test_without_hypothesis_the_extra_is_named() -> None:
    code = """
import sys
sys.modules["hypothesis"] = None
try:
    import verified_tir.testing
except ImportError as missing:
    print(missing)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert said == missing("verified_tir.testing", "testing")
