"""Found by a campaign: ``vtir lower`` of a text with thousands of nested operators ended in a traceback.

Whether a file is a Python module or a program's text was asked of Python's parser, which gives up on such a text.

Finding: parser | command-crash | vtir lower
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TEXT = '@T.prim_func\ndef f(A: T.Buffer((4,), "int32")):\n    A[0] = ' + "-" * 3000 + "1\n"


@pytest.mark.parametrize("command", ["lower", "run"])
def test_commands_say_so(command: str, tmp_path: Path) -> None:
    (tmp_path / "case.py").write_text(TEXT)
    main = "from verified_tir.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", main, command, "case.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    said = done.stdout + done.stderr
    assert done.returncode == 2 and "case.py:1:1: " in said and "the text is nested too deeply" in said
