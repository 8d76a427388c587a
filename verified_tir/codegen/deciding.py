"""What the stores and expressions of a program depend on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias, final

from verified_tir.codegen.constants import Constants
from verified_tir.codegen.definitions import Definitions, is_order
from verified_tir.ir.expr import Binary, Expr, Load, Var
from verified_tir.ir.stmt import For, If, Stmt, Store, While
from verified_tir.ir.visit import children

Controls: TypeAlias = tuple[tuple[Expr, bool | None], ...]
"""The conditions that a statement stands under, and whether in the branch where it is true; ``None`` is a loop."""


def controlled_stores(body: Stmt) -> Iterator[tuple[Store, Controls]]:
    """The stores of a program, each with what decides whether it happens, or where."""
    stack: list[tuple[Stmt, Controls]] = [(body, ())]
    while stack:
        stmt, controls = stack.pop()
        match stmt:
            case Store(indices=indices, predicate=predicate):
                where = indices if predicate is None else (*indices, predicate)
                yield stmt, (*controls, *((e, None) for e in where))
            case If(condition=condition, then_body=then, else_body=otherwise):
                stack.append((then, (*controls, (condition, True))))
                if otherwise is not None:
                    stack.append((otherwise, (*controls, (condition, False))))
            case For(min=low, extent=extent, body=inner):
                stack.append((inner, (*controls, (low, None), (extent, None))))
            case While(condition=condition, body=inner):
                stack.append((inner, (*controls, (condition, None))))
            case _:
                stack += [(child, controls) for child in children(stmt) if isinstance(child, Stmt)]


@final
class Deciding:
    """The comparisons of floats, minima and maxima among them, that an expression may depend on."""

    def __init__(
        self, definitions: Definitions, constants: Constants, stores: Sequence[tuple[Store, Controls]]
    ) -> None:
        self._definitions = definitions
        self._constants = constants
        self._deciding: dict[Var, list[Expr]] = {}
        for s, controls in stores:
            self._deciding.setdefault(s.buffer.data, []).extend((s.value, *(e for e, _ in controls)))
        self._near: dict[Expr, tuple[frozenset[Binary], frozenset[Var]]] = {}
        self._memory: dict[Var, frozenset[Binary]] = {}

    def of(self, e: Expr) -> frozenset[Binary]:
        """The comparisons below an expression, by way of names and memory, too."""
        found, blocks = self._of(e)
        return found.union(*(self._in_memory(data) for data in blocks))

    def _in_memory(self, data: Var) -> frozenset[Binary]:
        found = self._memory.get(data)
        if found is None:
            comparisons, seen, pending = set[Binary](), {data}, [data]
            while pending:
                for e in self._deciding.get(pending.pop(), ()):
                    near, blocks = self._of(e)
                    comparisons |= near
                    pending += blocks - seen
                    seen |= blocks
            found = self._memory[data] = frozenset(comparisons)
        return found

    def _of(self, e: Expr) -> tuple[frozenset[Binary], frozenset[Var]]:
        """As ``of``, up to memory; and the memory that it depends on."""
        found = self._near.get(e)
        if found is None:
            value = self._definitions.get(e)
            parts = [self._of(child) for child in children(value) if isinstance(child, Expr)]
            own = {value} if isinstance(value, Binary) and is_order(value) else set[Binary]()
            memory = {value.buffer.data} if isinstance(value, Load) and self._constants.of(value) else set[Var]()
            found = self._near[e] = (
                frozenset(own).union(*(comparisons for comparisons, _ in parts)),
                frozenset(memory).union(*(blocks for _, blocks in parts)),
            )
        return found


__all__ = ["Controls", "Deciding", "controlled_stores"]
