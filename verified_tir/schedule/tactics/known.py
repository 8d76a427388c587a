"""What is known at a place: conditions passed on the way there, and assumptions made before.

Both are only proposals for the simplifier: what comes of them is a ``rewrite`` that the kernel proves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, final

from verified_tir.index.conditions import conjuncts, facts_of, negate
from verified_tir.ir.expr import Binary, Expr, IntImm, Load
from verified_tir.ir.poly import Poly

Values: TypeAlias = tuple[tuple[Load, Expr], ...]
"""Loads, and the constants that an assumption says they give."""


@final
@dataclass(frozen=True, slots=True)
class Known:
    """``facts`` are polynomials in index variables and symbols that are ≥ 0, ``values`` what assumptions say of memory.

    Facts hold for good, since variables do not change.  A value may be overwritten; the kernel sees to that.
    """

    facts: tuple[Poly, ...] = ()
    values: Values = ()

    def given(self, condition: Expr) -> Known:
        """This, where a condition is true."""
        return Known((*self.facts, *facts_of(conjuncts(condition))), self.values)

    def denied(self, condition: Expr) -> Known:
        """This, where a condition is false."""
        return self.given(negate(condition))

    def assuming(self, condition: Expr) -> Known:
        """This, after an assumption."""
        more = self.given(condition)
        return Known(more.facts, (*_values(conjuncts(condition)), *more.values))


def _values(conditions: Sequence[Expr]) -> Iterator[tuple[Load, Expr]]:
    for condition in conditions:
        match condition:
            case Binary(op="eq", a=Load() as load, b=IntImm() as value) if load.dtype.lanes == 1:
                yield load, value
            case Binary(op="eq", a=IntImm() as value, b=Load() as load) if load.dtype.lanes == 1:
                yield load, value
