"""The whole text of a dozen programs, letter for letter; and that it reads back as the same program."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.ir.script.texts import PROGRAMS
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.script import parse, script


@pytest.mark.parametrize("name", PROGRAMS)
def test_golden(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"{name}.txt", script(parse(PROGRAMS[name], f"{name}.py")))


@pytest.mark.parametrize("name", PROGRAMS)
def test_printed_text_reads_back(name: str) -> None:
    module = parse(PROGRAMS[name])
    text = script(module)
    again = parse(text)
    assert structural_equal(module, again)
    assert script(again) == text


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_function_reads_back_alone(name: str) -> None:
    for key, func in parse(PROGRAMS[name]).functions:
        text = script(func)
        again = parse(text)[key]
        assert structural_equal(func, again)
        assert script(again) == text
