"""Families of programs: a small grammar, enumerated, and the rules that are tried on every program of it.

A grammar is a product of slots; the k-th program takes from each slot what the digits of k say, so a family can be
counted without being built and sampled evenly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.obligation import NoMatch, Refusal
from verified_tir.kernel.race_free import prove_race_free
from verified_tir.kernel.theorem import Refines, Rule, apply
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict_store import VerdictStore
from verified_tir.schedule.rule_builders import RuleBuilder


def plain_solver() -> Solver:
    """A solver that looks for no small counterexamples (nobody reads them here), with less work for each question.

    Verdicts are kept by the text of the question, and most questions come up again and again.
    """
    solver = Solver(budget=300_000)
    solver.statistics.only_verdicts = True
    return solver


def prover_for(solver: Solver) -> Prover:
    """A prover for one more program; the solver forgets what it was asked once that is much."""
    if len(solver.store.notes) > 300_000:
        solver.store = VerdictStore()
    return Prover(solver)


@final
@dataclass(frozen=True, slots=True, repr=False)
class After:
    """A step that is made for what only the step before it creates."""

    make: Callable[[PrimFunc], Rule | RuleBuilder]

    def __repr__(self) -> str:
        return "a step on what the one before has made"


def rule_for(step: Rule | RuleBuilder | After, func: PrimFunc) -> Rule | NoMatch:
    """The rule that a step is on a program, or why it is none there."""
    made = step.make(func) if isinstance(step, After) else step
    return made(func) if callable(made) else made


def taken(step: Rule | RuleBuilder | After, theorem: Refines, prover: Prover) -> Refines | Refusal:
    """The theorem after a step, if no marked loop of its program may race; or why not.

    These are two judgements: a rule is about serial runs.
    """
    rule = rule_for(step, theorem.after)
    result = rule if isinstance(rule, NoMatch) else apply(rule, theorem, prover)
    if not isinstance(result, Refines):
        return result
    free = prove_race_free(result.after, prover, result.entry)
    return result if isinstance(free, tuple) else free


def name_of(step: Rule | RuleBuilder | After) -> str:
    """What a step is called: after its rule, or its builder."""
    return str(getattr(step, "__name__", type(step).__name__))


Chain = tuple[Rule | RuleBuilder | After, ...]
"""Rules applied one after the other; the last one is the one on trial, those before prepare it."""


@final
@dataclass(frozen=True, slots=True)
class Family:
    """``build`` makes of one element of each slot a program and the rules to try, or ``None`` if they do not fit."""

    name: str
    slots: tuple[Sequence[Any], ...]
    build: Callable[..., tuple[PrimFunc, Sequence[Rule | RuleBuilder | Chain]] | None]
    sizes: tuple[int, ...] = (0, 1, 2, 3)
    thin: int = 1
    """In a sample, each program is tried with every ``thin``-th of its rules only, in turn."""

    @property
    def size(self) -> int:
        """How many combinations there are, duplicates and misfits included."""
        return math.prod(len(s) for s in self.slots)

    def at(self, index: int) -> tuple[PrimFunc, Sequence[Rule | RuleBuilder | Chain]] | None:
        """The index-th program with its rules."""
        chosen = []
        for slot in self.slots:
            index, digit = divmod(index, len(slot))
            chosen.append(slot[digit])
        try:
            return self.build(*chosen)
        except IRError:
            return None  # ill-typed

    def index(self, turn: int) -> int:
        """The index whose turn it is: multiples, modulo the size, of a number near its golden section.

        Each index has one turn below the size, and the first turns, however many, lie evenly spread.
        """
        return turn * self._stride() % self.size

    def _stride(self) -> int:
        step = max(1, int(self.size * 0.6180339887))
        while math.gcd(step, self.size) > 1:
            step += 1
        return step
