"""Every rule reads back as what was written, and does the same in the hands of whoever reads it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings

from tests.nets.test_forgery import FUNC, OTHER
from tests.nets.values import ALL_RULES, Drawer
from tests.nightly import few
from tests.rules.cases import RuleCase, rule_cases
from tests.rules.families import FAMILIES
from tests.rules.family import rule_for
from verified_tir.derivation.classes import records
from verified_tir.derivation.codec import BadText, Quoted, Reader, Scope, read_program, write_program
from verified_tir.derivation.theorems import NotDerived, as_data, derive, write_rule
from verified_tir.ir.exact import Inexact
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import seq
from verified_tir.kernel.exact import exact_rule
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.obligation import NoMatch, Unproved
from verified_tir.kernel.refines import Refines
from verified_tir.kernel.step import Rule
from verified_tir.kernel.theorem import apply, reflexive
from verified_tir.logic.smtlib import query
from verified_tir.logic.solver import Solver
from verified_tir.schedule.rule_builders import labelled, of_kind

SOLVER = Solver(100_000)


def outcome(rule: Rule, func: PrimFunc) -> tuple[object, ...]:
    """What the kernel says of a rule on a program: the program that it leads to, and what was asked."""
    made = apply(rule, reflexive(func, definite=True), Prover(SOLVER))
    match made:
        case NoMatch(where=where):  # the reason may be any of several
            return "refused", where
        case Unproved(obligation=o, verdict=verdict):
            return "unproved", o.claim, query(o.given, o.goal).text, type(verdict).__name__
    assert isinstance(made, Refines)
    step = made.derivation[-1]
    asked = [query(d.obligation.given, d.obligation.goal).text for d in step.obligations]
    return "proved", write_program(made.after), asked


def read_again(text: str, scope: Scope) -> Rule:
    """The rule of a text; theorems in it are derived again."""

    def derived(value: object) -> object:
        return derive(value, Prover(SOLVER))[0] if type(value).__name__ == "Theorem" else value  # type: ignore[arg-type]

    rule: Rule = Reader(scope, records(), derived).read(text)
    return rule


def assert_reads_back(rule: Rule, func: PrimFunc, *, applied: bool = True) -> None:
    """The text of a rule means the same on the program that the program's text means."""
    program = write_program(func)
    copy = read_program(program)
    text = write_rule(rule, Scope.of(func))
    there = read_again(text, Scope.of(copy))
    assert type(there) is type(rule) and write_rule(there, Scope.of(copy)) == text
    if applied:
        assert outcome(there, copy) == outcome(rule, func)


def steps_of(func: PrimFunc, chain: tuple[object, ...]) -> Iterator[tuple[PrimFunc, Rule]]:
    """The rules of a chain, each with the program that it is applied to."""
    theorem = reflexive(func, definite=True)
    for step in chain:
        rule = rule_for(step, theorem.after)  # type: ignore[arg-type]
        if isinstance(rule, NoMatch):
            return
        yield theorem.after, rule
        made = apply(rule, theorem, Prover(SOLVER))
        if not isinstance(made, Refines):
            return
        theorem = made


@pytest.mark.nightly
@settings(max_examples=few(40, 100), deadline=None, suppress_health_check=list(HealthCheck))
@given(rule_cases())
def test_rules_at_random(case: RuleCase) -> None:
    for chain in case.chains[:2]:
        for func, rule in steps_of(case.func, chain):
            assert_reads_back(rule, func)


def of_families(count: int) -> Iterator[tuple[PrimFunc, Rule]]:
    """Rules of each family, with their programs."""
    draw = random.Random(7)
    for family in FAMILIES:
        for turn in range(count):
            made = family.at(family.index(turn))
            if made is not None and made[1]:
                func, rules = made
                rule = draw.choice(list(rules))
                yield from steps_of(func, rule if isinstance(rule, tuple) else (rule,))


@pytest.mark.nightly
def test_rules_of_each_family() -> None:
    for func, rule in of_families(few(1, 3)):
        assert_reads_back(rule, func)


@pytest.mark.sample(4)
@pytest.mark.parametrize("kind", ALL_RULES, ids=lambda k: k.__name__)
def test_rules_with_fields_of_all_sorts(kind: type) -> None:
    """Most fit nowhere: what the kernel says of a rule is the same of the one that was read."""
    drawer = Drawer(FUNC, OTHER, [reflexive(FUNC), reflexive(OTHER)], random.Random(kind.__name__))
    read = 0
    for _ in range(few(12, 30)):
        try:
            rule = exact_rule(drawer.rule(kind))
            text = write_rule(rule, Scope.of(FUNC))
        except (Inexact, BadText):  # what no program holds has no spelling
            continue
        assert_reads_back(rule, FUNC)
        assert text == write_rule(rule, Scope.of(FUNC))
        read += 1
    assert read >= few(3, 10)


def test_a_theorem_reads_back_as_the_rules_that_led_to_it() -> None:
    """What a derivation says of itself leads to the same programs; in it, rules mean loops by their places."""
    theorem = reflexive(FUNC, definite=True)
    for builder in (
        labelled((4,), "loop"),
        of_kind((4,), "unrolled"),
        labelled((0,), "first"),
        labelled((0, 0), "second"),
    ):
        rule = builder(theorem.after)
        if isinstance(rule, NoMatch):
            continue
        made = apply(rule, theorem, Prover(SOLVER))
        theorem = made if isinstance(made, Refines) else theorem
    assert len(theorem.derivation) >= 2
    data = as_data(theorem)
    copy = replace(data, start=read_program(write_program(data.start)))
    again, licence, applied = derive(copy, Prover(SOLVER))
    assert licence == () and [write_program(a.after) for a in applied] == [
        write_program(step.after) for step in theorem.derivation
    ]
    assert as_data(again).rules == data.rules
    with pytest.raises(NotDerived) as refused:
        derive(replace(copy, rules=(*copy.rules, Quoted("(Inline [9 9])"))), Prover(SOLVER))
    assert refused.value.step == len(copy.rules) and "the kernel refuses" in str(refused.value)
    twice = copy.start.with_body(seq(copy.start.body, copy.start.body))
    with pytest.raises(NotDerived, match=r"there is no theorem about f: .* is bound twice"):
        derive(replace(copy, start=twice), Prover(SOLVER))
