"""Shell completion."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.files import vtir


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("words", "offered", "not_offered"),
    [
        ("vtir ver", "verify", "lower"),
        ("vtir verify --form", "--format", "--json"),
        ("vtir verify --format s", "sarif", "text"),
    ],
)
def test_bash(words: str, offered: str, not_offered: str, tmp_path: Path) -> None:
    count = str(len(words.split()) - 1)
    done = vtir(cwd=tmp_path, _VTIR_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=count)
    found = done.stdout.split()
    assert offered in found
    assert not_offered not in found


def test_the_script_that_is_installed(tmp_path: Path) -> None:
    done = vtir("--show-completion", "bash", cwd=tmp_path, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert done.returncode == 0
    assert "complete -o default -F _vtir_completion vtir" in done.stdout
