"""Where values come from, unchanged: whether two of them may be one to LLVM.

LLVM sees through names, memory, arithmetic that changes nothing (``x * 1.0``) and choices, so two values may be one
wherever both may come from one place.  All addresses in a block of memory are one place here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from functools import cache
from typing import Final, TypeAlias, final

from verified_tir.codegen.constants import Constants, Found
from verified_tir.codegen.definitions import Definitions
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import (
    Binary,
    Broadcast,
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
from verified_tir.ir.floats import bits_of
from verified_tir.ir.visit import children

Places: TypeAlias = frozenset[Expr]
"""Blocks of memory (their data variables), loads from them, and expressions that compute something or choose."""
_UNITS: Final = {"add": (0.0, -0.0), "sub": (0.0, -0.0), "mul": (1.0, -1.0), "div": (1.0, -1.0)}


@final
class Origins:
    """Where the values of a program come from.

    :param kept: whether arithmetic has to keep a value for it to come from there; otherwise all operands count.
    """

    def __init__(self, definitions: Definitions, constants: Constants, *, kept: bool) -> None:
        self._definitions = definitions
        self._constants = constants
        self._kept = kept
        self._near: dict[Expr, Places] = {}
        self._memory: dict[Expr, Places] = {}
        self._asked: dict[tuple[Expr, Callable[[Expr], bool]], bool] = {}
        self._meetings: dict[frozenset[Expr], bool] = {}

    def meet(self, a: Expr, b: Expr) -> bool:
        """Whether two values may come from one place."""
        x, y = self._of(a), self._of(b)
        if not x.isdisjoint(y):
            return True
        behind_x, behind_y = self._blocks(x), self._blocks(y)
        return (
            any(not x.isdisjoint(self._in_memory(data)) for data in behind_y)
            or any(not y.isdisjoint(self._in_memory(data)) for data in behind_x)
            or any(self._blocks_meet(one, other) for one in behind_x for other in behind_y)
        )

    def among(self, places: Set[Expr], e: Expr, *, itself: bool) -> set[Expr]:
        """Those of some places that a value may come from.

        :param itself: whether the place may be this very computation, and not only one of its operands.
        """
        found = set[Expr]()
        for part in (e,) if itself else self._operands(self._definitions.get(e)):
            near = self._of(part)
            found |= places & near
            for data in self._blocks(near):
                found |= places & self._in_memory(data)
        return found

    def computed(self, e: Expr) -> bool:
        """Whether a value may have been computed, and not only been loaded or chosen."""
        return self._any(e, _computes)

    def converted(self, e: Expr) -> bool:
        """Whether a value may have been converted from another type of floats."""
        return self._any(e, _converts)

    def _any(self, e: Expr, asked: Callable[[Expr], bool]) -> bool:
        near = self._of(e)
        return any(map(asked, near)) or any(self._any_in_memory(data, asked) for data in self._blocks(near))

    def _any_in_memory(self, data: Expr, asked: Callable[[Expr], bool]) -> bool:
        if (data, asked) not in self._asked:
            self._asked[data, asked] = any(map(asked, self._in_memory(data)))
        return self._asked[data, asked]

    def _blocks(self, places: Places) -> list[Expr]:
        return [p for p in places if p in self._definitions.stored]

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
                    new = self._of(s.value) - seen
                    seen |= new
                    pending += self._blocks(new)
            found = self._memory[data] = frozenset(seen)
        return found

    def _of(self, e: Expr) -> Places:
        """The places that a value comes from, up to what memory holds."""
        found = self._near.get(e)
        if found is None:
            found = self._near[e] = self._made_of(self._definitions.get(e))
        return found

    def _made_of(self, e: Expr) -> Places:
        match e:
            case FloatImm() | IntImm():
                return frozenset()
            case Var():
                return frozenset({e})
            case Load(buffer=buffer):
                return frozenset({e, buffer.data})
            case LetExpr(body=value) | Broadcast(value=value):
                return self._of(value)
            case Select(true_value=a, false_value=b) | IfThenElse(true_value=a, false_value=b):
                return self._of(a) | self._of(b) | {e}
            case Shuffle(vectors=vectors):
                return frozenset({e}).union(*(self._of(v) for v in vectors))
        return frozenset({e}).union(*(self._of(operand) for operand in self._operands(e)))

    def _operands(self, e: Expr) -> Iterator[Expr]:
        """The operands that a computed value may be."""
        if self._kept and isinstance(e, Binary) and e.op in _UNITS and e.dtype.is_float:
            units = _units(e.op, e.dtype.scalar)
            yield from (x for x, other in ((e.a, e.b), (e.b, e.a)) if self._constants.of(other) & units)
        else:
            yield from (child for child in children(e) if isinstance(child, Expr))


@cache
def _units(op: str, dtype: DType) -> Found:
    """The constants that arithmetic may be undone by, if only its sign changes."""
    return frozenset({None, *(bits_of(dtype, unit) for unit in _UNITS[op])})


def _computes(place: Expr) -> bool:
    return not isinstance(place, (Var, Load, Select, IfThenElse, Shuffle))


def _converts(place: Expr) -> bool:
    return isinstance(place, Cast) and place.value.dtype.is_float


__all__ = ["Origins", "Places"]
