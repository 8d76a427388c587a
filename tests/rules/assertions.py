"""Rules of the kernel, as tests apply them, lead to true theorems: what files about findings assert."""

from __future__ import annotations

from typing import Any

from tests.rules.families import BY_NAME
from tests.rules.family import Chain, taken
from tests.rules.inputs import inputs_of
from tests.rules.literals import rule_made
from verified_tir.ir.func import PrimFunc
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.theorem import Refines, Rule, reflexive
from verified_tir.logic.solver import Solver
from verified_tir.testing.assertions import report
from verified_tir.testing.reference import Claim, disagreement


def assert_rules_refine(literal: list[Any]) -> None:
    """Rules of the kernel, applied to a program as far as they are accepted, lead to a true theorem.

    :param literal: the program and the rules (:mod:`tests.rules.literals`).
    :raises AssertionError: if the interpreter contradicts the theorem on a small input.
    """
    _assert_chain_refines(*rule_made(literal))


def assert_family_refines(family: str, index: int) -> None:
    """Each rule that a family of small programs has for one of them leads to a true theorem, if it is accepted.

    :param family: its name; ``tests.rules.families`` has them all.
    :param index: the number of the program.
    :raises AssertionError: if the interpreter contradicts a theorem on a small input.
    """
    made = BY_NAME[family].at(index)
    for chain in () if made is None else made[1]:
        assert made is not None
        _assert_chain_refines(made[0], chain if isinstance(chain, tuple) else (chain,))


def _assert_chain_refines(func: PrimFunc, rules: Chain | tuple[Rule, ...]) -> None:
    theorem, prover = reflexive(func), Prover(Solver())
    for step in rules:
        result = taken(step, theorem, prover)
        if not isinstance(result, Refines):
            return
        theorem = result
    claim = Claim.of(theorem)
    for given in inputs_of(func):
        problem = disagreement(claim, given.args, defined=given.defined)
        if problem is not None:
            raise AssertionError(report(f"{rules[-1]} is accepted, which is wrong", problem, claim, given.args))
