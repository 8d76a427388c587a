"""Long float sums, compared by their summands: the same terms, in whatever order and association.

``normal.py`` finds it too, with normal forms of everything beneath, at ten times the cost.
"""

from __future__ import annotations

from heapq import heappop, heappush

from verified_tir.validate.terms import Terms


def same_summands(terms: Terms, a: int, b: int) -> bool:
    """Whether two terms are sums of floats of one type with the same summands.

    As in a normal form over the reals, it counts that 0.0 is among the summands, and not how often.
    """
    dtype = terms.dtype_of(a)
    if terms.op_of(a) != "add" or terms.op_of(b) != "add" or not dtype.is_float or terms.dtype_of(b) is not dtype:
        return False
    return _summands(terms, a) == _summands(terms, b)


def _summands(terms: Terms, root: int) -> tuple[bool, dict[int, int]]:
    """Whether 0.0 is among the summands, and how often each of the others is.

    A sum that is a summand twice is taken apart once: ``x + x`` of ``y + y`` of … has twice as many with each step.
    """
    dtype = terms.dtype_of(root)
    add, zero = terms.code("add", dtype), terms.constant(dtype, 0.0)
    codes, first, second = (terms.columns[k].item for k in range(3))
    found: dict[int, int] = {}
    times = {root: 1}
    sums = [-root]  # the latest one first: what a term is made of was there before it
    while sums:
        term = -heappop(sums)
        often = times.pop(term)
        for operand in (first(term), second(term)):
            if codes(operand) != add:
                found[operand] = found.get(operand, 0) + often
            elif operand in times:
                times[operand] += often
            else:
                times[operand] = often
                heappush(sums, -operand)
    return found.pop(zero, 0) > 0, found
