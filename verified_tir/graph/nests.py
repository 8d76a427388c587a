"""What the nests of a program compute, as far as the choice of a schedule needs to know it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

from verified_tir.ir.expr import Binary, Expr, IfThenElse, IntImm, Load, Select, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Block, For, If, Seq, Stmt, Store
from verified_tir.ir.visit import free_vars, sub_statements, walk

LANES = (16, 8, 4)
"""How many elements make a vector; the first number that divides the extent."""


@final
@dataclass(frozen=True, slots=True)
class Nest:
    """Loops of constant extents, and conditions, around a block that stores one element, or initialises and updates it.

    ``update`` is the second store of a reduction, ``None`` if there is one store only; ``more`` counts the loops around
    whose extents are open.
    """

    block: str
    loops: tuple[For, ...]
    guards: tuple[Expr, ...]
    store: Store
    update: Store | None
    more: int = 0

    @property
    def last(self) -> Store:
        """The update of a reduction, or the only store."""
        return self.update or self.store

    @property
    def loads(self) -> list[Load]:
        """What the nest reads, but for the element that a reduction updates."""
        return [x for x in walk(self.last.value) if isinstance(x, Load) and x.buffer is not self.last.buffer]

    @property
    def accumulates(self) -> bool:
        """Whether the stored element is read before: in a reduction, also one whose initialisation stands apart."""
        return any(isinstance(x, Load) and x.buffer is self.last.buffer for x in walk(self.last.value))

    @property
    def stored(self) -> frozenset[Var]:
        """The variables that say which element is stored."""
        return frozenset(v for i in self.store.indices for v in free_vars(i))

    @property
    def decides(self) -> frozenset[Var]:
        """The variables on which a condition around the block or within the value depends."""
        found = {v for g in self.guards for v in free_vars(g)}
        for x in walk(self.last.value):
            if isinstance(x, (IfThenElse, Select)):
                found.update(free_vars(x.condition))
        return frozenset(found)


def nests(func: PrimFunc) -> list[Nest]:
    """The nests of a program, in order; what has another form is left out."""
    return list(_nests(func.body, (), (), 0))


def _nests(stmt: Stmt, loops: tuple[For, ...], guards: tuple[Expr, ...], more: int) -> Iterator[Nest]:
    match stmt:
        case For(extent=IntImm(), kind="serial"):
            loops = (*loops, stmt)
        case For(kind="serial"):
            more += 1
        case If(condition=c, else_body=None):
            guards = (*guards, c)
        case Block(is_label=True, name=name, body=Store() as store):
            yield Nest(name, loops, guards, store, None, more)
            return
        case Block(
            is_label=True, name=name, body=Seq(stmts=(If(then_body=Store() as first, else_body=None), Store() as last))
        ):
            if _same_element(first, last) and _reads(last):
                yield Nest(name, loops, guards, first, last, more)
            return
    for s in sub_statements(stmt):
        yield from _nests(s, loops, guards, more)


def alone(nest: Nest) -> tuple[For, ...]:
    """The innermost loops of a nest that have nothing but each other around its block."""
    own = nest.loops[-1:]
    for x in reversed(nest.loops[:-1]):
        if x.body is not own[0]:
            break
        own = (x, *own)
    return own


def _same_element(a: Store, b: Store) -> bool:
    return a.buffer is b.buffer and all(x is y for x, y in zip(a.indices, b.indices, strict=True))


def _reads(s: Store) -> bool:
    """Whether a store's value reads the element that is stored, and no other one of its buffer."""
    own = [x for x in walk(s.value) if isinstance(x, Load) and x.buffer is s.buffer]
    return bool(own) and all(all(i is j for i, j in zip(x.indices, s.indices, strict=True)) for x in own)


def uniform(indices: Sequence[Expr], var: Var) -> bool:
    """Whether the element does not depend on a variable."""
    return all(var not in free_vars(i) for i in indices)


def contiguous(indices: Sequence[Expr], var: Var) -> bool:
    """Whether the next value of a variable is the next element in memory."""
    if not indices or not uniform(indices[:-1], var):
        return False
    match indices[-1]:
        case Var() as v:
            return v is var
        case Binary(op="add", a=a, b=b):
            return (a is var and var not in free_vars(b)) or (b is var and var not in free_vars(a))
        case Binary(op="sub", a=a, b=b):
            return a is var and var not in free_vars(b)
    return False


def divisors(expr: Expr, var: Var) -> set[int]:
    """By what an expression divides a variable: the t of ``var // t`` and ``var % t``."""
    return {
        x.b.value
        for x in walk(expr)
        if isinstance(x, Binary) and x.op in ("floordiv", "floormod") and x.a is var and isinstance(x.b, IntImm)
    }


OPEN = 2**5
"""As so many iterations a loop counts whose extent is known when the program runs."""


def iterations(loop: For) -> int:
    """How often a loop runs, about."""
    return loop.extent.value if isinstance(loop.extent, IntImm) else OPEN


def extent(loop: For) -> int:
    """The extent of a loop of a nest."""
    assert isinstance(loop.extent, IntImm)
    return loop.extent.value
