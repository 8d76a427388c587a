"""Questions that rules ask, and the answers that a step leaves behind."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias, final

from verified_tir import ir
from verified_tir.ir.outside import shown
from verified_tir.kernel.context import Context
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.memory import Padding
from verified_tir.logic.formula import Term
from verified_tir.logic.verdict import Claim, Discharged, Obligation, Proved, Verdict


@final
@dataclass(frozen=True, slots=True)
class ParameterMap:
    """One layout change of a parameter: element ``x`` of ``before`` lives at ``outputs(x)`` of ``after``."""

    before: ir.Buffer
    after: ir.Buffer
    inputs: tuple[ir.Var, ...]
    outputs: tuple[ir.Expr, ...]
    inverse_inputs: tuple[ir.Var, ...]
    inverse: tuple[ir.Expr, ...]
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
    place: ir.Path = ()
    where: str = "before"
    otherwise: tuple[Question, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class NoMatch:
    """The rule does not apply: where, and why, in one sentence."""

    where: ir.Path
    reason: str


@final
@dataclass(frozen=True, slots=True)
class Unproved:
    """An obligation that is false (``Refuted``) or was not decided (``Unknown``).

    ``would_be`` is the program that the step would have led to, so that a counterexample can be replayed; ``moved`` the
    parameter whose layout it would have changed; ``reassociated`` are the blocks whose reductions it would have put in
    another order, by licence.
    """

    obligation: Obligation
    verdict: Verdict
    would_be: ir.PrimFunc
    paddings: tuple[Padding, ...] = ()
    moved: ParameterMap | None = None
    reassociated: frozenset[ir.Var] = frozenset()


class Misfit(ir.IRError):
    """The arguments of a rule do not fit the program: why, in one sentence.  ``theorem.apply`` turns it into a
    refusal."""


Refusal: TypeAlias = NoMatch | Unproved


Outcome: TypeAlias = tuple[tuple[Discharged, ...], tuple[Obligation, Verdict] | None]
"""What was proved, and the first obligation that could not be, if there is one."""


def discharge(prover: Prover, questions: Iterable[Question], since: int | None = None) -> Outcome:
    """Prove questions, or their alternatives, one after the other, up to the first that cannot be proved.

    :param since: how many lemmas there were before a first attempt.  The prover remembers what it found out then, so
        the lemmas for it belong to what is proved instead.
    """
    done, since = list[Discharged](), len(prover.lemmas) if since is None else since
    for q in questions:
        verdict, used = prover.prove(q.context, q.given, q.goal)
        obligation = Obligation(q.name, shown(q.claim), used, q.goal, q.place, q.where)
        if isinstance(verdict, Proved):
            done.append(Discharged(obligation, verdict, tuple(prover.lemmas[since:])))
        else:
            proved, failed = discharge(prover, q.otherwise, since) if q.otherwise else ((), (obligation, verdict))
            done.extend(proved)
            if failed is not None:
                return tuple(done), failed
        since = len(prover.lemmas)
    return tuple(done), None
