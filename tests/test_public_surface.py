"""What ``import verified_tir`` offers, and what it costs."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import verified_tir

ROOT = Path(__file__).resolve().parents[1]
API = ROOT / "docs" / "api.md"
README = ROOT / "README.md"


def test_the_public_names_are_those_that_are_documented() -> None:
    documented = re.findall(r"^\.\. auto\w+:: verified_tir\.(\w+)$", API.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(documented) == len(set(documented))
    assert sorted(documented) == sorted(verified_tir.__all__)


@pytest.mark.parametrize("name", verified_tir.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    value = getattr(verified_tir, name)
    assert value is not None
    assert name in dir(verified_tir)


def test_the_readme_lists_every_primitive() -> None:
    listed = re.search(r"^- Primitives: (.*?)\.$", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert listed is not None
    primitives = [
        name
        for part in verified_tir.Schedule.__mro__
        for name, value in vars(part).items()
        if not name.startswith("_") and callable(value) and "_do" in inspect.unwrap(value).__code__.co_names
    ]
    assert sorted(re.findall(r"`(\w+)`", listed[1])) == sorted(primitives)


def test_other_names_cannot() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = verified_tir.nonsense


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize(
    "first",
    [
        "",
        "import verified_tir.schedule.errors",
        pytest.param("from verified_tir.script import tir", marks=pytest.mark.nightly),
        pytest.param("import verified_tir.script", marks=pytest.mark.nightly),
    ],
)
def test_functions_are_not_hidden_by_subpackages_of_their_name(first: str) -> None:
    code = "from verified_tir import Schedule, schedule, script\nprint(type(schedule).__name__, type(script).__name__)"
    assert python(f"{first}\n{code}") == "function function"


HEAVY = "print(sorted({'tvm', 'sphinx', 'z3', 'cvc5', 'islpy', 'numpy', 'rich', 'typer'} & set(sys.modules)))"


def test_importing_the_package_imports_nothing_heavy() -> None:
    assert python(f"import sys, verified_tir; {HEAVY}") == "[]"


def test_the_solver_is_imported_with_the_first_question_and_tvm_never() -> None:
    code = """
import sys
from verified_tir import *
from verified_tir.script import tir as T
loaded = {"tvm", "sphinx", "z3", "cvc5"}
before = loaded & set(sys.modules)
Schedule("@T.prim_func\\ndef f(A: T.Buffer((4,))):\\n    for i in range(4):\\n        A[i] = 1.0").parallel("i")
print(sorted(before), sorted(loaded & set(sys.modules)))
"""
    assert python(code) == "[] ['z3']"
