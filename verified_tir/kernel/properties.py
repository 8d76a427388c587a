"""Properties of one element that are worth trying as invariants: what holds before, and is kept by every store, holds.

Nothing here is trusted: each is proved before it is used.
"""

from __future__ import annotations

from verified_tir.kernel.memory import Element
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term


class Property:
    """A property of one element's value and definedness (a callable; see ``candidates``)."""

    def __init__(self, kind: str, bound: Term | None = None) -> None:
        self.kind = kind
        self.bound = bound

    def __call__(self, value: Term, defined: Term) -> Term:
        if self.kind == "defined":
            return defined
        assert self.bound is not None
        if self.kind == "differs":
            return f.implies(defined, f.ne(value, self.bound))
        if self.kind == "equals":
            return f.implies(defined, f.eq(value, self.bound))
        return f.implies(defined, f.le(self.bound, value))


def candidates(e: Element, chosen: bool) -> list[tuple[str, Property]]:
    """Properties worth trying, by type.  Trying one costs a query; a wrong one is merely not proved.

    ``chosen``: what is stored is chosen from several, as a maximum is; then a NaN matters.
    """
    found = [("stays defined", Property("defined"))]
    sort = e.value.sort
    if sort in f.FLOAT_SORTS:
        found.append(("is never -0.0", Property("differs", f.negative_zero(sort))))
        found.append(("is always 0.0", Property("equals", f.positive_zero(sort))))
        if chosen:
            found.append(("is never NaN", Property("differs", f.not_a_number(sort))))
    elif sort == f.INT:
        found.append(("is never negative", Property("at least", f.integer(0))))
    return found
