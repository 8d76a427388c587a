"""Generalisation: a question is asked with terms and operations replaced by variables and uninterpreted functions.

Nonlinear arithmetic is hard, bits among integers are harder, and floats among integers are harder still; but where two
programs compute the same of the same operands, nothing of the operation is needed: equal operands have equal results.
So terms become variables, and operations become functions of which nothing is known.

Theorem.  If the goal follows from the givens in ``generalise((*given, goal), hidden)``, then ``goal`` follows from
``given``, whatever is hidden.  Suppose ``given`` are true for some values of their variables and functions.  Give each
new variable the value of the term that it stands for, and let each new function be the operation that it stands for.
Then each new term has the value of the old one; so the new givens are true, hence the new goal is, hence ``goal`` is.
A new variable stands for one term and a new function for one operation, since they are called by these; and no
variable or function of a program is called as they are: its name is a text, and theirs are tuples.

Where floats are hidden, a float becomes an integer that stands for it.  There are finitely many of each sort, so they
can be numbered; equality of floats is equality of values (see ``formula``), and so of their numbers.

A model of a generalised question need not be one of the question.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from verified_tir.logic.formula import FLOAT_SORTS, INT, Term, fold, make, rebuild, subterms


class Hidden(NamedTuple):
    """What a question is asked without: what the ``values`` of some terms are, what the ``operations`` at the head of
    others do, and, if ``floats`` is true, everything about floats but that equal operands give equal results."""

    values: Collection[Term] = ()
    operations: Collection[Term] = ()
    floats: bool = False


def generalise(terms: tuple[Term, ...], hidden: Hidden) -> tuple[Term, ...]:
    """The terms without what is hidden."""
    floats = hidden.floats is True  # of all floats, or of none: some that are numbers would be taken for integers

    def sort_of(t: Term) -> str:
        return INT if floats and t.sort in FLOAT_SORTS else t.sort

    def build(t: Term, args: tuple[Term, ...]) -> Term:
        sorts = (t.sort, *[a.sort for a in t.args])
        float_operation = t.op not in ("=", "ite") and not FLOAT_SORTS.keys().isdisjoint(sorts)
        if t in hidden.operations or (floats and float_operation):
            return make("app", args, sort_of(t), (t.op, t.payload, *sorts))
        return fold(t, args)

    leaves = [t for t in subterms(*terms) if t.sort in FLOAT_SORTS and not t.args] if floats else []
    values = [t for t in hidden.values if type(t) is Term]
    memo = {t: make("var", (), sort_of(t), ("value", t)) for t in (*values, *leaves)}
    return tuple([rebuild(t, build, memo) for t in terms])
