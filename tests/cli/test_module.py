"""``python -m verified_tir`` is the command."""

from __future__ import annotations

import subprocess
import sys


def test_version_and_exit_code() -> None:
    said = subprocess.run(
        [sys.executable, "-m", "verified_tir", "--version"], capture_output=True, text=True, check=False
    )
    assert said.returncode == 0 and said.stdout.startswith("vtir "), said
    wrong = subprocess.run(
        [sys.executable, "-m", "verified_tir", "no-such-command"], capture_output=True, text=True, check=False
    )
    assert wrong.returncode == 2 and "Usage: vtir" in wrong.stderr
