"""``vtir mutate``: what it lists, shows and refuses; real mutants, killed by the tests that were written for them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer

from verified_tir.cli.mutate import MISTAKE, OK, Options, run, seconds
from verified_tir.mutation.engine import Engine
from verified_tir.mutation.listing import select
from verified_tir.mutation.sources import NotACheckout, checkout

ROOT = checkout()


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(Options(("erase",), ("obligations",), list=True)) == OK
    assert capsys.readouterr().out.splitlines() == [
        "rules.erase:Erase.rewrite:drop-question:1  none of the questions is asked",
        "rules.erase:Erase._no_op:drop-question:1  "
        '`yield Question("no-op", claim, run.context, (*a.given, a.value.defi…` is not asked',
        "rules.erase:Erase._dead:drop-question:1  "
        '`yield from dead(after, stores, later, self.path, "before", outlived…` is not asked',
        "3 mutants",
    ]
    assert run(Options(("erase",), ("obligations",), list=True, json=True)) == OK
    assert [m["effect"] for m in json.loads(capsys.readouterr().out)] == ["weaker", "weaker", "weaker"]


def test_show(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(Options(show="rules.erase:Erase._dead:drop-question:1")) == OK
    shown = capsys.readouterr().out
    assert "--- verified_tir/kernel/rules/erase.py\n+++ verified_tir/kernel/rules/erase.py\n" in shown
    assert "-        yield from dead(after" in shown and "+        (yield from ())\n" in shown


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (Options(("ordre",)), "no rule or mutated file is called ordre"),
        (Options(("reorder",), ("obligation",)), "no operator is called obligation"),
        (Options(("reorder",), only="xyzzy"), "no mutant is called xyzzy"),
        (Options(("reorder",), tests=("tests/nothing",)), "tests/nothing is no file or folder of tests"),
    ],
)
def test_mistakes(options: Options, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(options) == MISTAKE
    assert said in capsys.readouterr().err


def test_a_package_without_tests_is_no_checkout(tmp_path: Path) -> None:
    with pytest.raises(NotACheckout, match="clone the repository"):
        checkout(tmp_path)


def test_budgets() -> None:
    assert [seconds(t) for t in ("90", "60s", "2m", "1.5h")] == [90, 60, 120, 5400]
    for text in ("soon", "0s", "-1"):
        with pytest.raises(typer.BadParameter):
            seconds(text)


@pytest.mark.nightly
def test_real_mutants_are_killed_by_the_tests_of_their_rules(tmp_path: Path) -> None:
    wanted = {
        "rules.reorder:_Work.texts:shared-binder:1": "test_reorder.py",
        "rules.reorder:_Work.questions:drop-question:4": "test_reorder.py",
    }
    mutants = [m for m in select(ROOT, ["reorder"]) if m.id in wanted]
    tests = ("tests/kernel/rules/test_reorder.py",)
    results = Engine(ROOT, tmp_path, tests=tests).run(mutants)
    assert {r.id: (r.status, r.by.partition("::")[0].rpartition("/")[2]) for r in results} == {
        name: ("killed", file) for name, file in wanted.items()
    }
