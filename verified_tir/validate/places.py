"""Memory that each thread, or each thread block, has for itself, wherever it is allocated.

    x = alloc(1, "local")
    for i in threads:              A run has one x, in which the last thread leaves A[3].
        x[0] = A[i]                Each thread has an x of its own, so B[i] is A[i].
    for i in threads:
        B[i] = x[0]

One block of memory in place of many is right just if whoever reads a cell wrote it last.  So each cell remembers its
last writer: a *place*, the coordinates of a thread and its thread block; of memory that a thread block shares, only the
latter.  What another loop over thread blocks runs later are other ones, though their coordinates are the same.  What no
loop over threads is around is a place too.  A place that reads what another one wrote is a stray.

Places are positive numbers, with some bits for each coordinate.  Negative ones stand for sets of places: those of the
rows that a statement ran for once, since it is the same in all of them, and the threads that reduce into memory of
their own, each of which gets the result; or for places under a condition on data: what they write may not be written.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final, TypeAlias, final

import numpy as np

from verified_tir.ir.expr import IntImm, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Allocate, Block, For
from verified_tir.ir.visit import nodes_of
from verified_tir.validate.memory import Block as Storage
from verified_tir.validate.memory import Memory, Refused, Region, is_own
from verified_tir.validate.reductions import reduced_by
from verified_tir.validate.terms import Ids
from verified_tir.validate.thread_loops import is_shared, is_thread
from verified_tir.validate.threads import slot
from verified_tir.validate.verdict import Finding

NOBODY: Final = 0
OUTSIDE: Final = 1
"""The place that is in no loop over threads: the last bit tells places from nobody."""
_BLOCKS: Final = "blockIdx"
_LAUNCH: Final = "launch"
_BITS: Final = 62
_UNKNOWN: Final = 20  # bits for the iterations of a loop whose extent is not constant, if there are so many

_Moved: TypeAlias = Callable[[Ids], Ids]


def are_asked_for(func: PrimFunc) -> bool:
    """Whether a program has loops over threads or thread blocks, and memory that these may have for themselves."""
    made = [n.buffer for n in nodes_of(func.body, Allocate)]
    made += [b for n in nodes_of(func.body, Block) for b in n.alloc_buffers]
    return any(is_own(b.scope) for b in made) and any(_is_place(n.thread) for n in nodes_of(func.body, For))


@final
class Places:
    """The places of a run, and the strays that were found: a block of memory by name and identity, whether a thread
    block shares it, and whether all that is known of is that it is used outside of all loops over threads, too.

    ``fields`` has, by tag, the first bit of a coordinate, which is one more than the iteration, and their number.
    """

    def __init__(self, func: PrimFunc) -> None:
        self.strays: list[tuple[str, int | str, bool, bool]] = []
        self.fields = _fields([n for n in nodes_of(func.body, For) if _is_place(n.thread)])
        self._threads = sum(((1 << n) - 1) << first for tag, (first, n) in self.fields.items() if is_thread(tag))
        self._launches = 0
        self._merged: dict[Var, dict[str, int]] = {}
        self._numbers: dict[Hashable, int] = {}
        self._members: list[frozenset[int]] = []  # by negative number
        self._guards: list[tuple[int, int] | None] = []
        self._known: dict[Hashable, int] = {}

    def note(self, findings: dict[str, None]) -> None:
        """Note the strays where no race says so."""
        racing = {(name, shared) for name, _, shared, outside in self.strays if not outside}
        for name, identity, shared, _ in dict.fromkeys(self.strays):
            race, who = f"race between threads at {name}", "thread block" if shared else "thread"
            if (name, shared) not in racing:
                text = f"memory of each {who} at {name} is used outside of the loops over them"
                findings[Finding(text, identity)] = None
            elif not any(found.startswith((f"{race} ", f"{race}:")) for found in findings):
                text = f"{race}: each {who} has its own, and one reads what another one wrote"
                findings[Finding(text, identity)] = None

    # ----------------------------------------------------------------------------------------------- numbers

    def _add(self, key: Hashable, members: frozenset[int], guard: tuple[int, int] | None = None) -> int:
        found = self._numbers.get(key)
        if found is None:
            self._members.append(members)
            self._guards.append(guard)
            found = self._numbers[key] = -len(self._members)
        return found

    def _all(self, members: Iterable[int]) -> int:
        """The number of a set of places."""
        found = frozenset(members)
        return next(iter(found)) if len(found) == 1 else self._add(found, found)

    def _perhaps(self, place: int, guard: int) -> int:
        """A place under a condition."""
        return self._add((place, guard), self._of(place), (place, guard))

    def _of(self, place: int) -> frozenset[int]:
        return frozenset({place}) if place > 0 else self._members[-place - 1]

    def _guard(self, place: int) -> tuple[int, int] | None:
        return None if place > 0 else self._guards[-place - 1]

    def _certain(self, place: int) -> int:
        """A place without its condition."""
        guard = self._guard(place)
        return place if guard is None else guard[0]

    def _moved(self, numbers: Ids, key: Hashable, move: _Moved) -> Ids:
        """Places at other coordinates, and what is made of them; ``key`` says how ``move`` does that."""
        if (numbers > 0).all():
            return move(numbers)
        found = numbers.copy()
        found[numbers > 0] = move(numbers[numbers > 0])
        for number in np.unique(numbers[numbers < 0]).tolist():
            known = self._known.get((key, number))
            if known is None:
                known = self._all(move(np.array(sorted(self._of(number)), dtype=np.int64)).tolist())
                guard = self._guard(number)
                known = self._known[key, number] = known if guard is None else self._perhaps(known, guard[1])
            found[numbers == number] = known
        return found

    def _set(self, numbers: Ids, tag: str, iterations: Ids | int) -> Ids:
        """Places of which one coordinate is another one."""
        first, bits = self.fields[tag]
        if np.max(iterations, initial=0) + 1 >= 1 << bits:
            raise Refused(f"there are too many iterations of {tag} to know who has which memory")
        return numbers & ~(((1 << bits) - 1) << first) | (np.asarray(iterations) + 1) << first

    # ------------------------------------------------------------------------------------------------ moving

    def launched(self, numbers: Ids, tag: str) -> Ids:
        """The places of rows that come to a loop: one over thread blocks has new ones."""
        if not tag.startswith(_BLOCKS):
            return numbers
        first, bits = self.fields[_LAUNCH]
        found = numbers.copy()
        for k in np.flatnonzero((numbers < 0) | (numbers >> first & (1 << bits) - 1 == 0)).tolist():
            launch = partial(self._launch, launch=self._launches)
            found[k : k + 1] = self._moved(numbers[k : k + 1], (_LAUNCH, self._launches), launch)
            self._launches += 1
        return found

    def _launch(self, numbers: Ids, launch: int) -> Ids:
        first, bits = self.fields[_LAUNCH]
        new = numbers >> first & (1 << bits) - 1 == 0
        return np.where(new, self._set(numbers, _LAUNCH, launch), numbers)

    def inside(self, numbers: Ids, tag: str, iterations: Ids) -> Ids:
        """The places of rows in iterations of a loop bound to ``tag``."""
        if not _is_place(tag):
            return numbers
        found = self._set(numbers, tag, iterations)  # but for sets
        for k in np.unique(iterations[numbers < 0]).tolist():
            here = (numbers < 0) & (iterations == k)
            found[here] = self._moved(numbers[here], (tag, k), partial(self._set, tag=tag, iterations=k))
        return found

    def under(self, numbers: Ids, guards: Ids) -> Ids:
        """The places of rows where conditions hold, or do not, as data decide."""
        pairs = zip(np.broadcast_to(numbers, guards.shape).tolist(), guards.tolist(), strict=True)
        return np.array([self._perhaps(self._certain(n), g) for n, g in pairs], dtype=np.int64)

    def together(self, numbers: Ids) -> Ids:
        """One number for all that are among some numbers."""
        return np.array([self._all(m for n in np.unique(numbers).tolist() for m in self._of(n))], dtype=np.int64)

    @contextmanager
    def reducing(self, loops: Sequence[For]) -> Iterator[None]:
        """While some loops run, threads that reduce into memory of their own do so in that of each of them."""
        before = self._merged
        for loop in loops:
            if is_thread(loop.thread) and isinstance(loop.extent, IntImm):
                for data in reduced_by(loop):
                    tags = {**self._merged.get(data, {}), loop.thread: loop.extent.value}
                    self._merged = {**self._merged, data: tags}
        try:
            yield
        finally:
            self._merged = before

    # ----------------------------------------------------------------------------------------------- accesses

    def write(self, memory: Memory, block: Storage, numbers: Ids, at: Ids) -> None:
        """The places of rows write some cells."""
        numbers = self._owners(block, numbers)
        if block.places is None:
            block.places = np.zeros(block.ids.size, dtype=np.int64)
        old = block.places[at]
        if memory.journal is not None:
            memory.journal.append((block.places, at, old, None))
        if (numbers < 0).any():
            pairs = zip(old.tolist(), numbers.tolist(), strict=True)
            numbers = np.array([self._written(*pair) for pair in pairs], dtype=np.int64)
        block.places[at] = numbers

    def _written(self, old: int, place: int) -> int:
        """Who wrote a cell last, after a place did: with a condition if else the cell has what another one wrote."""
        own = self._certain(place)
        return own if old == NOBODY or self._finds(own, old) else place

    def read(self, block: Storage, numbers: Ids, at: Ids) -> None:
        """The places of rows read some cells."""
        if block.places is None:
            return
        numbers = self._owners(block, numbers)
        last = block.places[at]
        other = (last != NOBODY) & (last != numbers)
        if not other.any():
            return
        last, numbers = last[other], numbers[other]
        pairs = np.unique(np.stack((numbers, last)), axis=1).T.tolist()
        strange = [(reader, writer) for reader, writer in pairs if not self._finds(reader, writer)]
        if strange:
            outside = all(self._of(reader) == {OUTSIDE} or self._of(writer) == {OUTSIDE} for reader, writer in strange)
            self.strays.append((block.name, block.identity, is_shared(block.scope), outside))

    def _finds(self, reader: int, writer: int) -> bool:
        """Whether each of the readers surely finds what it has written itself."""
        return self._guard(writer) is None and self._of(reader) <= self._of(writer)

    def _owners(self, block: Storage, numbers: Ids) -> Ids:
        """Whose memory of a block rows are in."""
        if is_shared(block.scope):
            return self._moved(numbers, _BLOCKS, lambda n: n & ~self._threads)
        tags = self._merged.get(block.data) if block.data is not None else None
        return numbers if tags is None else self._moved(numbers, tuple(tags.items()), lambda n: self._merge(n, tags))

    def _merge(self, numbers: Ids, tags: dict[str, int]) -> Ids:
        """For each place, the set of those that reduce together with it."""
        for tag in tags:
            numbers = self._set(numbers, tag, 0)
        unique, inverse = np.unique(numbers, return_inverse=True)
        found = []
        for number in unique.tolist():
            key = (number, *tags.items())
            if key not in self._known:
                every = np.full(1, number, dtype=np.int64)
                for tag, extent in tags.items():
                    every = self._set(every[:, None], tag, np.arange(extent)).reshape(-1)
                self._known[key] = self._all(every.tolist())
            found.append(self._known[key])
        return np.array(found, dtype=np.int64)[inverse.reshape(numbers.shape)]


def launched(regions: tuple[tuple[Region, Ids], ...], tag: str) -> tuple[tuple[Region, Ids], ...]:
    """The regions of rows that come to a loop bound to ``tag``."""
    return tuple([(r, numbers if r.places is None else r.places.launched(numbers, tag)) for r, numbers in regions])


def numbered(regions: tuple[tuple[Region, Ids], ...], thread: str, iterations: Ids) -> tuple[tuple[Region, Ids], ...]:
    """The regions inside a loop.  If it is over threads, each row is a place, and a thread of watched ones."""
    bit = slot(thread)

    def number(region: Region, numbers: Ids) -> Ids:
        if region.places is not None:
            return region.places.inside(numbers, thread, iterations)
        return numbers | (iterations << bit) if region.phases is not None and bit is not None else numbers

    return tuple([(region, number(region, numbers)) for region, numbers in regions])


def _fields(loops: Sequence[For]) -> dict[str, tuple[int, int]]:
    """The bits of the coordinates: the first one, and how many."""
    wanted: dict[str, int] = {}
    for loop in loops:
        n = loop.extent.value.bit_length() + 1 if isinstance(loop.extent, IntImm) else _UNKNOWN
        wanted[loop.thread] = max(n, wanted.get(loop.thread, 0))
    wanted[_LAUNCH] = _UNKNOWN
    while sum(wanted.values()) > _BITS - 1:
        most = max(wanted, key=lambda tag: wanted[tag])
        wanted[most] -= 1
    found, first = {}, 1
    for tag, bits in wanted.items():
        found[tag] = first, bits
        first += bits
    return found


def _is_place(tag: str) -> bool:
    return is_thread(tag) or tag.startswith(_BLOCKS)
