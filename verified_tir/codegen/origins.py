"""Where values come from, unchanged: whether two of them may be one to LLVM.

LLVM sees through names, memory, arithmetic that changes nothing (``x * 1.0``) and choices, so two values may be one
wherever both may come from one place.  All addresses in a block of memory are one place here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from typing import Final, TypeAlias, final

from verified_tir.codegen.constants import Constants, magnitudes
from verified_tir.codegen.definitions import Definitions
from verified_tir.ir.expr import (
    Binary,
    Broadcast,
    Call,
    Cast,
    Expr,
    FloatImm,
    IfThenElse,
    IntImm,
    LetExpr,
    Load,
    Select,
    Shuffle,
    Var,
)
from verified_tir.ir.visit import children

Places: TypeAlias = frozenset[Expr]
"""Blocks of memory (their data variables), loads from them, and expressions that compute something or choose."""
_UNITS: Final = {"add": 0.0, "sub": 0.0, "mul": 1.0, "div": 1.0}
"""The constants, of either sign, with which arithmetic changes no more than the sign."""


@final
class Origins:
    """Where the values of a program come from."""

    def __init__(self, definitions: Definitions, constants: Constants) -> None:
        self._definitions = definitions
        self._constants = constants
        self._near: dict[Expr, tuple[Places, Places]] = {}
        self._memory: dict[Expr, Places] = {}
        self._asked: dict[tuple[Expr, Callable[[Expr], bool]], bool] = {}
        self._meetings: dict[frozenset[Expr], bool] = {}

    def meet(self, a: Expr, b: Expr) -> bool:
        """Whether two values may come from one place."""
        (x, behind_x), (y, behind_y) = self._of(a), self._of(b)
        return (
            not x.isdisjoint(y)
            or any(not x.isdisjoint(self._in_memory(data)) for data in behind_y)
            or any(not y.isdisjoint(self._in_memory(data)) for data in behind_x)
            or any(self._blocks_meet(one, other) for one in behind_x for other in behind_y)
        )

    def among(self, places: Set[Expr], e: Expr, *, itself: bool) -> set[Expr]:
        """Those of some places that a value may come from.

        :param itself: whether the place may be this very computation, and not only one of its operands.
        """
        found = set[Expr]()
        for part in (e,) if itself else self._operands(self._definitions.get(e)):
            near, blocks = self._of(part)
            found |= places & near
            for data in blocks:
                found |= places & self._in_memory(data)
        return found

    def negated(self, e: Expr) -> bool:
        """Whether a value may have been negated on its way."""
        return self._any(e, _negates)

    def converted(self, e: Expr) -> bool:
        """Whether a value may have been converted from another type of floats."""
        return self._any(e, _converts)

    def _any(self, e: Expr, asked: Callable[[Expr], bool]) -> bool:
        near, blocks = self._of(e)
        return any(map(asked, near)) or any(self._any_in_memory(data, asked) for data in blocks)

    def _any_in_memory(self, data: Expr, asked: Callable[[Expr], bool]) -> bool:
        if (data, asked) not in self._asked:
            self._asked[data, asked] = any(map(asked, self._in_memory(data)))
        return self._asked[data, asked]

    def _blocks_meet(self, one: Expr, other: Expr) -> bool:
        both = frozenset({one, other})
        if both not in self._meetings:
            self._meetings[both] = not self._in_memory(one).isdisjoint(self._in_memory(other))
        return self._meetings[both]

    def _in_memory(self, data: Expr) -> Places:
        found = self._memory.get(data)
        if found is None:
            seen, pending = {data}, [data]
            while pending:
                for s in self._definitions.stored[pending.pop()]:
                    near, blocks = self._of(s.value)
                    pending += blocks - seen
                    seen |= near
            found = self._memory[data] = frozenset(seen)
        return found

    def _of(self, e: Expr) -> tuple[Places, Places]:
        """The places that a value comes from, up to memory, and the blocks of memory among them that are stored to."""
        found = self._near.get(e)
        if found is None:
            places = self._made_of(self._definitions.get(e))
            found = self._near[e] = places, frozenset(p for p in places if p in self._definitions.stored)
        return found

    def _places(self, e: Expr) -> Places:
        return self._of(e)[0]

    def _made_of(self, e: Expr) -> Places:
        match e:
            case FloatImm() | IntImm():
                return frozenset()
            case Var():
                return frozenset({e})
            case Load(buffer=buffer):
                return frozenset({e, buffer.data})
            case LetExpr(body=value) | Broadcast(value=value):
                return self._places(value)
            case Select(true_value=a, false_value=b) | IfThenElse(true_value=a, false_value=b):
                return self._places(a) | self._places(b) | {e}
            case Shuffle(vectors=vectors):
                return frozenset({e}).union(*(self._places(v) for v in vectors))
        return frozenset({e}).union(*(self._places(operand) for operand in self._operands(e)))

    def _operands(self, e: Expr) -> Iterator[Expr]:
        """The operands that a computed value may be."""
        if isinstance(e, Binary) and e.op in _UNITS and e.dtype.is_float:
            units = magnitudes(e.dtype.scalar, _UNITS[e.op])
            yield from (x for x, other in ((e.a, e.b), (e.b, e.a)) if self._constants.of(other) & units)
        else:
            yield from (child for child in children(e) if isinstance(child, Expr))


def _negates(place: Expr) -> bool:
    return isinstance(place, Call) or (isinstance(place, Binary) and place.op in _UNITS)


def _converts(place: Expr) -> bool:
    return isinstance(place, Cast) and place.value.dtype.is_float


__all__ = ["Origins", "Places"]
