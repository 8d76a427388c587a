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


Outcome: TypeAlias = tuple[tuple[Discharged, ...], tuple[Obligation, Verdict] | None]
"""What was proved, and the first obligation that could not be, if there is one."""


def discharge(prover: Prover, question: Question, since: int | None = None) -> Outcome:
    """Prove a question, or what will do instead.

    :param since: how many lemmas there were before a first attempt.  The prover remembers what it found out then, so
        the lemmas for it belong to what is proved instead.
    """
    before = len(prover.lemmas) if since is None else since
    context, given, goal = question.context, question.given, question.goal
    verdict, used = prover.prove(context, given, goal, () if question.otherwise else tuple(context.sizes))
    claim, place = in_words(question.claim), question.place
    obligation = Obligation(question.name, claim, used, goal, place, question.where)
    if isinstance(verdict, Proved):
        return (Discharged(obligation, verdict, tuple(prover.lemmas[before:])),), None
    return discharge_all(prover, question.otherwise, before) if question.otherwise else ((), (obligation, verdict))


def discharge_all(prover: Prover, questions: Iterable[Question], since: int | None = None) -> Outcome:
    """Prove questions, one after the other, up to the first that cannot be proved."""
    done: tuple[Discharged, ...] = ()
    for question in questions:
        proved, failed = discharge(prover, question, since)
        done, since = (*done, *proved), None
        if failed is not None:
            return done, failed
    return done, None
