"""Forged plans: every kind is found, and a fault planted in what follows them lets one pass."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.fuzz.targets.forged_plans import Unfound, assert_found, checked
from tests.fuzz.targets.forgeries import FORGERIES, Forged
from tests.fuzz.targets.honest_plans import COUNT, honest, pool
from tests.fuzz.targets.validator_plans import Forgeries
from tests.nightly import few
from verified_tir.certificate import plan_steps
from verified_tir.fuzz.target import Disagreement, Observed


def numbers(seed: int) -> tuple[int, int, int, int]:
    rng = random.Random(seed)
    return rng.randrange(10000), rng.randrange(10000), rng.randrange(10000), rng.randrange(10000)


@pytest.mark.nightly
@pytest.mark.sample(1)
@pytest.mark.parametrize("k", range(COUNT))
def test_honest_plans_pass(k: int) -> None:
    outcome = checked(Forged.of(honest(k)), honest(k).model)
    assert outcome.findings == ()
    assert [b.name for b in outcome.believed] == (["library.f", "relu", "tanh"] if k == 3 else [])


@pytest.mark.nightly
@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", FORGERIES)
def test_each_kind_of_forgery_is_found(kind: str) -> None:
    seen = set()
    for seed in range(20):  # some numbers change nothing
        seen.add(assert_found(honest(0), [(kind, numbers(seed))], with_model=bool(seed % 2)))
        if seed >= few(1, 2) and {"found", "believed"} & seen:
            return
    pytest.fail(f"{kind} was only {seen}")


def _always(value: Any) -> Any:
    return lambda *_, **__: value


def _believed(self: Any) -> Any:
    """Constants are what they are said to be."""
    for w, c in self.plan["constants"]["after"].items():
        self.known[w] = {(c["of"], c["layout"])}
    return ()


PLANTED: dict[str, tuple[int, Any, str, Any, str]] = {
    "constants are believed": (1, plan_steps._Following, "_constants", _believed, "a constant"),
    "programs are the same": (1, plan_steps, "structural_equal", _always(True), "an operator"),
    "layouts do not matter": (0, plan_steps, "serves", _always(True), "a constant packed otherwise"),
    "operands do not matter": (4, plan_steps._Following, "_is", _always(True), "an operand"),
}  # fmt: skip


@pytest.mark.nightly
@pytest.mark.sample(1)
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_shows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, where, attribute, fault, kind = PLANTED[name]
    monkeypatch.setattr(where, attribute, fault)
    with pytest.raises(Unfound, match="forgery-passes"):
        for n in ((5, 0, 0, 10), (5, 1, 0, 10), *map(numbers, range(60))):
            assert_found(honest(model), [(kind, n)], with_model=False)


def test_certificates_that_prove_nothing_in_a_graph_are_in_the_pool() -> None:
    assert {"asserted/relu", "implemented/relu"} <= pool(4).keys()


def test_a_finding_is_a_test() -> None:
    case = Forgeries(4, (("a step", (1, 2, 3, 4)),), with_model=True)
    seen = Observed()
    case.check(seen)
    assert seen.totals["plans"] == 1 and seen.covered["forgery of a plan", "a step"] == 1
    scope: dict[str, Any] = {}
    exec(compile(case.as_test("test_found"), "found.py", "exec"), scope)
    scope["test_found"]()


def test_what_passes_is_a_disagreement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.fuzz.targets.forged_plans.checked", lambda *_: checked(Forged.of(honest(4)), None))
    with pytest.raises(Disagreement, match=r"forgery-passes"):
        for seed in range(100):
            Forgeries(4, (("a number", numbers(seed)),), with_model=False).check(Observed())
