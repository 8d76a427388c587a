"""Theorems, and the only way to one.

``Refines(before, after, relation, reassociated, derivation)`` says: on every pair of entry memories related by
``relation``, if ``before`` runs without undefined behaviour then so does ``after``, and every parameter's elements,
read
through the relation, end up at least as defined and with the same bits.

There is no public constructor.  :func:`reflexive` gives ``p ⊑ p``; :func:`apply` extends a theorem by one rule, whose
program it computes and whose obligations it has proved first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol, final, runtime_checkable

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import Path
from verified_tir.kernel import admissible, assumed, reliance
from verified_tir.kernel.context import EVERYTHING, Entry, written_blocks
from verified_tir.kernel.entry import contradictory, verify_program
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.licences import licence_questions
from verified_tir.kernel.memory import Padding
from verified_tir.kernel.obligation import Discharged, NoMatch, ParameterMap, Question, Refusal, Unproved, discharge
from verified_tir.semantics.encode import Unencodable


@final
@dataclass(frozen=True, slots=True)
class Rewrite:
    """What a rule computes: the new program and the questions that must be answered first."""

    after: PrimFunc
    questions: Iterable[Question]
    maps: tuple[ParameterMap, ...] = ()
    rename: dict[Buffer, Buffer] = field(default_factory=dict)
    reassociated: frozenset[str] = frozenset()
    """Float reductions whose order the step changes, with the user's word."""
    kept: Path | None = None
    """Only the statement there changed, and in each of its runs it still touches the same elements, or fewer, reading
    and writing: then iterations of loops around it, or elsewhere, conflict no more than they did.  ``None`` if the rule
    does not say so."""
    before: PrimFunc | None = None
    """The program that the theorem begins with from now on, if an assumption comes in front of both."""


class Rule(Protocol):
    """A rule is a value that knows how to rewrite one program."""

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        """The new program with its obligations, or why the rule does not apply."""
        ...


@runtime_checkable
class RuleOfBoth(Protocol):
    """A rule that changes both programs of a theorem."""

    def rewrite_both(self, theorem: Refines) -> Rewrite | NoMatch:
        """The new programs with the obligations, or why the rule does not apply."""
        ...


@final
@dataclass(frozen=True, slots=True)
class Step:
    """One applied rule: what it was, the program it gave, and the obligations that were proved for it."""

    rule: Rule
    after: PrimFunc
    obligations: tuple[Discharged, ...]


_SEAL = object()


@final
class Refines:
    """A theorem.  Made by the kernel only; every attribute is read-only."""

    __slots__ = ("_after", "_before", "_definite", "_derivation", "_paddings", "_reassociated", "_relation")

    def __init__(self, seal: object, *values: Any) -> None:
        if seal is not _SEAL:
            raise TypeError("a theorem is made by the kernel: use reflexive() and apply()")
        fields = ("_before", "_after", "_relation", "_paddings", "_reassociated", "_derivation", "_definite")
        for name, value in zip(fields, values, strict=True):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a theorem does not change")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a theorem does not change")

    def __init_subclass__(cls) -> NoReturn:
        raise TypeError("Refines cannot be subclassed")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a theorem cannot be pickled: prove it again")

    @property
    def before(self) -> PrimFunc:
        return self._before  # type: ignore[attr-defined, no-any-return]

    @property
    def after(self) -> PrimFunc:
        return self._after  # type: ignore[attr-defined, no-any-return]

    @property
    def relation(self) -> tuple[ParameterMap, ...]:
        """Layout changes of parameters, in the order in which they were made."""
        return self._relation  # type: ignore[attr-defined, no-any-return]

    @property
    def paddings(self) -> tuple[Padding, ...]:
        """What is assumed of the padding of the parameters of ``after``."""
        return self._paddings  # type: ignore[attr-defined, no-any-return]

    @property
    def reassociated(self) -> frozenset[str]:
        """Reductions whose order the user allowed to change; empty means equal bits."""
        return self._reassociated  # type: ignore[attr-defined, no-any-return]

    @property
    def derivation(self) -> tuple[Step, ...]:
        return self._derivation  # type: ignore[attr-defined, no-any-return]

    @property
    def definite(self) -> bool:
        """Whether it is a theorem about arguments of definite values only (but for padding declared otherwise)."""
        return self._definite  # type: ignore[attr-defined, no-any-return]

    @property
    def entry(self) -> Entry:
        """The assumptions under which ``after`` is looked at."""
        return Entry(self.paddings, definite=self.definite, shapes=tuple(m.before for m in self.relation))

    def __repr__(self) -> str:
        return f"<theorem: {self.before.name} ⊑ {self.after.name}, {len(self.derivation)} steps>"


def reflexive(func: PrimFunc, *, definite: bool = False) -> Refines:
    """``func ⊑ func``; with ``definite``, the first of a chain of theorems about arguments of definite values.

    Such theorems compose: a layout change keeps elements definite, and what it adds is declared.
    """
    return Refines(_SEAL, func, func, (), (), frozenset(), (), definite)


def apply(rule: Rule, theorem: Refines, prover: Prover) -> Refines | Refusal:
    """Extend a theorem by one rule, after proving every obligation of the rule and every licence of the new program."""
    discharged: list[Discharged] = []
    try:
        rewrite = (
            rule.rewrite_both(theorem) if isinstance(rule, RuleOfBoth) else rule.rewrite(theorem.after, theorem.entry)
        )
        if isinstance(rewrite, NoMatch):
            return rewrite
        inadmissible = admissible.problem(rewrite.after)
        if inadmissible is not None:
            return NoMatch((), f"no theorem is about the result: {inadmissible}")
        written = _newly_written(theorem.after, rewrite.after)
        if written is not None:
            return NoMatch((), f"{written} would be written, which was only read: then no other argument may share it")
        if rewrite.reassociated:
            if any(getattr(step.rule, "runs_again", False) for step in theorem.derivation):
                reason = (
                    "a statement runs again, or no longer: its sums would be told apart; reassociate before that step"
                )
                return NoMatch((), reason)
            relied = assumed.of_results(theorem.before) or assumed.of_results(theorem.after)
            if relied is not None:
                return NoMatch((), f"{relied} may be false of a sum in another order; reassociate a program without it")
            used = _relied_on(theorem)
            if used is not None:
                return NoMatch((), f"a step was proved from the bits of a result: {used}; reassociate before that step")
        paddings = _renamed(theorem.paddings, rewrite)
        for question in _questions(theorem, rewrite, paddings):
            proved, failed = discharge(prover, question)
            discharged.extend(proved)
            if failed is not None:
                return Unproved(*failed, rewrite.after, paddings, rewrite.maps, rewrite.reassociated)
        if rewrite.reassociated and reliance.decides(rewrite.after):
            anew = verify_program(rewrite.after, prover, Entry(paddings, shapes=theorem.entry.shapes))
            if isinstance(anew, NoMatch):
                return anew
            if isinstance(anew, Unproved):
                return Unproved(anew.obligation, anew.verdict, rewrite.after, paddings, rewrite.maps,
                                rewrite.reassociated)  # fmt: skip
        if rewrite.before is not None and contradictory(rewrite.before, prover, Entry()):
            return NoMatch((), "with this, what is assumed of the arguments contradicts itself: no input is left")
    except (Unencodable, IRError) as problem:
        return NoMatch((), str(problem))
    step = Step(rule, rewrite.after, tuple(discharged))
    return Refines(
        _SEAL, rewrite.before or theorem.before, rewrite.after, (*theorem.relation, *rewrite.maps), paddings,
        theorem.reassociated | rewrite.reassociated, (*theorem.derivation, step), theorem.definite,
    )  # fmt: skip


def _relied_on(theorem: Refines) -> str | None:
    """What was proved from the bits of a result, in a step or in a theorem that a step used (of its own names)."""
    obligations = (d for step in theorem.derivation for d in step.obligations)
    used = reliance.on_results(obligations, theorem.before, *(step.after for step in theorem.derivation))
    lemmas = (getattr(step.rule, "lemma", None) for step in theorem.derivation)
    return used or next((u for lemma in lemmas if isinstance(lemma, Refines) and (u := _relied_on(lemma))), None)


def _newly_written(before: PrimFunc, after: PrimFunc) -> str | None:
    """A parameter that only the second program writes.

    Parameters that are only read may coincide, and a written one may not; so the second would have less memories.
    """
    if len(before.buffers) == 1:
        return None
    old, new = written_blocks(before.body), written_blocks(after.body)
    if EVERYTHING in old:
        return None
    pairs = zip(before.buffers, after.buffers, strict=False)
    return next((b.name for a, b in pairs if b.data in new and a.data not in old), None)


def _renamed(paddings: tuple[Padding, ...], rewrite: Rewrite) -> tuple[Padding, ...]:
    kept = tuple(p for p in paddings if p.buffer not in rewrite.rename)
    return (*kept, *(p for m in rewrite.maps for p in m.paddings))


def _questions(theorem: Refines, rewrite: Rewrite, paddings: tuple[Padding, ...]) -> Iterable[Question]:
    yield from rewrite.questions
    shapes = tuple(m.before for m in (*theorem.relation, *rewrite.maps))
    yield from licence_questions(
        rewrite.after, Entry(paddings, definite=theorem.definite, shapes=shapes), unchanged=theorem.after,
        kept=rewrite.kept,
    )  # fmt: skip
