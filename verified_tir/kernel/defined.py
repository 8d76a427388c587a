"""Blocks that are defined throughout: an invariant of all their elements at once.

The invariants of ``facts`` are about one element, and know of loads of that element only.  That is too little for
``B[i] = B[j] + 1``: whether B[i] stays defined depends on B[j].  So, for a program that starts on arrays of definite
values, whole blocks are looked at.

Theorem.  Let S be a set of blocks, each defined in all its elements when a statement begins to run.  Suppose that each
store of the statement to a block in S writes a defined value, whenever all blocks in S are defined throughout.  Then
they are defined throughout at every moment of the run, and at its end: by induction over the stores in the order in
which they happen.  Loads that went into a let were made at an earlier moment of the same kind.

The largest such S is found by leaving out, again and again, the blocks of which some store cannot be shown to be
defined.  A block that was allocated is never in S, one with views of several types neither: a NaN has no bits, so what
is defined at one type need not be at another.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, final

from verified_tir.ir.expr import Var
from verified_tir.ir.paths import Path, places
from verified_tir.ir.stmt import Stmt, Store
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import EVERYTHING, written_blocks
from verified_tir.kernel.memory import Allocated, Entered, Memory, Ran, Repeating, Stored, Version
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import Unencodable, fresh

if TYPE_CHECKING:
    from verified_tir.kernel.facts import Prover


@final
class Throughout:
    """Finds out which versions of blocks are defined throughout; for one prover, which answers the side questions."""

    def __init__(self, prover: Prover) -> None:
        self._prover = prover
        self._memo: dict[tuple[object, ...], bool | frozenset[Var]] = {}
        self._busy: set[tuple[object, ...]] = set()
        self._assumed: tuple[int, frozenset[Var]] | None = None
        """The induction hypothesis: versions made since then of these blocks."""

    def assumed(self, version: Version) -> bool:
        """Whether the induction in progress takes this for granted."""
        return self._assumed is not None and version.serial > self._assumed[0] and version.block in self._assumed[1]

    def holds(self, context: Context, version: Version) -> bool:
        """Whether every element of the block, in this version, is defined."""
        if not context.entry.inputs_defined:
            return False
        if self.assumed(version):
            return True
        key = (version, *context.path)
        if key not in self._memo:
            outer, self._assumed = self._assumed, None  # what is remembered rests on no hypothesis
            try:
                self._memo[key] = self._derive(context, version)
            finally:
                self._assumed = outer
        return bool(self._memo[key])

    def _derive(self, context: Context, version: Version) -> bool:
        if len({b.dtype.scalar for b in context.views.get(version.block, ())}) != 1:
            return False
        match version.event:
            case Entered(paddings=paddings):
                return not paddings
            case Allocated():
                return False
            case Stored(before=before, value=value):
                return self.holds(context, before) and self._proved(context, value.defined, version.block)
            case Ran(memory=memory, stmt=stmt) | Repeating(memory=memory, loop=stmt):
                return version.block in self._kept(context, memory, stmt)

    def _kept(self, context: Context, memory: Memory, stmt: Stmt) -> frozenset[Var]:
        """The blocks that a statement writes, and that are defined throughout before, meanwhile and after."""
        written = [data for data in memory if data in written_blocks(stmt)]
        place = (stmt, *(memory[data].serial for data in written))
        key = (place, *context.path)
        found = self._memo.get(key)
        if isinstance(found, frozenset):
            return found
        if place in self._busy or EVERYTHING in written_blocks(stmt):
            return frozenset()
        self._busy.add(place)
        try:
            blocks = frozenset(data for data in written if self.holds(context, memory[data]))
            while blocks and (lost := self._lost(context, memory, stmt, blocks)):
                blocks -= lost
        finally:
            self._busy.discard(place)
        self._memo[key] = blocks
        return blocks

    def _lost(self, context: Context, memory: Memory, stmt: Stmt, blocks: frozenset[Var]) -> frozenset[Var]:
        """A block to which some store may write what is undefined, all ``blocks`` being defined throughout."""
        start = context.fork()
        start.memory = dict(memory)
        self._assumed = (Version(next(iter(blocks)), Allocated()).serial, blocks)  # until ``holds`` takes it back
        for path, store in _stores(stmt, blocks):
            try:
                stored = self._stores_defined(start.fork(), stmt, path, store)
            except Unencodable:
                stored = False
            if not stored:
                return frozenset({store.buffer.data})
        return frozenset()

    def _stores_defined(self, here: Context, stmt: Stmt, path: Path, store: Store) -> bool:
        for step in path:
            stmt = here.enter(stmt, step)
        lane = None
        if store.value.dtype.lanes > 1:
            lane = fresh("lane", f.INT)
            here.path.append(f.between(f.integer(0), lane, f.integer(store.value.dtype.lanes)))
        return self._proved(here, here.encoder().encode(store.value, lane).defined, store.buffer.data)

    def _proved(self, context: Context, defined: Term, block: Var) -> bool:
        if defined is f.TRUE:
            return True
        base = tuple(context.path)
        facts = self._prover.facts(context, base, (defined,))
        claim = f"what is stored to {block.name} is defined, if all that it may come from is"
        return self._prover.holds_plain(context, (*base, *facts), defined, claim)


def _stores(stmt: Stmt, blocks: frozenset[Var]) -> Iterator[tuple[Path, Store]]:
    for path, found in places(stmt, lambda s: isinstance(s, Store)):
        if isinstance(found, Store) and found.buffer.data in blocks:
            yield path, found
