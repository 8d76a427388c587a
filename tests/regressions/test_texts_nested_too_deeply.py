"""Found by a campaign: ``vtir lower`` of a text with thousands of nested operators ended in a traceback.

Whether a file is a Python module or a program's text was asked of Python's parser, which gives up on such a text.

Finding: parser | command-crash | vtir lower
"""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from verified_tir.cli.main import app


@pytest.mark.parametrize("command", ["lower", "run"])
def test_commands_say_so(command: str, tmp_path: Path) -> None:
    text = '@T.prim_func\ndef f(A: T.Buffer((4,), "int32")):\n    A[0] = ' + "-" * 3000 + "1\n"
    (tmp_path / "case.py").write_text(text)
    done = CliRunner().invoke(app, [command, str(tmp_path / "case.py")])
    assert done.exit_code == 2 and "case.py:1:1: " in done.output and "the text is nested too deeply" in done.output
