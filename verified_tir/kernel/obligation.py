"""Questions that rules ask, and the answers that a step leaves behind."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias, final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import Path
from verified_tir.kernel.context import Context
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.memory import Padding
from verified_tir.logic.formula import Term
from verified_tir.logic.verdict import Claim, Discharged, Obligation, Proved, Verdict, in_words


@final
@dataclass(frozen=True, slots=True)
class ParameterMap:
    """One layout change of a parameter: element ``x`` of ``before`` lives at ``outputs(x)`` of ``after``."""

    before: Buffer
    after: Buffer
    inputs: tuple[Var, ...]
    outputs: tuple[Expr, ...]
    inverse_inputs: tuple[Var, ...]
    inverse: tuple[Expr, ...]
    paddings: tuple[Padding, ...]

    def declared(self, earlier: tuple[Padding, ...]) -> tuple[Padding, ...]:
        """The paddings of all parameters after the change."""
        return (*(p for p in earlier if p.buffer is not self.before), *self.paddings)


@final
@dataclass(frozen=True, slots=True)
class Question:
    """Does ``goal`` hold at the place of ``context``, under ``given``?

    If it cannot be proved and ``otherwise`` is not empty, proving all of those will do instead.
    """

    name: str
    claim: Claim
    context: Context
    given: tuple[Term, ...]
    goal: Term
    place: Path = ()
    where: str = "before"
    otherwise: tuple[Question, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class NoMatch:
    """The rule does not apply: where, and why, in one sentence."""

    where: Path
    reason: str


@final
@dataclass(frozen=True, slots=True)
class Unproved:
    """An obligation that is false (``Refuted``) or was not decided (``Unknown``).

    ``would_be`` is the program that the step would have led to, so that a counterexample can be replayed;
    ``reassociated`` are the blocks whose reductions it would have put in another order, by licence.
    """

    obligation: Obligation
    verdict: Verdict
    would_be: PrimFunc
    paddings: tuple[Padding, ...] = ()
    maps: tuple[ParameterMap, ...] = ()
    reassociated: frozenset[Var] = frozenset()


class Misfit(IRError):
    """What a rule says does not fit the program: why, in one sentence.  ``theorem.apply`` makes a refusal of it."""


Refusal: TypeAlias = NoMatch | Unproved


def discharge(
    prover: Prover, question: Question, since: int | None = None
) -> tuple[list[Discharged], tuple[Obligation, Verdict] | None]:
    """Prove a question.  Gives what was proved, and the obligation that could not be, if there is one.

    :param since: how many lemmas there were before a first attempt.  The prover remembers what it found out then, so
        the lemmas for it belong to what is proved instead.
    """
    before = len(prover.lemmas) if since is None else since
    small = () if question.otherwise else tuple(question.context.sizes)
    verdict, used = prover.prove(question.context, question.given, question.goal, small)
    obligation = Obligation(
        question.name,
        in_words(question.claim),
        used,
        question.goal,
        question.place,
        question.where,
        question.context.names,
    )
    if isinstance(verdict, Proved):
        return [Discharged(obligation, verdict, tuple(prover.lemmas[before:]))], None
    if not question.otherwise:
        return [], (obligation, verdict)
    done: list[Discharged] = []
    for other in question.otherwise:
        proved, failed = discharge(prover, other, before)
        before = len(prover.lemmas)
        done.extend(proved)
        if failed is not None:
            return done, failed
    return done, None


def discharge_all(
    prover: Prover, questions: Iterable[Question]
) -> tuple[tuple[Discharged, ...], tuple[Obligation, Verdict] | None]:
    """Prove questions, one after the other, up to the first that cannot be proved."""
    done: list[Discharged] = []
    for question in questions:
        proved, failed = discharge(prover, question)
        done.extend(proved)
        if failed is not None:
            return tuple(done), failed
    return tuple(done), None
