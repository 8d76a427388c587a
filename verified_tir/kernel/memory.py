"""Memory in the logic: blocks, their versions, the terms that loads become, and when an element may be touched.

A load of block b in version k at index x is the term ``b@k(x)`` with a definedness bit ``b@k.def(x)``.  Whatever may
write a block gives it a new version; what is known about the old one is carried over by proof only
(``verified_tir.kernel.facts``).  A block seen through several views is indexed by the flat address of its scalar lanes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import FALSE, Expr, IntImm, Undef, Var
from verified_tir.ir.stmt import Stmt
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import Encoded, Encoder

if TYPE_CHECKING:
    from verified_tir.kernel.context import Context

_serial = itertools.count(1)


@final
@dataclass(frozen=True, slots=True)
class Padding:
    """What a parameter's padding is: where ``predicate(indices)`` holds, the element is ``value``.

    ``value`` is ``None`` where access is forbidden, and an ``Undef`` expression where anything may stand.  What is
    ``owed`` is so at exit only: the program has to see to it, and may suppose nothing at entry (RFC 77 says so of the
    padding of an operator's output).
    """

    buffer: Buffer
    indices: tuple[Var, ...]
    predicate: Expr
    value: Expr | None
    owed: bool = False

    @property
    def at_entry(self) -> Expr | None:
        """What the padding is at entry."""
        return Undef(self.buffer.dtype) if self.owed else self.value


@final
@dataclass(frozen=True, slots=True)
class Entry:
    """What is assumed at the function's entry."""

    paddings: tuple[Padding, ...] = ()
    definite: bool = False
    """The arguments are arrays of definite values (but for padding declared otherwise)."""
    shapes: tuple[Buffer, ...] = ()
    """Parameters as they were declared before their layouts changed: their extents are those of real arrays, too."""
    licensed: frozenset[Var] = frozenset()
    """Blocks into which floats may be summed in any order: the bits of their elements are open."""


@final
@dataclass(frozen=True, slots=True)
class Entered:
    """The block came into the function with these declared paddings."""

    paddings: tuple[Padding, ...]


@final
@dataclass(frozen=True, slots=True)
class Allocated:
    """The block is fresh: undefined throughout."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """One scalar element was stored: ``b[address] = value``."""

    before: Version
    buffer: Buffer
    address: tuple[Term, ...]
    value: Encoded


@final
@dataclass(frozen=True, slots=True, eq=False)
class Ran:
    """A statement ran that may have written the block, or began to.

    ``memory`` is what it started from, ``after`` what it left of all the blocks that it may have written.  If that is
    ``None`` it has not ended: it is a loop, and this the head of an arbitrary iteration; ``reached`` is the value of
    the loop's variable there, if known: only iterations before it have run.
    """

    memory: Memory
    stmt: Stmt
    after: Memory | None = None
    reached: Term | None = None


Event: TypeAlias = Entered | Allocated | Stored | Ran


@final
@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """One state of one block."""

    block: Var
    event: Event
    serial: int = field(default_factory=lambda: next(_serial))

    @property
    def function(self) -> str:
        """Name of the uninterpreted function that gives this version's elements."""
        return f"{self.block.name}@{self.serial}"


Memory: TypeAlias = dict[Var, Version]


def moment() -> int:
    """A serial number between those of the versions made before and those made from now on."""
    return next(_serial)


@final
@dataclass(frozen=True, slots=True)
class Element:
    """A load's element: version and address (view indices, or the flat scalar address if the block has several
    views)."""

    version: Version
    buffer: Buffer
    address: tuple[Term, ...]
    value: Term
    defined: Term


def views_of(buffers: Iterable[Buffer]) -> dict[Var, tuple[Buffer, ...]]:
    """The distinct views of each block."""
    found: dict[Var, tuple[Buffer, ...]] = {}
    for b in dict.fromkeys(buffers):
        found[b.data] = (*found[b.data], b) if b.data in found else (b,)
    return found


def flat_address(buffer: Buffer, indices: tuple[Term, ...], encoder: Encoder) -> Term:
    """Position of an element from the start of the block, in elements of the view."""
    if buffer.strides:
        total = encoder.value(buffer.elem_offset)
        for index, stride in zip(indices, buffer.strides, strict=True):
            total = f.add(total, f.mul(index, encoder.value(stride)))
        return total
    position = f.integer(0)
    for index, extent in zip(indices, buffer.shape, strict=True):
        position = f.add(f.mul(position, encoder.value(extent)), index)
    return f.add(encoder.value(buffer.elem_offset), position)


def bytes_of(buffer: Buffer, encoder: Encoder) -> Term:
    """How many bytes the elements of a row-major buffer have."""
    size = f.integer(buffer.dtype.nbytes)
    for extent in buffer.shape:
        size = f.mul(size, encoder.value(extent))
    return size


# -- access ------------------------------------------------------------------------------------------------------------


def accessible(context: Context, buffer: Buffer, indices: tuple[Term, ...]) -> Term:
    """When touching this element is allowed: it lies in its block, and in no padding that is declared inaccessible."""
    conditions = [_within_block(context, buffer, indices)]
    for p in context.entry.paddings:
        if p.buffer.data is buffer.data and p.value is None and p.predicate is not FALSE:
            place = indices if p.buffer is buffer else _seen_from(context, p.buffer, buffer, indices)
            if place is None:
                return f.FALSE  # a view over partly inaccessible memory: not understood, so not allowed
            conditions.append(f.not_(context.bound(p.indices, place).encoder().value(p.predicate)))
    return f.and_(*conditions)


def _seen_from(context: Context, base: Buffer, view: Buffer, indices: tuple[Term, ...]) -> tuple[Term, ...] | None:
    """The indices in ``base`` of an element of another view; ``None`` unless both are row-major with equal elements
    and all extents of ``base`` but the first are constants.  Only for an element that lies in the block (see
    ``_within_block``): an array that has strides, or no element, has none that other views may touch."""
    inner = [e.value for e in base.shape[1:] if isinstance(e, IntImm)]
    if view.strides or base.dtype is not view.dtype or len(inner) != len(base.shape) - 1:
        return None
    encoder = Encoder(context.env)
    rest = f.sub(flat_address(view, indices, encoder), encoder.value(base.elem_offset))
    found: list[Term] = []
    for extent in reversed(inner):
        found.insert(0, f.floormod(rest, f.integer(extent)))
        rest = f.floordiv(rest, f.integer(extent))
    return (rest, *found)


def _within_block(context: Context, buffer: Buffer, indices: tuple[Term, ...]) -> Term:
    """An element of a view lies inside the block that the view was declared over."""
    base = next((b for b in context.views.get(buffer.data, ()) if b in context.owners), None)
    if base is None or (base is buffer and base in context.func.buffers):
        return f.TRUE
    encoder = Encoder(context.env)
    if base is buffer:  # an allocation is as large as its elements reach, upwards from 0
        return f.and_(*[f.le(f.integer(0), encoder.value(e)) for e in (*base.strides, base.elem_offset)])
    if base.strides:
        return f.FALSE  # which bytes between the elements belong to the block is not understood
    first = f.mul(encoder.value(base.elem_offset), f.integer(base.dtype.nbytes))
    start = f.mul(flat_address(buffer, indices, encoder), f.integer(buffer.dtype.nbytes))
    end, last = f.add(start, f.integer(buffer.dtype.nbytes)), f.add(first, bytes_of(base, encoder))
    return f.and_(f.le(f.integer(0), start), f.le(first, start), f.le(end, last))
