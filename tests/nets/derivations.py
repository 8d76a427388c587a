"""Derivations: what a schedule asked of the kernel, rule by rule, and the same asked of another program.

:func:`recorded` notes every program that is verified and every rule that is applied, with the verdict, also those that
tactics only try.  :func:`mirror` asks all of it again of programs and rules that were rewritten: names that mean
nothing, buffers behind views, bodies behind calls.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, final
from unittest import mock

from verified_tir.elaborate.claims import verify_program
from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.outside import shown
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.obligation import NoMatch, Unproved
from verified_tir.kernel.refines import Refines
from verified_tir.kernel.step import Rule
from verified_tir.kernel.theorem import apply, licensed, reflexive, without_licence
from verified_tir.logic.solver import Solver
from verified_tir.schedule import schedule, session


@final
@dataclass(frozen=True, slots=True)
class Verified:
    """A program was checked."""

    func: PrimFunc
    result: Any


@final
@dataclass(frozen=True, slots=True)
class Begun:
    """A derivation began with a program."""

    func: PrimFunc
    definite: bool
    theorem: Refines


@final
@dataclass(frozen=True, slots=True)
class Applied:
    """A rule was applied to a theorem, or refused."""

    theorem: Refines
    rule: Rule
    result: Any
    hasty: bool
    """Whether what takes long counted as refused."""


@final
@dataclass(frozen=True, slots=True)
class Licensed:
    """A licence was asked for (``blocks``), or given up (``None``)."""

    theorem: Refines
    blocks: frozenset[Var] | None
    result: Any


Lemmas = Callable[[Refines], "tuple[Refines, Twin] | None"]
"""What stands for a theorem that a rule refers to."""

Event = Verified | Begun | Applied | Licensed


@contextmanager
def recorded() -> Iterator[list[Event]]:
    """What is asked of the kernel in the block, in order."""
    events: list[Event] = []

    def noted(make: Callable[..., Event], ask: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            result = ask(*args, **named)
            events.append(make(result, *args, **named))
            return result

        return call

    def begun(result: Any, func: PrimFunc, *, definite: bool = False) -> Event:
        return Begun(func, definite, result)

    beginning = noted(begun, reflexive)
    asked = noted(lambda result, rule, theorem, prover: Applied(theorem, rule, result, prover.hasty), apply)
    given = noted(lambda result, theorem, blocks, prover: Licensed(theorem, blocks, result), licensed)
    dropped = noted(lambda result, theorem: Licensed(theorem, None, result), without_licence)
    checked = noted(lambda result, func, prover, entry=None: Verified(func, result), verify_program)
    with (
        mock.patch.object(session, "apply", asked),
        mock.patch.object(session, "licensed", given),
        mock.patch.object(session, "without_licence", dropped),
        mock.patch.object(schedule, "verify_program", checked),
        mock.patch.object(schedule, "reflexive", beginning),
    ):
        yield events


def kind(result: Any) -> tuple[str, ...]:
    """What sort of verdict it is: accepted, or which kind of obligation was refuted or left undecided."""
    match result:
        case Refines():
            return ("accepted",)
        case NoMatch():
            return ("no match",)
        case Unproved(obligation=obligation, verdict=verdict):
            return (type(verdict).__name__, obligation.name)
        case (int(), refusal):
            return ("step", str(result[0]), *kind(refusal))
        case (PrimFunc(), _):
            return ("accepted",)
    raise TypeError(f"{type(result).__name__} is no verdict")


def accepted(result: Any) -> bool:
    return kind(result) == ("accepted",)


class Twin(Protocol):
    """How programs and rules are rewritten, at one point of a derivation."""

    def program(self, func: PrimFunc) -> PrimFunc:
        """The twin of a program with which a derivation begins."""

    def rule(self, rule: Rule, lemma: Lemmas) -> Rule:
        """The rule for the twin of the program that this stands for.

        :raises Untranslated: if there is none.
        """

    def following(self, original: PrimFunc, twin: PrimFunc) -> Twin | None:
        """The same after a step that gave the two programs; ``None`` if one is not the twin of the other."""

    def block(self, data: Var) -> Var:
        """The block that stands for one of the original."""


class Untranslated(Exception):
    """What has no counterpart in the twin."""


@final
@dataclass(slots=True)
class Comparison:
    """What became of the questions when they were asked again."""

    asked: int = 0
    accepted: int = 0
    passed_over: int = 0
    differences: list[str] = field(default_factory=list)
    """Accepted where the original was refused, or another program."""
    refused_more: list[tuple[str, str]] = field(default_factory=list)
    """Refused where the original was accepted: the rule and the reason."""
    refused_otherwise: list[str] = field(default_factory=list)

    def add(self, other: Comparison) -> None:
        for f in dataclasses.fields(self):
            setattr(self, f.name, getattr(self, f.name) + getattr(other, f.name))


@final
class _Mirror:
    """Twins of the theorems seen so far."""

    def __init__(self, begin: Callable[[], Twin], prover: Prover) -> None:
        self.begin = begin
        self.prover = prover
        self.found = Comparison()
        self.theorems: dict[Refines, tuple[Refines, Twin]] = {}
        self.programs: dict[PrimFunc, tuple[PrimFunc, Twin]] = {}

    def event(self, event: Event) -> None:
        match event:
            case Verified(func, result):
                self.verified(func, result)
            case Begun(func, definite, theorem):
                there = self.programs.get(func)
                if there is None:
                    self.fresh(theorem, func, definite=definite)
                else:
                    self.theorems[theorem] = reflexive(there[0], definite=definite), there[1]
            case Applied():
                self.applied(event)
            case Licensed():
                self.licence(event)

    def verified(self, func: PrimFunc, result: Any) -> None:
        twin = self.begin()
        try:
            other = twin.program(func)
        except Untranslated:
            self.found.passed_over += 1
            return
        verdict = verify_program(other, self.prover)
        self.compare("the program itself", result, verdict)
        if accepted(result) and accepted(verdict):
            self.follow("the program itself", twin, result[0], verdict[0], self.programs, result[0], verdict[0])

    def applied(self, event: Applied) -> None:
        name = type(event.rule).__name__
        there = self.theorems.get(event.theorem) or self.again(event.theorem)
        if there is None:
            self.found.passed_over += 1
            return
        theorem, twin = there
        self.prover.hasty = event.hasty
        try:
            rule = twin.rule(event.rule, self.theorems.get)
            verdict = apply(rule, theorem, self.prover)
        except Untranslated:
            self.found.passed_over += 1
            return
        except IRError as problem:  # what the rule carries is ill-typed in the twin: a refusal
            verdict = NoMatch((), str(problem))
        self.prover.hasty = False
        self.compare(f"{name} {event.rule}", event.result, verdict)
        if accepted(event.result) and accepted(verdict):
            self.follow(name, twin, event.result.after, verdict.after, self.theorems, event.result, verdict)

    def again(self, theorem: Refines) -> tuple[Refines, Twin] | None:
        """A new beginning with the program as it is now, if nothing that was declared on the way is assumed."""
        if theorem.paddings or theorem.licensed or theorem.relation:
            return None
        return self.fresh(theorem, theorem.after, definite=theorem.definite)

    def fresh(self, theorem: Refines, func: PrimFunc, *, definite: bool) -> tuple[Refines, Twin] | None:
        twin = self.begin()
        try:
            other = twin.program(func)
        except Untranslated:
            return None
        following = twin.following(func, other)
        if following is None:
            return None
        self.theorems[theorem] = reflexive(other, definite=definite), following
        return self.theorems[theorem]

    def follow(
        self, what: str, twin: Twin, original: PrimFunc, other: PrimFunc, found: dict[Any, Any], key: Any, value: Any
    ) -> None:
        """Note what stands for the result of a step."""
        try:
            following = twin.following(original, other)
        except Untranslated:
            self.found.passed_over += 1
            return
        if following is None:
            self.found.differences.append(f"{what} gives another program:\n{shown(original)}\n{shown(other)}")
        else:
            found[key] = value, following

    def licence(self, event: Licensed) -> None:
        there = self.theorems.get(event.theorem)
        if there is None:
            self.found.passed_over += 1
            return
        theorem, twin = there
        if event.blocks is None:
            self.theorems[event.result] = without_licence(theorem), twin
            return
        begun = twin.following(event.theorem.before, theorem.before)
        assert begun is not None, "the two derivations begin with twins"
        verdict = licensed(theorem, frozenset(begun.block(b) for b in event.blocks), self.prover)
        self.compare("a licence", event.result, verdict)
        if accepted(event.result) and accepted(verdict):
            assert isinstance(verdict, Refines)
            self.follow("a licence", twin, event.result.after, verdict.after, self.theorems, event.result, verdict)

    def compare(self, what: str, original: Any, twin: Any) -> None:
        self.found.asked += 1
        self.found.accepted += accepted(twin)
        if kind(original) == kind(twin):
            return
        if accepted(twin):
            self.found.differences.append(f"{what}: {kind(original)} became accepted: {reason(original)}")
        elif accepted(original):
            self.found.refused_more.append((what.split(" ", maxsplit=1)[0], reason(twin)))
        else:
            self.found.refused_otherwise.append(f"{what}: {reason(original)}; now {reason(twin)}")


def reason(result: Any) -> str:
    match result:
        case NoMatch(reason=why):
            return why
        case Unproved(obligation=obligation):
            return f"{obligation.name}: {obligation.claim}"
        case (int(), refusal):
            return reason(refusal)
    return "accepted"


def mirror(events: Iterable[Event], begin: Callable[[], Twin]) -> Comparison:
    """All questions asked again, of twins."""
    made = _Mirror(begin, Prover(Solver()))
    for event in events:
        made.event(event)
    return made.found


# -- rewriting terms and records ---------------------------------------------------------------------------------------


def rebuilt(record: Any, change: Callable[[Any], Any]) -> Any:
    """A node or record with each field changed, tuples entered."""
    values = [_changed(getattr(record, f.name), change) for f in dataclasses.fields(record)]
    old = [getattr(record, f.name) for f in dataclasses.fields(record)]
    return record if all(a is b for a, b in zip(values, old, strict=True)) else type(record)(*values)


def _changed(value: Any, change: Callable[[Any], Any]) -> Any:
    if type(value) is tuple:
        made = tuple([_changed(v, change) for v in value])
        return value if all(a is b for a, b in zip(made, value, strict=True)) else made
    return change(value)


__all__ = ["Comparison", "Event", "Lemmas", "Twin", "Untranslated", "accepted", "kind", "mirror", "rebuilt", "recorded"]
