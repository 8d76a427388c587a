"""Proofs: a question is proved by the steps of a deduction, and these by what Z3 says of texts."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, final

from verified_tir.ir.exact import is_one_of
from verified_tir.ir.outside import ask
from verified_tir.logic.deduction import Deduction
from verified_tir.logic.formula import FALSE, Term
from verified_tir.logic.smtlib import Script
from verified_tir.logic.verdict import Proved, Refuted, Unknown, Verdict
from verified_tir.logic.verdict_store import VerdictStore

INTEGER_BUDGET: Final = 3_000_000


@final
@dataclass(slots=True)
class Solver:
    """What is proved with Z3, within a budget.  Not for use from several threads at once.

    :param budget: resource limit of an integer query; how much others get is chosen outside.
    :param store: what Z3 said before.  It is believed, so whoever opens a store vouches for it.
    :ivar statistics: the search's own (``answers.Statistics``).  Nothing is read here.
    """

    budget: int = INTEGER_BUDGET
    store: VerdictStore = field(default_factory=VerdictStore)
    statistics: Any = field(init=False, default_factory=partial(ask, "statistics"))

    def prove(self, given: tuple[Term, ...], goal: Term, small: Any = (), quick: Any = False) -> Verdict:
        """Whether ``goal`` follows from ``given``.

        The steps of the proof are chosen by a search that is not trusted (``strategy``); it may be wrong in not finding
        one, or in giving a refutation.  ``small`` and ``quick`` are for the search.
        """
        question = Deduction(self.ask, given, goal)
        said = ask("attempt", self, question, small, quick)
        return _verdict(question.proved, said)

    def contradictory(self, given: tuple[Term, ...]) -> bool:
        """Whether it is proved that not all of the givens can be true."""
        return isinstance(self.prove(given, FALSE), Proved)

    def ask(self, script: Script) -> Verdict:
        """Whether the text of a query is unsatisfiable; how Z3 is asked is chosen outside (``answers``)."""
        said = ask("query", self, script)
        return _verdict(self.store.proved(script.text, self.budget), said)


def _verdict(proved: bool, said: object) -> Verdict:
    """What somebody said, if it says no more than what is so."""
    if proved:
        return said if type(said) is Proved else Proved()
    return said if is_one_of(type(said), (Refuted, Unknown)) else Unknown("no proof was found")  # type: ignore[return-value]
