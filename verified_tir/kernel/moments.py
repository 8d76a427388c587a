"""Which of two moments of a run comes first.

An access of a statement's instance is an event.  Its place, the path to it, and the values of the loops around it say
when it happens: read alternately they are the schedule vector of polyhedral compilers (2d + 1 entries: a position in a
sequence, the value of a loop, a position, …).
"""

from __future__ import annotations

from collections.abc import Sequence

from verified_tir.ir.paths import Path, at
from verified_tir.ir.stmt import For, Seq, Stmt
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term


def happens_before(stmt: Stmt, first: tuple[Path, Sequence[Term]], second: tuple[Path, Sequence[Term]]) -> Term:
    """That one place in ``stmt``, at some values of the loops around it, comes before another: in an earlier iteration
    of the loops around both, or in the same one and earlier in a sequence.

    A statement reads before it stores, of an ``if`` one arm runs, and iterations of a ``while`` loop are not told
    apart: of such pairs neither is said to come before the other.
    """
    (here, mine), (there, theirs) = first, second
    parts = next((k for k, (x, y) in enumerate(zip(here, there, strict=False)) if x != y), None)
    shared = min(len(here), len(there)) if parts is None else parts
    loops = sum(isinstance(at(stmt, here[:k]), For) for k in range(shared))
    xs, ys = list(mine[:loops]), list(theirs[:loops])
    earlier = lexicographic_less(xs, ys)
    if parts is not None and isinstance(at(stmt, here[:parts]), Seq) and here[parts] < there[parts]:
        earlier = f.or_(earlier, f.and_(*[f.eq(x, y) for x, y in zip(xs, ys, strict=True)]))
    return earlier


def lexicographic_less(xs: Sequence[Term], ys: Sequence[Term]) -> Term:
    """``xs`` comes before ``ys`` in the order of a loop nest, outermost first."""
    result = f.FALSE
    for x, y in reversed(list(zip(xs, ys, strict=True))):
        result = f.or_(f.lt(x, y), f.and_(f.eq(x, y), result))
    return result
