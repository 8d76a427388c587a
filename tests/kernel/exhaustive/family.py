"""The enumeration of a family: its programs in turn, each with its rules, and what became of them.

Programs that differ only in the names of variables and buffers, with the same rules, are looked at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, final

from tests.kernel.exhaustive.oracle import Input, disagreement, inputs_of, outcomes, would_disagree
from tests.kernel.programs import why
from tests.rules.family import After, Chain, Family, name_of, plain_solver, prover_for, rule_for, taken
from tests.structural_hash import structural_hash
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import script
from verified_tir.kernel.obligation import NoMatch
from verified_tir.kernel.theorem import Refines, Rule, reflexive
from verified_tir.schedule.rule_builders import RuleBuilder
from verified_tir.semantics.interpreter import Outcome

SOLVER = plain_solver()


@final
@dataclass(slots=True)
class Report:
    """Counts of one family, and what was found."""

    name: str
    size: int
    programs: int = 0
    meaningless: int = 0
    applications: int = 0
    accepted: int = 0
    refused: int = 0
    unmatched: int = 0
    looked_at: int = 0
    harmless: int = 0
    unsound: list[str] = field(default_factory=list)
    crashes: list[str] = field(default_factory=list)
    gaps: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    accepted_rules: Counter[str] = field(default_factory=Counter)

    def line(self) -> str:
        """One line for people."""
        return (
            f"{self.name:<12} {self.programs:>8} of {self.size:>10} programs ({self.meaningless} without a meaning), "
            f"{self.applications:>8} applications: {self.accepted} accepted, {self.refused} refused, "
            f"{self.unmatched} not applicable; {self.harmless} of {self.looked_at} refusals looked at were harmless"
        )


@final
class Exploration:
    """The rules tried on the programs of a family, turn by turn.

    :param limit: how many turns there will be; where those are not all, programs are tried with some of their rules.
    :param look_at_refusals: every how many refusals one is run as well.
    """

    def __init__(self, family: Family, limit: int, look_at_refusals: int = 7) -> None:
        self.family, self.every = family, look_at_refusals
        self.thin = family.thin if family.size > limit else 1
        self.seen: set[int] = set()

    def advance(self, first: int, last: int, stop_after: int = 20) -> Report:
        """What the turns from ``first`` to before ``last`` show; ends early when that many steps were unsound."""
        report = Report(self.family.name, self.family.size)
        for turn in range(first, min(last, self.family.size)):
            index = self.family.index(turn)
            made = self.family.at(index)
            if made is None:
                continue
            func, rules = made
            tried = rules[turn % self.thin :: self.thin]
            if not tried or not self._is_new(func, tried):
                continue
            report.programs += 1
            _Trial(report, func, inputs_of(func, self.family.sizes), self.every).of(tried, index)
            if len(report.unsound) >= stop_after:
                break
        return report

    def _is_new(self, func: PrimFunc, rules: Sequence[Rule | RuleBuilder | Chain]) -> bool:
        """Whether such a program was not tried with such rules before."""
        key = hash((structural_hash(func.body), repr([_shape(rule) for rule in rules])))
        new = key not in self.seen
        self.seen.add(key)
        return new


def explore(family: Family, limit: int, look_at_refusals: int = 7, stop_after: int = 20) -> Report:
    """Try the rules on ``limit`` programs of a family; every ``look_at_refusals``-th refusal is run as well."""
    return Exploration(family, limit, look_at_refusals).advance(0, limit, stop_after)


def _shape(rule: Rule | RuleBuilder | After | Chain) -> object:
    """A rule without the identities of its variables."""
    if isinstance(rule, tuple):
        return tuple(_shape(r) for r in rule)
    if not hasattr(rule, "__dataclass_fields__"):
        return repr(rule)
    parts = [getattr(rule, name) for name in rule.__dataclass_fields__]  # type: ignore[attr-defined]
    return (type(rule).__name__, *[_value_shape(p) for p in parts])


def _value_shape(value: object) -> object:
    from verified_tir.ir.node import Node

    if isinstance(value, Node):
        return structural_hash(value)
    if isinstance(value, tuple):
        return tuple(_value_shape(v) for v in value)
    if hasattr(value, "__dataclass_fields__"):
        return (type(value).__name__, *[_value_shape(getattr(value, n)) for n in value.__dataclass_fields__])
    return value


@final
class _Trial:
    """One program under trial; how it ends on the inputs is found once."""

    def __init__(self, report: Report, func: PrimFunc, inputs: list[Input], every: int) -> None:
        self.report, self.func, self.inputs, self.every = report, func, inputs, every
        self.ends: list[Outcome | Exception] | None = None
        self.prover = prover_for(SOLVER)

    def of(self, rules: Sequence[Rule | RuleBuilder | Chain], index: int) -> None:
        for rule in rules:
            self.apply(rule if isinstance(rule, tuple) else (rule,), index)

    def known_ends(self) -> list[Outcome | Exception]:
        if self.ends is None:
            self.ends = outcomes(self.func, self.inputs)
            self.report.meaningless += not any(isinstance(e, Outcome) for e in self.ends)
        return self.ends

    def apply(self, chain: Chain, index: int) -> None:
        report, theorem = self.report, reflexive(self.func)
        for step in chain[:-1]:
            set_up = taken(step, theorem, self.prover)
            if not isinstance(set_up, Refines):
                return
            theorem = set_up
        report.applications += 1
        rule = rule_for(chain[-1], theorem.after)
        if isinstance(rule, NoMatch):
            report.unmatched += 1
            return
        try:
            result = taken(rule, theorem, self.prover)
        except Exception as crash:
            report.crashes.append(f"#{index} {type(rule).__name__}: {type(crash).__name__}: {crash}")
            return
        if isinstance(result, Refines):
            report.accepted += 1
            report.accepted_rules[name_of(chain[-1])] += 1
            problem = disagreement(result, self.inputs, self.known_ends())
            if problem is not None:
                report.unsound.append(f"#{index} {rule}\n{script(self.func)}\n--->\n{script(result.after)}\n{problem}")
        elif isinstance(result, NoMatch):
            report.unmatched += 1
        else:
            report.refused += 1
            if report.refused % self.every == 0:
                self.refusal(chain[-1], theorem, result)

    def refusal(self, rule: Rule | RuleBuilder | After, theorem: Refines, result: Any) -> None:
        """Would it have been wrong, on these inputs?"""
        report = self.report
        report.looked_at += 1
        maps = theorem.relation if result.moved is None else (*theorem.relation, result.moved)
        paddings = result.paddings
        if not any(isinstance(e, Outcome) for e in self.known_ends()):
            return
        if not would_disagree(self.func, result.would_be, maps, paddings, self.inputs, self.known_ends()):
            report.harmless += 1
            pattern = f"{name_of(rule)}: {why(result)}"
            report.gaps[pattern] += 1
            report.examples.setdefault(pattern, f"{rule}\n{script(self.func)}\n--->\n{script(result.would_be)}")


__all__ = ["Chain", "Exploration", "Family", "Report", "explore", "plain_solver"]
