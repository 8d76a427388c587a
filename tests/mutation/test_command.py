"""The command: what it lists, shows and refuses; real mutants, killed by the tests that were written for them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer

from tests.mutation.command import MISTAKE, OK, Options, run, seconds
from tests.mutation.engine import Engine
from tests.mutation.listing import select
from tests.mutation.mutant import Mutant
from tests.mutation.sources import checkout

ROOT = checkout()


RULE = "reorder"


@pytest.fixture(scope="module")
def asked() -> list[Mutant]:
    return select(ROOT, [RULE], ["obligations"])


@pytest.mark.nightly
def test_list(asked: list[Mutant], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(Options((RULE,), ("obligations",), list=True)) == OK
    assert capsys.readouterr().out.splitlines() == [*(f"{m.id}  {m.words}" for m in asked), f"{len(asked)} mutants"]
    assert run(Options((RULE,), ("obligations",), list=True, json=True)) == OK
    assert [m["id"] for m in json.loads(capsys.readouterr().out)] == [m.id for m in asked]


def test_show(asked: list[Mutant], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(Options(show=asked[0].id)) == OK
    shown = capsys.readouterr().out
    assert f"--- {asked[0].file}\n+++ {asked[0].file}\n" in shown
    assert asked[0].text in "".join(line for line in shown.splitlines() if line.startswith("+"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (Options(("ordre",)), "no rule or mutated file is called ordre"),
        (Options(("reorder",), ("obligation",)), "no operator is called obligation"),
        (Options(("reorder",), only="xyzzy"), "no mutant is called xyzzy"),
        (Options(("reorder",), tests=("tests/nothing",)), "tests/nothing is not a file or folder of tests"),
    ],
)
def test_mistakes(options: Options, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(options) == MISTAKE
    assert said in capsys.readouterr().err


def test_budgets() -> None:
    assert [seconds(t, "--budget") for t in ("90", "60s", "2m", "1.5h")] == [90, 60, 120, 5400]
    for text in ("soon", "0s", "-1"):
        with pytest.raises(typer.BadParameter):
            seconds(text, "--time")


@pytest.mark.nightly
def test_real_mutants_are_killed_by_the_tests_of_their_rules(asked: list[Mutant], tmp_path: Path) -> None:
    chosen = asked[:2]
    results = Engine(ROOT, tmp_path, tests=(f"tests/kernel/rules/test_{RULE}.py",)).run(chosen)
    assert [(r.id, r.status) for r in results] == [(m.id, "killed") for m in chosen]
