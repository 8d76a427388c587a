"""A verdict is a function of the query's text, the budget and the solver's version: nothing that was asked before, and
no order of questions, makes a difference to it, to the model or to the reason.

The queries are those that the schedules of ``examples/`` ask, and others on which a solver spends its budget.
"""

from __future__ import annotations

import importlib.util
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.logic.terms import below, minus, plus, times
from tests.nightly import few, sample
from verified_tir.logic import formula as f
from verified_tir.logic.smtlib import Script, query
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict import Proved, Refuted, Unknown, Verdict
from verified_tir.schedule.errors import ScheduleError
from verified_tir.schedule.registry import ScheduleFunction, collecting

pytestmark = [pytest.mark.slow, pytest.mark.own_store]
ROOT = Path(__file__).resolve().parents[2]


def examples() -> list[ScheduleFunction]:
    found: list[ScheduleFunction] = []
    for file in sorted((ROOT / "examples").glob("*.py")):
        spec = importlib.util.spec_from_file_location(f"determinism_{file.stem}", file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        with collecting() as made:
            spec.loader.exec_module(module)
        found += made
    return found


def refusal(made: ScheduleFunction) -> str:
    try:
        made()
    except ScheduleError as refused:
        return str(refused)
    return ""


def recorded(run: Callable[[], object]) -> list[Script]:
    """The scripts that a run asks of Z3, each once, in the order in which they first occur."""
    scripts: dict[str, Script] = {}
    ask = Solver.ask

    def noting(self: Solver, script: Script) -> Verdict:
        scripts.setdefault(script.text, script)
        return ask(self, script)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Solver, "ask", noting)
        run()
    return list(scripts.values())


@pytest.fixture(scope="module")
def asked_by_examples() -> list[Script]:
    found = recorded(lambda: [refusal(made) for made in examples()])
    assert len(found) > 200
    return found


@pytest.fixture(scope="module")
def answered(asked_by_examples: list[Script]) -> dict[str, tuple[object, ...]]:
    """What a solver answers in the order in which the examples ask."""
    return answers(Solver(), asked_by_examples)


def hard() -> list[Script]:
    """Digits of products, which take integers a while, and identities of floats, true and false."""
    i, j, n, m = (f.var(name, f.INT) for name in "ijnm")
    zero = f.integer(0)
    found = []
    for factor in (1, 3, 8):
        width = f.mul(f.integer(factor), n)
        inside = (f.between(zero, j, width), f.lt(zero, n), f.le(zero, i), f.le(i, m))
        flat = f.add(f.mul(i, width), j)
        for goal in (
            f.eq(f.floordiv(flat, width), i),
            f.eq(f.floormod(flat, width), j),
            f.lt(flat, f.mul(f.add(m, f.integer(1)), width)),
            f.lt(flat, f.mul(m, width)),
            f.ne(flat, f.integer(1001)),
            f.ne(f.mul(i, f.mul(i, i)), f.add(f.mul(n, f.mul(n, n)), f.integer(factor))),
        ):
            found.append(query(inside, goal))
    for sort in ("F16", "F32"):
        a, b, c = (f.var(name, sort) for name in "abc")
        for goal in (
            f.eq(plus(a, f.negative_zero(sort)), a),
            f.eq(plus(a, b), plus(b, a)),
            f.eq(plus(plus(a, b), c), plus(a, plus(b, c))),
            f.eq(minus(plus(a, b), b), a),
            f.implies(below(a, b), below(plus(a, c), plus(b, c))),
            f.eq(times(a, plus(b, c)), plus(times(a, b), times(a, c))),
        ):
            found.append(query((), goal))
        whole = f.fp("fp.from_int", sort, n)
        found.append(query((f.between(zero, n, f.integer(100)),), f.not_(f.fp("fp.eq", f.BOOL, whole, plus(a, a)))))
    return found


def answers(solver: Solver, scripts: list[Script]) -> dict[str, tuple[object, ...]]:
    found: dict[str, tuple[object, ...]] = {}
    for script in scripts:
        match solver.ask(script):
            case Proved():
                found[script.text] = ("proved",)
            case Refuted(model=model):
                found[script.text] = ("refuted", sorted(model.values.items()))
            case Unknown(reason=reason):
                found[script.text] = ("unknown", reason)
    return found


def shuffled(scripts: list[Script], seed: int) -> list[Script]:
    return random.Random(seed).sample(scripts, len(scripts))


@pytest.mark.nightly
def test_the_queries_of_the_examples_in_any_order(
    asked_by_examples: list[Script], answered: dict[str, tuple[object, ...]]
) -> None:
    assert {kind for kind, *_ in answered.values()} == {"proved", "refuted"}
    asked = sample(asked_by_examples, len(asked_by_examples) // 2, 1)
    for seed in range(1, 1 + few(1, 2)):
        assert answers(Solver(), shuffled(asked, seed)) == {script.text: answered[script.text] for script in asked}


@pytest.mark.nightly
@pytest.mark.sample(1)
@pytest.mark.parametrize("budget", [pytest.param(100, marks=pytest.mark.nightly), 5_000, 30_000])
def test_queries_near_the_budget_in_any_order(budget: int, asked_by_examples: list[Script]) -> None:
    scripts = hard() + asked_by_examples[::5]
    first = answers(Solver(budget), scripts)
    kinds = [kind for kind, *_ in first.values()]
    assert "unknown" in kinds
    assert budget == 100 or {"proved", "refuted"} <= set(kinds)
    assert answers(Solver(budget), shuffled(scripts, 3)) == first
    # and one at a time, each by a solver that was asked nothing else
    for script in scripts[::5]:
        assert answers(Solver(budget), [script])[script.text] == first[script.text]


@pytest.mark.nightly
def test_the_shared_context_proves_nothing_that_a_fresh_one_would_not(
    asked_by_examples: list[Script], answered: dict[str, tuple[object, ...]]
) -> None:
    """It is given a part of the budget only, so that it is the faster way to the same verdict."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("verified_tir.logic.z3_query._in_scope", lambda *_: "unknown")
        assert answers(Solver(), asked_by_examples) == answered


def test_a_refusal_reads_the_same_whatever_ran_before() -> None:
    every = [m for m in examples() if m.name != "parallel_over_the_reduction"]  # its replay takes long
    refused = [m for m in every if m.expect != "proved"]
    made = refused + sample([m for m in every if m.expect == "proved"], 5, 1)
    alone = {m.name: refusal(m) for m in made}
    assert sum(map(bool, alone.values())) >= 3
    again = {m.name: refusal(m) for m in reversed(made)}
    assert again == alone


@pytest.mark.nightly
def test_the_same_queries_in_every_process() -> None:
    """Hashes of text and addresses of objects, which order sets, differ from process to process."""
    program = (
        "import json, sys; sys.path.insert(0, '.'); from tests.logic.test_determinism import *\n"
        "made = [m for m in examples() if 'stencil' in m.file or 'padding' in m.file]\n"
        "scripts = recorded(lambda: print(json.dumps([refusal(m) for m in made])))\n"
        "print(json.dumps([s.text for s in scripts]))"
    )
    outputs = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        outputs.add(done.stdout)
    (output,) = outputs
    refusals, texts = map(json.loads, output.splitlines())
    assert any(refusals)
    assert len(texts) > 20
