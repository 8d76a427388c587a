"""Proofs: what Z3 is asked, and what it was asked before.

Verdicts are cached by the text of the query; with a ``store`` on disk too.  Both know the budget with which something
remained unknown, and another budget asks again.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from typing import Any, final

from verified_tir.ir.exact import is_one_of
from verified_tir.ir.outside import ask
from verified_tir.logic.deduction import Deduction
from verified_tir.logic.formula import FALSE, Term
from verified_tir.logic.smtlib import Script
from verified_tir.logic.verdict import Proved, Refuted, Unknown, Verdict
from verified_tir.logic.verdict_store import VerdictsInMemory, VerdictStore
from verified_tir.logic.z3_query import INTEGER_BUDGET, NO_VALUES, Z3, Answer


@final
@dataclass(slots=True)
class Statistics:
    """Counts of what was asked, for reports and benchmarks.

    ``queries`` were put to Z3 and ``cached`` ones were not, since their text was known (``stored``: to a store, and not
    here); ``trivial`` goals became no query.  ``solving`` are the seconds that Z3 took.
    """

    queries: int = 0
    cached: int = 0
    stored: int = 0
    trivial: int = 0
    solving: float = 0.0


@final
@dataclass(slots=True)
class Solver:
    """A Z3 session with its cache.  Not for use from several threads at once.

    :param budget: resource limit of an integer query, at least 1; queries about floats alone get ten times as much.
    :param store: answers of other solvers, none unless given.  They are believed, so whoever opens a store vouches for
        it.
    :param small: whether small values are sought for a refutation, where somebody may read them.
    :raises ValueError: for a smaller budget (Z3 takes 0 for no limit).
    """

    budget: int = INTEGER_BUDGET
    statistics: Statistics = field(init=False, default_factory=Statistics)
    store: VerdictStore | VerdictsInMemory | None = None
    small: bool = True
    _cache: dict[tuple[str, int], Answer] = field(init=False, default_factory=dict)
    _z3: Z3 = field(init=False, default_factory=Z3)

    def __post_init__(self) -> None:
        if self.budget < 1:
            raise ValueError(f"the budget of a solver is at least 1, not {self.budget}")

    def prove(
        self, given: tuple[Term, ...], goal: Term, small: tuple[Term, ...] = (), *, quick: bool = False
    ) -> Verdict:
        """Whether ``goal`` follows from ``given``; a refutation is sought with the terms ``small`` small first.

        The steps of the proof are chosen by a search that is not trusted (``strategy``); it may be wrong in not finding
        one, or in giving a refutation.  ``quick`` lets it leave a question about floats unknown where no lemma proves
        it.  The values of a refutation are looked for when they are read: they are the same in each process only if
        they come of a fresh context, and that takes most of the time.
        """
        question = Deduction(self, given, goal)
        verdict = ask("attempt", question, small, quick)
        if question.proved:
            return verdict if type(verdict) is Proved else Proved()
        return verdict if is_one_of(type(verdict), (Refuted, Unknown)) else Unknown("no proof was found")

    def consistent(self, given: tuple[Term, ...]) -> bool | None:
        """Whether the givens can all be true (``None``: not known)."""
        verdict = self.prove(given, FALSE)
        return None if isinstance(verdict, Unknown) else isinstance(verdict, Refuted)

    def ask(self, script: Script) -> Verdict:
        """One query to Z3, or its cached verdict."""
        if type(script.text) is not str:
            raise TypeError("a query is a text")
        key, counts, how = (script.text, self.budget), self.statistics, "cached"
        answer = self._cache.get(key)
        if answer is None and self.store is not None:
            answer = self.store.load(*key)
            counts.stored += answer is not None
        counts.cached += answer is not None
        if answer is None:
            counts.queries += 1
            answer, how = self._check(script, self.budget), "z3"
        self._cache[key] = answer
        match answer:
            case "unsat", _:
                return Proved(how=how)
            case "sat", _:
                return Refuted(ask("model", script, partial(self._values, script, self.budget)), how=how)
            case _, reason:
                return Unknown(reason, how=how)

    def _values(self, script: Script, budget: int) -> Any:
        """Values for a query that is known to have some; none if the budget does not suffice to find them."""
        answer = self._cache.get((script.text, budget), NO_VALUES)
        if answer == NO_VALUES:
            answer = self._check(script, budget, afresh=True)
        return answer[1] if answer[0] == "sat" else None

    def _check(self, script: Script, budget: int, *, afresh: bool = False) -> Answer:
        """Z3's answer, which is kept; ``afresh`` for the values of a query that was refuted before."""
        start = time.perf_counter()
        answer = self._z3.check(script, budget, afresh=afresh)
        self.statistics.solving += time.perf_counter() - start
        if answer[0] == "sat" or not afresh:
            self._cache[script.text, budget] = answer
            if self.store is not None:
                self.store.save(script.text, budget, answer)
        return answer
