"""Accesses of one run of a statement: when two of them access a common element, and which one happens before the
other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import final

from verified_tir import ir
from verified_tir.kernel.context import Context
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import Encoded, Safety, fresh

BARRIER = ir.Buffer.fresh("what nothing moves past", ir.BOOL, (), "global")
"""Stands for all that an opaque call, an assertion or a ``while`` loop may touch, or keep from running."""

NOTHING = Encoded(f.TRUE, f.TRUE, False)
"""What it leaves there, which nobody asks for."""


@final
@dataclass(frozen=True, slots=True)
class Access:
    """One access of one instance: it happens only when ``given`` holds.

    ``value`` is what was loaded or is stored; ``inner`` are the variables that tell the instances of one run apart:
    loop variables, outermost first, and lanes.
    """

    buffer: ir.Buffer
    indices: tuple[Term, ...]
    lane: Term | None
    address: tuple[Term, ...]
    write: bool
    given: tuple[Term, ...]
    place: ir.Path
    inner: tuple[Term, ...]
    value: Encoded = NOTHING
    written: Encoded = NOTHING
    """What a store's expression gave.  The element holds it too, unless its block is licensed."""

    def at(self, values: Mapping[Term, Term]) -> Access:
        """The access with some terms replaced by others: that of one instance, for example."""
        memo, x = dict[Term, Term](), self.value
        given, address = [tuple([f.replace(t, values, memo) for t in ts]) for ts in (self.given, self.address)]
        value = Encoded(f.replace(x.value, values, memo), f.replace(x.defined, values, memo), x.data)
        return replace(self, given=given, address=address, value=value)


@final
@dataclass(slots=True)
class Instance:
    """One arbitrary run of a statement: its accesses and its safety conditions."""

    context: Context
    accesses: list[Access]
    safety: list[tuple[ir.Path, Safety]]
    local: set[ir.Var]
    assumed: list[Safety]
    """What it found true: assumed, or asserted."""
    havoc: list[Term]
    """Fresh variables for values that are havocked, as they may differ between iterations: loads of what the statement
    writes, and results of opaque calls."""
    held: set[Term] = field(default_factory=set)
    """Those that stand for what elements of licensed blocks hold after a store."""
    typed: set[Term] = field(default_factory=set)
    """That they lie in the ranges of their types, which is true of whatever they stand for."""
    inner: list[Term] = field(default_factory=list)
    """The variables that tell its instances apart: those of its loops, and lanes."""

    def outer(self) -> Iterator[Access]:
        """Accesses to memory that exists outside the statement."""
        return (a for a in self.accesses if a.buffer.data not in self.local)

    def stores_to(self, block: ir.Var) -> list[Access]:
        return [a for a in self.accesses if a.write and a.buffer.data is block]

    def renamed_apart(self) -> dict[Term, Term]:
        """Other variables for all that is havocked: the same access in a second iteration sees other values."""
        apart = {t: fresh("again", t.sort) for t in self.havoc}
        for t, other in apart.items():
            if t.payload in self.context.blocks:
                self.context.blocks[other.payload] = self.context.blocks[t.payload]
        return apart


def equal(xs: Sequence[Term], ys: Sequence[Term]) -> Term:
    """The formula that two addresses are the same."""
    return f.and_(*[f.eq(x, y) for x, y in zip(xs, ys, strict=True)])


def overlap(a: Access, b: Access) -> Term:
    """The condition under which two accesses access a common element."""
    if BARRIER in (a.buffer, b.buffer):
        return f.TRUE
    if a.buffer.data is not b.buffer.data:
        return f.FALSE
    if a.buffer.dtype.scalar is b.buffer.dtype.scalar:
        return equal(a.address, b.address)
    # two views of one block: the addresses count scalars from where it starts
    sizes = [f.integer(x.dtype.scalar.nbytes) for x in (a.buffer, b.buffer)]
    first, second = (f.mul(x.address[0], size) for x, size in zip((a, b), sizes, strict=True))
    return f.and_(f.lt(first, f.add(second, sizes[1])), f.lt(second, f.add(first, sizes[0])))


def conflicts(xs: Iterable[Access], ys: Iterable[Access]) -> Iterator[tuple[Access, Access]]:
    """Pairs of accesses that could access one element, at least one of them a write.  Equal pairs are given once."""
    seen: set[tuple[object, ...]] = set()
    for x, y in product(xs, ys):
        meet = x.buffer.data is y.buffer.data or BARRIER in (x.buffer, y.buffer)
        key = (x.buffer, x.address, x.given, y.buffer, y.address, y.given)
        if meet and (x.write or y.write) and key not in seen:
            seen.add(key)
            yield x, y


# -- time --------------------------------------------------------------------------------------------------------------


def happens_before(
    stmt: ir.Stmt, first: tuple[ir.Path, Sequence[Term]], second: tuple[ir.Path, Sequence[Term]]
) -> Term:
    """The formula that one place in ``stmt``, at some values of the loops around it, comes before another: in an
    earlier iteration of the loops around both, or in the same one and earlier in a sequence.

    A place, the path to it, and the values of the loops around it say when something happens.  Read alternately they
    are the schedule vector of polyhedral compilers (2d + 1 entries: a position in a sequence, the value of a loop, a
    position, …), whose order is lexicographic.

    A statement reads before it stores, of an ``if`` one arm runs, and iterations of a ``while`` loop are not told
    apart: of such pairs neither is said to come before the other.
    """
    (here, mine), (there, theirs) = first, second
    loops, entries = zip(mine, theirs, strict=False), []
    for k, (step, other) in enumerate(zip(here, there, strict=False)):
        around = ir.at(stmt, here[:k])
        if isinstance(around, ir.For):
            entries.append(next(loops))
        elif isinstance(around, ir.Seq):
            entries.append((f.integer(step), f.integer(other)))
        if step != other or isinstance(around, ir.While):
            break
    return lexicographic_less(entries)


def lexicographic_less(entries: Sequence[tuple[Term, Term]]) -> Term:
    """The formula that one vector is lexicographically less than another; ``entries`` are their entries in pairs."""
    result = f.FALSE
    for x, y in reversed(entries):
        result = f.or_(f.lt(x, y), f.and_(f.eq(x, y), result))
    return result
