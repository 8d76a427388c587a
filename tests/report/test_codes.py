"""The table of codes: each is yielded by its example, each that is used is in it, and the page is made from it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.cli.files import invoke
from verified_tir.report.codes import GROUPS, PAGES, Page
from verified_tir.report.codes.show import as_markdown
from verified_tir.report.error_codes import code_of_exception
from verified_tir.schedule import codes
from verified_tir.schedule.advice_on_steps import ON_STEPS

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "verified_tir"
DOCUMENT = ROOT / "docs" / "errors.md"

WITHOUT_EXAMPLE = {"VT0016", "VT0017", "VT0099", "VT0806", "VT0808", "VT0809", "VT0811"}
"""Mistakes of this tool, forged certificates, and what depends on the installation; other tests have these."""


def test_titles_differ_and_groups_are_complete() -> None:
    assert len({p.title for p in PAGES.values()}) == len(PAGES)
    assert {code[:4] for code in PAGES} == set(GROUPS)
    assert all(re.fullmatch(r"VT\d{4}", code) for code in PAGES)
    assert all(p.what.endswith((".", ")")) and p.do.endswith((".", "?")) for p in PAGES.values())
    assert {p.code for p in PAGES.values() if not p.example} == WITHOUT_EXAMPLE


def test_each_code_that_is_used_has_a_page_and_the_other_way_round() -> None:
    used = {
        found
        for path in SOURCES.rglob("*.py")
        if "codes" not in path.parent.name and path.name != "commands_help.py"
        for found in re.findall(r'"(VT\d{4})"', path.read_text(encoding="utf-8"))
    }
    assert used == set(PAGES)


def test_all_obligations_have_codes() -> None:
    kernel = [*(SOURCES / "kernel").rglob("*.py"), *(SOURCES / "elaborate").rglob("*.py")]
    names = {n for path in kernel for n in re.findall(r'Question\(\s*"([\w-]+)"', path.read_text(encoding="utf-8"))}
    assert names == {*codes.OBLIGATIONS, *codes.OF_THE_PROGRAM, "safety"}
    sources = [SOURCES / "semantics" / "encode.py", SOURCES / "kernel" / "region.py"]
    kinds = {
        k for path in sources for k in re.findall(r'(?:require\(|undef=)"([^"]+)"', path.read_text(encoding="utf-8"))
    }
    assert len(kinds) > 10
    assert not [k for k in kinds if not k.endswith(tuple(codes.SAFETY))]


@pytest.mark.sample(14)
@pytest.mark.parametrize("page", [p for p in PAGES.values() if p.example and not p.is_console], ids=lambda p: p.code)
def test_examples_in_python(page: Page) -> None:
    with pytest.raises(Exception) as raised:
        exec(compile(page.example, page.code, "exec"), {})
    assert code_of_exception(raised.value) == page.code, str(raised.value)
    if hasattr(raised.value, "advice"):
        assert f"[{page.code}]" in str(raised.value).splitlines()[0]
        assert raised.value.advice or raised.value.remedy


@pytest.mark.parametrize("page", [p for p in PAGES.values() if p.is_console], ids=lambda p: p.code)
def test_examples_on_the_command_line(page: Page, tmp_path: Path) -> None:
    *before, (command, _) = re.findall(r"^\$ (.*)\n?((?:(?!\$ ).*\n?)*)", page.example, re.M)
    for shown, text in before:
        match shown.split():
            case ["cat", name]:
                (tmp_path / name).write_text(text)
            case ["vtir", *arguments]:
                assert invoke(*arguments, cwd=tmp_path).returncode == 0
            case program:
                subprocess.run(program, cwd=tmp_path, check=True)
    done = invoke(*command.split()[1:], cwd=tmp_path)
    assert done.returncode not in (0, None)
    assert f"[{page.code}]" in done.stdout + done.stderr, done.stdout + done.stderr


def test_advice_is_about_codes_that_there_are() -> None:
    assert set(ON_STEPS) <= set(PAGES)


def test_the_page_of_the_documentation(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        DOCUMENT.write_text(as_markdown(), encoding="utf-8")
    assert DOCUMENT.read_text(encoding="utf-8") == as_markdown()
