"""Deductions: how the goal of a question is found to follow from its givens, by steps that somebody else chooses.

A :class:`Deduction` holds formulas that are *known*: true wherever the givens are.  A formula gets in by one of these
rules only:

* *given*: a given, and the parts of a known conjunction;
* *ask*: what follows from known formulas, or does so if less is known of what they mean (``generalise``): as the solver
  says, or by steps of its own;
* *fact*: what holds of an operation for all operands (``partly_known``);
* *substitute*: a known formula with equals put for equals.

Which steps are tried in which order is search (``strategy``), which has no place here: whoever searches calls these
methods, and gets nothing in otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import final

from verified_tir.logic.formula import FALSE, TRUE, Term, eq, replace
from verified_tir.logic.generalise import Hidden, generalise
from verified_tir.logic.partly_known import facts_about, is_hard
from verified_tir.logic.smtlib import Script, query
from verified_tir.logic.verdict import Proved, Verdict


def _terms(given: Iterable[Term]) -> tuple[Term, ...]:
    """The terms as a tuple; objects of any other type are refused."""
    found = tuple(given)
    if any(type(t) is not Term for t in found):
        raise TypeError("a deduction is about terms")
    return found


@final
class Deduction:
    """Does ``goal`` follow from ``given``?  The premises of an implication that is to be shown are givens."""

    def __init__(self, solver: Callable[[Script], Verdict], given: Iterable[Term], goal: Term) -> None:
        """:param solver: says whether the text of a query is unsatisfiable."""
        given = dict.fromkeys(g for g in given if g is not TRUE)
        while goal.op == "=>" and goal not in given:
            given[goal.args[0]] = None
            goal = goal.args[1]
        self.given, self.goal = tuple(given), goal
        self._solver = solver
        self._known = {TRUE}
        self._goals = {goal}
        """Formulas of which each implies the goal where the givens are true."""
        self._learn(given)

    def _learn(self, formulas: Iterable[Term]) -> None:
        for t in formulas:
            self._known.add(t)
            if t.op == "and":
                self._learn(t.args)

    @property
    def proved(self) -> bool:
        """Whether the goal is known."""
        known = self._known
        return FALSE in known or any(g in known or (g.op == "and" and known.issuperset(g.args)) for g in self._goals)

    def ask(
        self, given: Sequence[Term], goal: Term, hidden: Hidden | None = None,
        search: Callable[[Deduction], Verdict] | None = None,
    ) -> Verdict:  # fmt: skip
        """Ask a question, of the solver or of a search for its steps; if it is proved, its goal is known from
        then on."""
        *assumed, claimed = sequent = _terms((*given, goal))
        *premises, claim = sequent if hidden is None else generalise(sequent, hidden)
        if search is None:
            verdict = self._solver(query(tuple(premises), claim))
            proved = type(verdict) is Proved
        else:
            question = Deduction(self._solver, premises, claim)
            verdict, proved = search(question), question.proved
        if proved and self._known.issuperset(assumed):
            self._learn((claimed,))
        return verdict

    def facts(self, t: Term) -> tuple[Term, ...]:
        """Facts that hold of a product or of a bitwise operation, if ``t`` is one; they are known from then on."""
        found = tuple(facts_about(t)) if is_hard(*_terms((t,))) else ()
        self._learn(found)
        return found

    def knows(self, t: Term) -> bool:
        """Whether a formula is known."""
        return t in self._known

    def substitute(self, equal: Mapping[Term, Term], formulas: Sequence[Term]) -> list[Term]:
        """Replace terms in formulas by terms that are known to be equal.

        Each is as true as it was, so what is known remains known, and what was to be shown may be shown as it is now.
        """
        formulas, equal = _terms(formulas), dict(zip(_terms(equal), _terms(equal.values()), strict=True))
        if not all(eq(a, b) in self._known or eq(b, a) in self._known for a, b in equal.items()):
            return list(formulas)
        memo: dict[Term, Term] = {}
        found = [replace(t, equal, memo) for t in formulas]
        for old, new in zip(formulas, found, strict=True):
            if old in self._known:
                self._learn((new,))
            if old in self._goals:
                self._goals.add(new)
        return found
