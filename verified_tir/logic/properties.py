"""Properties of one element that are worth trying as invariants: what holds before, and is kept by every store, holds.

Nothing here is trusted: each is proved before it is used.
"""

from __future__ import annotations

from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term


def properties(value: Term, defined: Term, chosen: bool) -> list[tuple[str, Term]]:
    """What may be true of an element of this value, if it is defined, each with a name.

    Trying one costs a query; a wrong one is merely not proved.

    :param chosen: what is stored is chosen from several, as a maximum is; then a NaN matters.
    """
    found = [("is defined", defined)]
    sort = value.sort
    if sort in f.FLOAT_SORTS:
        found.append(("is never -0.0", f.implies(defined, f.ne(value, f.negative_zero(sort)))))
        found.append(("is always 0.0", f.implies(defined, f.eq(value, f.floating(sort, 0)))))
        if chosen:
            found.append(("is never NaN", f.implies(defined, f.ne(value, f.not_a_number(sort)))))
    elif sort == f.INT:
        found.append(("is never negative", f.implies(defined, f.le(f.integer(0), value))))
    return found
