"""Accesses of one run of a statement, and when two of them touch a common element."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Var
from verified_tir.ir.paths import Path
from verified_tir.kernel.context import Context
from verified_tir.kernel.memory import flat_address
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import Encoded, Encoder, Safety, fresh


@final
@dataclass(frozen=True, slots=True)
class Access:
    """One access of one instance: it happens only when ``given`` holds.

    ``buffer`` is ``None`` for what nothing moves past: an opaque call, an assertion, a ``while`` loop.  ``value`` is
    what was loaded or is stored;
    ``inner`` are the variables that tell the instances of one run apart: loop variables, outermost first, and lanes.
    """

    buffer: Buffer | None
    indices: tuple[Term, ...]
    lane: Term | None
    address: tuple[Term, ...]
    write: bool
    given: tuple[Term, ...]
    place: Path
    value: Encoded | None = None
    inner: tuple[Term, ...] = ()
    written: Encoded | None = None
    """What a store's expression gave.  The element holds it too, unless its block is licensed."""


@final
@dataclass(slots=True)
class Instance:
    """One arbitrary run of a statement: its accesses and, if asked for, its safety conditions."""

    context: Context
    accesses: list[Access]
    safety: list[tuple[Path, Safety]]
    local: set[Var]
    assumed: list[Safety]
    """What it found true: assumed, or asserted."""
    unknown: list[Term]
    """Fresh variables for what may differ between iterations: loads of what the statement writes, opaque results."""
    held: set[Term] = field(default_factory=set)
    """Those that stand for what elements of licensed blocks hold after a store."""
    inner: list[Term] = field(default_factory=list)
    """The variables that tell its instances apart: those of its loops, and lanes."""

    def outer(self) -> Iterator[Access]:
        """Accesses to memory that exists outside the statement."""
        return (a for a in self.accesses if a.buffer is None or a.buffer.data not in self.local)

    def renamed_apart(self) -> dict[Term, Term]:
        """Other variables for what is unknown: an access looked at in a second iteration sees other values."""
        apart = {t: fresh("again", t.sort) for t in self.unknown}
        for t, other in apart.items():
            if t.payload in self.context.blocks:
                self.context.blocks[other.payload] = self.context.blocks[t.payload]
        return apart


def overlap(context: Context, a: Access, b: Access) -> Term:
    """When two accesses touch a common element."""
    if a.buffer is None or b.buffer is None:
        return f.TRUE
    if a.buffer.data is not b.buffer.data:
        return f.FALSE
    if a.buffer is b.buffer:
        return f.and_(*[f.eq(x, y) for x, y in zip(a.address, b.address, strict=True)])
    if a.buffer.dtype.scalar is b.buffer.dtype.scalar:
        return f.eq(a.address[0], b.address[0])
    return _bytes_overlap(context, a, b)


def _bytes_overlap(context: Context, a: Access, b: Access) -> Term:
    """Views of different element types: their bytes overlap."""
    assert a.buffer is not None and b.buffer is not None
    encoder = Encoder(context.env)
    starts, ends = [], []
    for x in (a, b):
        assert x.buffer is not None
        size = x.buffer.dtype.scalar.nbytes
        flat = flat_address(x.buffer, x.indices, encoder)
        if x.buffer.dtype.lanes > 1:
            flat = f.add(f.mul(flat, f.integer(x.buffer.dtype.lanes)), x.lane if x.lane is not None else f.integer(0))
        start = f.mul(flat, f.integer(size))
        starts.append(start)
        ends.append(f.add(start, f.integer(size)))
    return f.and_(f.lt(starts[0], ends[1]), f.lt(starts[1], ends[0]))


def conflicts(xs: Iterable[Access], ys: Iterable[Access]) -> Iterator[tuple[Access, Access]]:
    """Pairs that could touch one element, a write among them.  Equal questions are asked once."""
    seen: set[tuple[object, ...]] = set()
    ys = list(ys)
    for x in xs:
        for y in ys:
            if not (x.write or y.write):
                continue
            if x.buffer is not None and y.buffer is not None and x.buffer.data is not y.buffer.data:
                continue
            key = (x.buffer, x.address, x.given, y.buffer, y.address, y.given)
            if key not in seen:
                seen.add(key)
                yield x, y
