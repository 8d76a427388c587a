"""Whenever a rule applies, the interpreter agrees: each rule on random programs, then chains of rules.

``VTIR_EXAMPLES`` sets how many programs each rule gets.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.kernel.exhaustive.family import plain_solver
from tests.kernel.exhaustive.oracle import disagreement, inputs_of, outcomes
from tests.rules.family import taken
from tests.rules.programs_for_rules import FITTING, fitting
from tests.rules.random_programs import Draw, programs
from tests.rules.random_rules import RULES, application
from verified_tir.ir import wellformed
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import script
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.theorem import Refines, Rule, reflexive

EXAMPLES = int(os.environ.get("VTIR_EXAMPLES", "60"))
SOLVER = plain_solver()
CALM = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=EXAMPLES <= 60,  # who asks for more wants others each time
    suppress_health_check=list(HealthCheck),
    database=None,
)


def agrees(theorem: Refines, func: PrimFunc) -> None:
    """No input shows the theorem wrong, and its program is one."""
    inputs = inputs_of(func, (0, 1, 2))
    problem = disagreement(theorem, inputs, outcomes(func, inputs))
    steps = "\n".join(str(step.rule) for step in theorem.derivation)
    assert problem is None, f"{steps}\n{script(func)}\n--->\n{script(theorem.after)}\n{problem}"
    assert wellformed.problem(theorem.after) is None


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", RULES)
def test_whenever_it_applies_the_interpreter_agrees(name: str) -> None:
    @CALM
    @given(st.data())
    def run(data: st.DataObject) -> None:
        made = name in FITTING and data.draw(st.integers(0, 3)) > 0
        func, rule = data.draw(fitting(name)) if made else anything(data.draw, name)
        if rule is not None:
            result = taken(rule, reflexive(func), Prover(SOLVER))  # type: ignore[arg-type]
            if isinstance(result, Refines):
                agrees(result, func)

    run()


def anything(draw: Draw, name: str) -> tuple[PrimFunc, Rule | None]:
    func = draw(programs(callees=True))
    return func, application(draw, name, func)


def test_chains_of_steps_agree() -> None:
    @settings(CALM, max_examples=3 * EXAMPLES)
    @given(st.data())
    def run(data: st.DataObject) -> None:
        func = data.draw(programs(callees=True))
        theorem, prover = reflexive(func), Prover(SOLVER)
        for _ in range(data.draw(st.integers(2, 6))):
            names = [name for name in RULES if name != "relayout"]
            rule = application(data.draw, data.draw(st.sampled_from(names)), theorem.after)
            result = None if rule is None else taken(rule, theorem, prover)
            if isinstance(result, Refines):
                theorem = result
        if theorem.derivation:
            agrees(theorem, func)

    run()
