"""Proofs: what Z3 is asked, in which parts, and what it was asked before.

Verdicts are cached by the text of the query; with a ``store`` on disk too.  Both know the budget with which something
remained unknown, and another budget asks again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol, final

from verified_tir.logic.formula import FALSE, INT, TRUE, Term, and_, integer, le, names_in, subterms
from verified_tir.logic.partly_known import partly_known
from verified_tir.logic.smtlib import Script, query
from verified_tir.logic.verdict import Model, Proved, Refuted, Sorts, Unknown, Values, Verdict
from verified_tir.logic.z3_query import INTEGER_BUDGET, NO_VALUES, Z3, Answer, named


class Store(Protocol):
    """Answers that outlive the process.  They are believed, so whoever opens a store vouches for it."""

    def load(self, text: str, budget: int) -> Answer | None:
        """The answer to a query that was asked with this budget, if there is one."""
        ...

    def save(self, text: str, budget: int, answer: Answer) -> bool:
        """Keep an answer; whether it is kept."""
        ...


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
    :param store: answers of other processes; none unless given.
    :param small: whether small values are sought for a refutation, where somebody may read them.
    :raises ValueError: for a smaller budget (Z3 takes 0 for no limit).
    """

    budget: int = INTEGER_BUDGET
    statistics: Statistics = field(init=False, default_factory=Statistics)
    store: Store | None = None
    small: bool = True
    _cache: dict[tuple[str, int], Answer] = field(init=False, default_factory=dict)
    _z3: Z3 = field(init=False, default_factory=Z3)

    def __post_init__(self) -> None:
        if self.budget < 1:
            raise ValueError(f"the budget of a solver is at least 1, not {self.budget}")

    def prove(
        self,
        given: tuple[Term, ...],
        goal: Term,
        small: tuple[Term, ...] = (),
        *,
        quick: bool = False,
    ) -> Verdict:
        """Whether ``goal`` follows from ``given``; a refutation is sought with the terms ``small`` small first.

        ``quick`` leaves a question about floats unknown where the lemma of ``floats`` does not prove it.  The
        values of a refutation are looked for when they are read: they are the same in each process only if they come of
        a fresh context, and that takes most of the time.
        """
        counts = self.statistics
        queries, cached, solving = counts.queries, counts.cached, counts.solving
        verdict = self._prove(given, goal, small if self.small else (), quick)
        how = verdict.how
        if counts.queries == queries:
            how = "trivial" if counts.cached == cached else "cached"
        elif how in ("trivial", "cached"):  # of its last part
            how = "z3"
        return replace(verdict, seconds=counts.solving - solving, how=how)

    def consistent(self, given: tuple[Term, ...]) -> bool | None:
        """Whether the givens can all be true (``None``: not known)."""
        verdict = self.prove(given, FALSE)
        return None if isinstance(verdict, Unknown) else isinstance(verdict, Refuted)

    def _prove(self, given: tuple[Term, ...], goal: Term, small: tuple[Term, ...], quick: bool) -> Verdict:
        given = tuple(dict.fromkeys(g for g in given if g is not TRUE))
        if goal is TRUE or goal in given or FALSE in given:
            self.statistics.trivial += 1
            return Proved(how="trivial")
        if goal.op == "=>":
            return self._prove((*given, goal.args[0]), goal.args[1], small, quick)
        near = relevant(given, goal)
        if goal.op == "and":
            if not goal.has_float and isinstance(verdict := self._decide(near, goal, quick), Proved):
                return verdict
            for part in goal.args:
                verdict = self._prove(given, part, small, quick)
                if not isinstance(verdict, Proved):
                    return verdict
            return Proved()
        verdict = self._decide(near, goal, quick)
        if len(near) < len(given) and not isinstance(verdict, Proved):
            verdict = self._decide(given, goal, quick)
        if isinstance(verdict, Refuted) and small:
            verdict = self._smaller(given, goal, small, quick) or verdict
        return verdict

    def _smaller(self, given: tuple[Term, ...], goal: Term, small: tuple[Term, ...], quick: bool) -> Refuted | None:
        for bound in (4, 8, 16, 64):
            limits = tuple(and_(le(integer(-bound), t), le(t, integer(bound))) for t in small)
            verdict = self._decide((*given, *limits), goal, quick)
            if isinstance(verdict, Refuted):
                return verdict
        return None

    def _decide(self, given: tuple[Term, ...], goal: Term, quick: bool) -> Verdict:
        if goal.has_float or any(g.has_float for g in given):
            from verified_tir.logic.floats import prove_by_lemma

            proved = prove_by_lemma(self, given, goal)
            if proved is not None:
                return proved
            if quick:
                return Unknown("it is not decided without the floats, and no float lemma applies")
        elif goal.has_bits or any(g.has_bits for g in given):
            verdict = self.ask(query(*partly_known(given, goal)))
            if isinstance(verdict, Proved):
                return verdict
        return self.ask(query(given, goal))

    def ask(self, script: Script) -> Verdict:
        """One query to Z3, or its cached verdict."""
        key, counts, how = (script.text, self.budget), self.statistics, "cached"
        answer = self._cache.get(key)
        if answer is None and self.store is not None:
            answer = self.store.load(*key)
            counts.stored += answer is not None
        counts.cached += answer is not None
        if answer is None:
            counts.queries += 1
            answer, how = self._timed(self._z3.check, script, self.budget), "z3"
            if self.store is not None:
                self.store.save(*key, answer)
        self._cache[key] = answer
        match answer:
            case "unsat", _:
                return Proved(how=how)
            case "sat", None:
                return Refuted(Model.later(partial(self._values, script, self.budget)), how=how)
            case "sat", values:
                return Refuted(Model(*named(values, script)), how=how)
            case _, reason:
                return Unknown(reason, how=how)

    def _values(self, script: Script, budget: int) -> tuple[Values, Sorts]:
        """Values for a query that is known to have some; none if the budget does not suffice to find them."""
        key = script.text, budget
        answer = self._cache.get(key, NO_VALUES)
        if answer == NO_VALUES:
            answer = self._timed(self._z3.check_afresh, script, budget)
            if answer[0] != "sat":
                return {}, {}
            self._cache[key] = answer
            if self.store is not None:
                self.store.save(*key, answer)
        return named(answer[1], script)

    def _timed(self, check: Callable[[Script, int], Answer], script: Script, budget: int) -> Answer:
        start = time.perf_counter()
        answer = check(script, budget)
        self.statistics.solving += time.perf_counter() - start
        return answer


def relevant(given: tuple[Term, ...], goal: Term) -> tuple[Term, ...]:
    """The givens connected to the goal through shared variables and functions.  Dropping the others loses no proof
    that does not rest on a contradiction among them."""
    names = [names_in(g) for g in given]
    reached = {*names_in(goal)}
    chosen = [False] * len(given)
    grew = True
    while grew:
        grew = False
        for k, own in enumerate(names):
            if not chosen[k] and (own & reached or not own):
                chosen[k] = grew = True
                reached |= own
    return tuple(g for g, c in zip(given, chosen, strict=True) if c)


def symbols(*terms: Term) -> list[Term]:
    """The free integer variables of the terms, in order of occurrence."""
    return [t for t in subterms(*terms) if t.op == "var" and t.sort == INT]
