"""Without TVM the package says what to install."""

from __future__ import annotations

import subprocess
import sys

import pytest

from verified_tir.extras import install

WITHOUT = """
import sys
sys.modules["tvm"] = None
try:
    import verified_tir.interop.tvm
except ImportError as problem:
    print(problem)
"""


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_the_extra_is_named() -> None:
    message = python(WITHOUT)
    assert message.startswith("verified_tir.interop.tvm needs TVM 0.27, which could not be imported (")
    assert message.endswith(f"{install('tvm')}\n")


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["verified_tir.interop", "verified_tir.validate"])
def test_nothing_else_imports_it(name: str) -> None:
    assert python(f"import sys, {name}; print('tvm' in sys.modules)") == "False\n"
