"""Memory in the logic: blocks, their versions, and the terms that stand for loads.

A load of block b in version k at index x is the term ``b@k(x)`` with a definedness bit ``b@k.def(x)``.  Whatever may
write a block gives it a new version; what is known about the old one is carried over by proof only
(``verified_tir.kernel.facts``).  A block seen through several views is indexed by the flat address of its scalar lanes.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TypeAlias, final

from verified_tir import ir
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import Encoded

_serial = itertools.count(1)


@final
@dataclass(frozen=True, slots=True)
class Padding:
    """What a parameter's padding is: where ``predicate(indices)`` holds, the element is ``value``.

    ``value`` is ``None`` where access is forbidden, and an ``Undef`` expression where anything may stand.  What is
    ``owed`` is so at exit only: the program has to see to it, and may suppose nothing at entry (RFC 77 says so of the
    padding of an operator's output).
    """

    buffer: ir.Buffer
    indices: tuple[ir.Var, ...]
    predicate: ir.Expr
    value: ir.Expr | None
    owed: bool = False

    @property
    def at_entry(self) -> ir.Expr:
        """What the padding is at entry: undefined where nothing may be supposed of it, nor where no run that has a
        meaning touches it."""
        return ir.Undef(self.buffer.dtype) if self.owed or self.value is None else self.value


@final
@dataclass(frozen=True, slots=True)
class Entry:
    """What is assumed at the function's entry."""

    paddings: tuple[Padding, ...] = ()
    definite: bool = False
    """The arguments are arrays of definite values (but for padding declared otherwise)."""
    shapes: tuple[ir.Buffer, ...] = ()
    """Parameters as they were declared before their layouts changed: their extents are those of real arrays, too."""
    licensed: frozenset[ir.Var] = frozenset()
    """Blocks into which floats may be summed in any order: the bits of their elements are open."""

    def paddings_of(self, block: ir.Var) -> tuple[Padding, ...]:
        """What is declared of the padding of a parameter's block."""
        return tuple([p for p in self.paddings if p.buffer.data is block])


@final
@dataclass(frozen=True, slots=True)
class Entered:
    """The block came into the function, with what was declared of its padding."""


@final
@dataclass(frozen=True, slots=True)
class Allocated:
    """The block was allocated: all its elements are undefined."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """One scalar element was stored: ``b[address] = value``."""

    before: Version
    buffer: ir.Buffer
    address: tuple[Term, ...]
    value: Encoded


@final
@dataclass(frozen=True, slots=True, eq=False)
class Ran:
    """A statement ran that may have written the block, or began to.

    ``memory`` is what it started from, ``env`` what the variables around it were (the same statement may run again, in
    another iteration of a loop further out), ``after`` what it left of all the blocks that it may have written.  If
    that is ``None`` it has not ended, and this is an arbitrary moment of it: the head of an iteration, for instance.
    ``reached`` is the value of a ``for`` loop's variable there, if known: only iterations before it have run.
    """

    memory: Memory
    env: dict[ir.Var, Encoded]
    stmt: ir.Stmt
    after: Memory | None = None
    reached: Term | None = None


Event: TypeAlias = Entered | Allocated | Stored | Ran


@final
@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """One version of one block, as in memory SSA."""

    block: ir.Var
    event: Event
    serial: int = field(init=False, default_factory=lambda: next(_serial))

    @property
    def function(self) -> str:
        """Name of the uninterpreted function that gives this version's elements."""
        return f"{self.block.name}@{self.serial}"


Memory: TypeAlias = dict[ir.Var, Version]


def moment() -> int:
    """A point in time: a serial number greater than those of all versions so far, less than those of all that
    follow."""
    return next(_serial)


@final
@dataclass(frozen=True, slots=True)
class Element:
    """A load's element: version and address (view indices, or the flat scalar address if the block has several
    views)."""

    version: Version
    buffer: ir.Buffer
    address: tuple[Term, ...]
    value: Term
    defined: Term

    def is_same(self, other: Element) -> bool:
        """Whether another element consists of the very same objects; its ``__eq__`` is not asked."""
        return all(getattr(self, part) is getattr(other, part) for part in self.__slots__)
