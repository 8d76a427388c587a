"""Long float sums, compared by their summands: the same terms, in whatever order and association.

``normal.py`` finds it too, with normal forms of everything beneath, at ten times the cost.
"""

from __future__ import annotations

from verified_tir.validate.terms import Terms


def same_summands(terms: Terms, a: int, b: int) -> bool:
    """Whether two terms are sums of floats of one type with the same summands.

    As in a normal form over the reals, it counts that 0.0 is among the summands, and not how often.
    """
    dtype = terms.dtype_of(a)
    if terms.op_of(a) != "add" or terms.op_of(b) != "add" or not dtype.is_float or terms.dtype_of(b) is not dtype:
        return False
    return _summands(terms, a) == _summands(terms, b)


def _summands(terms: Terms, root: int) -> tuple[bool, list[int]]:
    """Whether 0.0 is among the summands, and the others in ascending order."""
    dtype = terms.dtype_of(root)
    add, zero = terms.code("add", dtype), terms.constant(dtype, 0.0)
    codes, first, second = (terms.columns[k].item for k in range(3))
    found: list[int] = []
    stack = [root]
    while stack:
        term = stack.pop()
        if codes(term) == add:
            stack.append(first(term))
            stack.append(second(term))
        else:
            found.append(term)
    found.sort()
    return zero in found, [term for term in found if term != zero]
