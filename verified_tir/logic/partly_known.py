"""Facts that are true of products and bitwise operations for all operands.

With these facts among the givens, what the operations do can be hidden (``generalise``): the same in either order; what
0, 1 and -1 (for bits: none and all) do; for bits, what two equal operands give, and the range.  Nothing more is needed
where two programs compute nearly the same of nearly the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterator

from verified_tir.logic.formula import BITWISE, INT, ZERO, Term, between, eq, euclid_mod, implies, integer, make, neg


def is_hard(t: Term) -> bool:
    """Whether integers are multiplied of which none is a number, or combined bit by bit."""
    return (t.op == "*" and all(a.op != "const" for a in t.args)) or t.op in BITWISE


def facts_about(t: Term) -> Iterator[Term]:
    """Formulas that hold for all values; ``t`` is hard.

    The operands of a bitwise operation count modulo 2**bits (its payload), and its result lies between 0 and that.
    """
    a, b = t.args
    yield eq(t, make(t.op, (b, a), INT, t.payload))
    if t.op != "*":
        end = integer(2 ** int(str(t.payload)))
        a, b = euclid_mod(a, end), euclid_mod(b, end)
        yield between(ZERO, t, end)
        yield implies(eq(a, b), eq(t, ZERO if t.op == "bvxor" else a))
    for x, y in ((a, b), (b, a)):
        for operand, result in _with_one_known(t, y):
            yield implies(eq(x, operand), eq(t, result))


def _with_one_known(t: Term, y: Term) -> tuple[tuple[Term, Term], ...]:
    """Numbers that one operand may be, with the result for each; ``y`` is the other operand."""
    if t.op == "*":
        return (ZERO, ZERO), (integer(1), y), (integer(-1), neg(y))
    every = integer(2 ** int(str(t.payload)) - 1)
    return {"bvand": ((ZERO, ZERO), (every, y)), "bvor": ((ZERO, y), (every, every)), "bvxor": ((ZERO, y),)}[t.op]
