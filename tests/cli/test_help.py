"""``vtir help``: the pages of codes."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from tests.cli.files import invoke
from verified_tir.report import text as reports
from verified_tir.report.codes import PAGES
from verified_tir.report.text import TextReport


def test_a_page(tmp_path: Path) -> None:
    done = invoke("help", "VT0406", cwd=tmp_path)
    assert done.returncode == 0
    page = PAGES["VT0406"]
    for part in (page.code, page.title, page.what, page.do, 's.reorder("j", "i")'):
        assert part in done.stdout
    assert invoke("help", "[vt0406]", cwd=tmp_path).stdout == done.stdout


def test_the_list(tmp_path: Path) -> None:
    lines = invoke("help", cwd=tmp_path).stdout.splitlines()
    assert all(f"  {p.code}  {p.title}" in lines for p in PAGES.values())
    assert lines[0] == "VT00xx  Files and commands"


def test_a_code_that_there_is_not(tmp_path: Path) -> None:
    done = invoke("help", "VT041", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("vtir: error: there is no code 'VT041'; did you mean 'VT0")
    assert invoke("help", "parallel", cwd=tmp_path).stderr == (
        "vtir: error: there is no code 'parallel'; vtir help lists them\n"
    )


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("terminal", [True, False])
def test_codes_are_links_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch, *, terminal: bool) -> None:
    monkeypatch.setattr(reports, "page_of", lambda code: f"https://example.org/errors.html#{code.lower()}")
    file = _Terminal() if terminal else io.StringIO()
    console = Console(file=file, force_terminal=terminal, color_system="standard" if terminal else None, width=100)
    TextReport(console)._block("split(i): the claim [VT0301]\nB[VT0301]", 0)
    shown = file.getvalue()
    assert ("]8;" in shown and "https://example.org/errors.html#vt0301" in shown) == terminal
    assert "split(i): the claim " in shown and "[VT0301]" in shown
