"""What values are made of, however they are computed."""

from __future__ import annotations

from typing import TypeAlias, final

from verified_tir.codegen.definitions import Definitions
from verified_tir.ir.expr import Broadcast, Expr, FloatImm, IfThenElse, IntImm, LetExpr, Load, Select, Shuffle, Var
from verified_tir.ir.visit import children

_Made: TypeAlias = tuple[frozenset[Expr], bool]


@final
class Leaves:
    """The blocks of memory (their data variables) and the variables that values are made of."""

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions
        self._near: dict[Expr, _Made] = {}
        self._memory: dict[Expr, _Made] = {}

    def of(self, e: Expr) -> frozenset[Expr]:
        """The leaves of an expression, and of what was stored to them."""
        near, _ = self._of(e)
        return near.union(*(self._in_memory(data)[0] for data in near if data in self._definitions.stored))

    def computed(self, e: Expr) -> bool:
        """Whether a value may have been computed, and not only been loaded or chosen."""
        near, computed = self._of(e)
        return computed or any(self._in_memory(data)[1] for data in near if data in self._definitions.stored)

    def _in_memory(self, data: Expr) -> _Made:
        found = self._memory.get(data)
        if found is None:
            seen, pending, computed = {data}, [data], False
            while pending:
                for s in self._definitions.stored.get(pending.pop(), ()):
                    near, more = self._of(s.value)
                    pending += near - seen
                    seen |= near
                    computed |= more
            found = self._memory[data] = frozenset(seen), computed
        return found

    def _of(self, e: Expr) -> _Made:
        found = self._near.get(e)
        if found is None:
            found = self._near[e] = self._made_of(self._definitions.get(e))
        return found

    def _made_of(self, e: Expr) -> _Made:
        parts: tuple[Expr, ...]
        computed = False
        match e:
            case FloatImm() | IntImm():
                return frozenset(), False
            case Var():
                return frozenset({e}), False
            case Load(buffer=buffer):
                return frozenset({buffer.data}), False
            case LetExpr(body=value) | Broadcast(value=value):
                return self._of(value)
            case Select(true_value=a, false_value=b) | IfThenElse(true_value=a, false_value=b):
                parts = (a, b)
            case Shuffle(vectors=vectors):
                parts = vectors
            case _:
                parts = tuple(child for child in children(e) if isinstance(child, Expr))
                computed = True
        made = [self._of(part) for part in parts]
        return frozenset[Expr]().union(*(leaves for leaves, _ in made)), computed or any(more for _, more in made)


__all__ = ["Leaves"]
