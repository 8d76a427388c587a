"""Memory of a symbolic run: blocks of term numbers, views, and who touched what.

A block holds one term for each *cell*, undef at first.  A cell has the width of the narrowest scalar among the block's
views; wider ones take several (``widths.py``).  What was stored at another type of its width is read as a
``reinterpret`` term.  Addresses count cells.

A *region* is one execution of some nested loops, whose iterations are called *rows*.  It demands that no row touches
what another one writes.  Then the rows may run in any order, all at once too.  Each access is checked against that, so
the loops need not be understood beforehand: what turns out to conflict is undone (``Memory.journal``) and run again
serially.

A statement that is the same for all rows of a region runs once, as row ``EVERY``: the threads of a thread block that
load a tile together do so inside of loops over these threads, and each of them would load all of it again.  Each row
finds in such a cell what it has written itself, if no row has read it before, and no single row writes it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias, final

import numpy as np
import numpy.typing as npt

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Var
from verified_tir.semantics.memory import Extents
from verified_tir.validate.terms import Ids

if TYPE_CHECKING:
    from verified_tir.validate.places import Places

ROW_BITS: Final = 32
SEVERAL: Final = (1 << ROW_BITS) - 1  # read by more than one row
EVERY: Final = SEVERAL - 1  # accessed by all rows in the same way
EXCHANGE: Final = "exchange"
"""The scope of what threads exchange without memory: nobody meets there."""
LARGEST_BLOCK: Final = 1 << 24
_MOST_ALLOCATED: Final = 1 << 29  # by all allocations of a run, those that are gone included


def is_own(scope: str) -> bool:
    """Whether memory of this scope belongs to a thread, or to a thread block."""
    return scope not in ("global", EXCHANGE) and not scope.startswith("global.")


Mask: TypeAlias = npt.NDArray[np.bool_]


class Refused(Exception):
    """The validator cannot execute this; the message says what and where."""


class Oversize(Refused):
    """It is too large to be executed as a whole."""


class UndefinedRun(Exception):
    """Undefined behaviour on every input."""


class Conflict(Exception):
    """Two rows of ``region`` conflict in a block of memory.

    If it is ``carried``, the second one reads what the first one wrote.
    """

    def __init__(self, region: Region, memory: Block, rows: tuple[int, int], carried: bool = False) -> None:
        super().__init__(memory.name)
        self.region, self.memory, self.rows, self.carried = region, memory, rows, carried

    @property
    def block(self) -> str:
        return self.memory.name

    @property
    def scope(self) -> str:
        return self.memory.scope


@final
@dataclass(slots=True, eq=False)
class Block:
    """``width`` is that of a cell, in bytes; ``closed`` marks cells that may not be accessed.

    ``owners`` are the last (writer, reader) for each depth; ``dtypes`` the types of what was ever stored; ``version``
    counts the changes; ``data`` is the variable of the program that stands for it, and ``places`` are those that wrote
    each cell last, if anybody asks.  ``name`` and ``identity`` are for findings (``names_of``).
    """

    name: str
    width: int
    ids: Ids
    serial: int
    identity: int | str = ""
    closed: Mask | None = None
    owners: list[tuple[Ids, Ids]] = field(default_factory=list)
    dtypes: set[DType] = field(default_factory=set)
    version: int = 0
    scope: str = "global"
    data: Var | None = None
    places: Ids | None = None


@final
@dataclass(frozen=True, slots=True)
class Warps:
    """The warps of thread blocks: ``places`` has, for each coordinate, its first bit in the number of a thread, its
    number of bits, and how many threads a step along it passes."""

    places: tuple[tuple[int, int, int], ...]
    count: int
    size: int

    def of(self, threads: Ids) -> Ids:
        """The numbers of the warps of threads."""
        number: Ids = np.zeros(threads.shape, dtype=np.int64)
        for first, bits, step in self.places:
            number = number + (threads >> first & (1 << bits) - 1) * step
        return number // self.size


@final
@dataclass(slots=True, eq=False)
class Region:
    """``depth`` counts the regions around it, ``serial`` tells the regions of a run apart.

    With ``strict``, a conflict is raised; else those that ``matter`` are noted in ``conflicts``, the first one in each
    block (the region runs in order anyway).

    The threads of some thread blocks are a region too.  Its rows are pairs: the number of the block, over
    ``ROW_BITS`` bits of the thread's.  ``phases`` are serial numbers, one for each block, of what lies between two
    barriers: only in one phase can threads conflict.

    ``whole`` is the number of its rows, if these are known, run together, and may stand for each other; else 0.
    ``warps`` are of two such regions, in programs with barriers of warps: in one of them, threads of different warps
    conflict; in the other one (``within``) threads of one warp, which has phases of its own.

    ``judged``: conflicts are races of a marked loop.

    With ``places``, it is the whole run, and its rows are places; nothing conflicts there.
    """

    depth: int
    serial: int
    strict: bool
    conflicts: dict[tuple[str, str, bool], Conflict] = field(default_factory=dict)
    phases: Ids | None = None
    matter: Callable[[Conflict], bool] | None = None
    whole: int = 0
    judged: bool = False
    warps: Warps | None = None
    within: bool = False
    places: Places | None = None

    def keys(self, rows: Ids) -> tuple[Ids | int, Ids]:
        """For each row, the serial number in which it can conflict, and that with the number of the row."""
        if self.phases is None:
            return self.serial, (self.serial << ROW_BITS) | rows
        blocks, threads = rows >> ROW_BITS, rows & SEVERAL
        if self.warps is None:
            serials = self.phases[blocks]
            return serials, (serials << ROW_BITS) | threads
        warps = self.warps.of(threads)
        serials = self.phases[blocks * self.warps.count + warps if self.within else blocks]
        return serials, (serials << ROW_BITS) | (threads if self.within else warps)


@final
@dataclass(slots=True, eq=False)
class View:
    """A buffer during a run: ``span`` cells of the block for each row."""

    name: str
    dtype: DType
    block: Block
    extents: Extents
    span: int

    @property
    def ratio(self) -> int:
        return self.dtype.scalar.nbytes // self.block.width


def apart(buffer: Buffer, extents: Extents) -> View:
    """A view of a block just large enough for it, of which no cells are laid out."""
    block = Block(buffer.name, buffer.dtype.scalar.nbytes, np.zeros(0, dtype=np.int64), 0)
    block.dtypes.add(buffer.dtype.scalar)
    return View(buffer.name, buffer.dtype, block, extents, extents.span * buffer.dtype.lanes)


@final
class Memory:
    """The blocks of a run, and what is needed to undo stores."""

    def __init__(self) -> None:
        self.serial = 0
        self.journal: list[tuple[Ids, Ids, Ids, Block | None]] | None = None
        self.scalars = 0

    def new_block(self, name: str, dtype: DType, scalars: int, ratio: int = 1) -> Block:
        """A fresh block, undefined throughout; ``ratio`` cells for each scalar of type ``dtype``."""
        scalars *= ratio
        self.scalars += scalars
        if scalars > LARGEST_BLOCK:
            raise Oversize(f"{name} takes {scalars} scalars; the most is {LARGEST_BLOCK}")
        if self.scalars > _MOST_ALLOCATED:
            raise Oversize(f"more than {_MOST_ALLOCATED} scalars were allocated, the last ones for {name}")
        self.serial += 1
        return Block(name, dtype.scalar.nbytes // ratio, np.zeros(scalars, dtype=np.int64), self.serial)

    def new_region(self, depth: int, *, strict: bool) -> Region:
        self.serial += 1
        return Region(depth, self.serial, strict)

    def new_phase(self, region: Region, blocks: Ids) -> None:
        """The threads of some thread blocks have passed a barrier."""
        assert region.phases is not None
        if region.warps is not None and region.within:
            blocks = (blocks[:, None] * region.warps.count + np.arange(region.warps.count)).reshape(-1)
        region.phases[blocks] = self.serial + 1 + np.arange(blocks.size)
        self.serial += int(blocks.size)

    def store(self, block: Block, at: Ids, value: Ids) -> None:
        """Store terms at addresses; of several stores to one address the last stays."""
        if self.journal is not None:
            self.journal.append((block.ids, at, block.ids[at], block))
        block.version += 1
        block.ids[at] = value

    def undo(self, mark: int) -> None:
        """Take back the stores since the journal had ``mark`` entries."""
        assert self.journal is not None
        while len(self.journal) > mark:
            changed, at, old, block = self.journal.pop()
            changed[at] = old
            if block is not None:
                block.version += 1

    def note_write(self, region: Region, block: Block, rows: Ids, at: Ids) -> None:
        """Row ``rows[k]`` of a region writes the scalar ``at[k]``."""
        if region.places is not None:
            if is_own(block.scope):
                region.places.write(self, block, rows, at)
            return
        if _apart(region, block):
            return
        if region.whole and rows.size and rows[0] == EVERY:
            self._all_write(region, block, at)
        else:
            _note_write(region, block, rows, at)

    def _all_write(self, region: Region, block: Block, at: Ids) -> None:
        """Every row writes some scalars, all the same there.

        That they did is undone with the stores: rows that run again may read what they did not write yet.
        """
        writer, reader = _owners(region, block)
        w, r = writer[at], reader[at]
        mine = _mark(region)
        others = (w >> ROW_BITS == region.serial) | (r >> ROW_BITS == region.serial)
        bad = (w != mine) & others
        if bad.any():
            k = int(bad.argmax())
            key = w[k] if w[k] >> ROW_BITS == region.serial else r[k]
            _conflict(region, block, EVERY, int(key))
        if self.journal is not None:
            self.journal.append((writer, at, w, None))
        writer[at] = mine


def _mark(region: Region) -> int:
    """The key of a scalar that all rows of a region have written alike."""
    return (region.serial << ROW_BITS) | EVERY


def _note_write(region: Region, block: Block, rows: Ids, at: Ids) -> None:
    writer, reader = _owners(region, block)
    serial, keys = region.keys(rows)
    w, r = writer[at], reader[at]
    bad = ((w >> ROW_BITS == serial) & (w != keys)) | ((r >> ROW_BITS == serial) & (r != keys))
    writer[at] = keys
    now = writer[at]
    bad |= now != keys
    if bad.any():
        k = int(bad.argmax())
        found = int(keys[k]) >> ROW_BITS
        others = [v for v in (int(now[k]), int(w[k]), int(r[k])) if v >> ROW_BITS == found and v != keys[k]]
        _conflict(region, block, int(rows[k]), others[0])


def _apart(region: Region, block: Block) -> bool:
    """Whether no two rows of a region meet in a block: it was made inside, for one row alone."""
    if region.phases is not None:
        return block.scope == EXCHANGE
    return block.serial > region.serial


def note_read(region: Region, block: Block, rows: Ids, at: Ids) -> None:
    """Row ``rows[k]`` of a region reads the scalar ``at[k]``."""
    if region.places is not None:
        if is_own(block.scope):
            region.places.read(block, rows, at)
        return
    if _apart(region, block):
        return
    writer, reader = _owners(region, block)
    serial, keys = region.keys(rows)
    w, r = writer[at], reader[at]
    bad = (w >> ROW_BITS == serial) & (w != keys)
    if region.whole and bad.any():
        own = bad & (w == _mark(region)) & (rows != SEVERAL)  # what each row has written itself
        if own.any():
            at, rows, keys = at[~own], rows[~own], keys[~own]
            w, r, bad = w[~own], r[~own], bad[~own]
    several = keys | SEVERAL
    reader[at] = np.where((r >> ROW_BITS != serial) | (r == keys), keys, several)
    mixed = reader[at] != keys
    if mixed.any():
        reader[at[mixed]] = several[mixed]
    if bad.any():
        k = int(bad.argmax())
        _conflict(region, block, int(rows[k]), int(w[k]), carried=True)


def _conflict(region: Region, block: Block, row: int, key: int, *, carried: bool = False) -> None:
    found = Conflict(region, block, (key & SEVERAL, row), carried)
    if region.strict:
        raise found
    if region.matter is None or region.matter(found):
        region.conflicts.setdefault((block.name, block.scope, carried), found)


def _owners(region: Region, block: Block) -> tuple[Ids, Ids]:
    while len(block.owners) <= region.depth:
        block.owners.append((np.zeros(block.ids.size, np.int64), np.zeros(block.ids.size, np.int64)))
    return block.owners[region.depth]


def repeats(addresses: Ids) -> bool:
    """Whether some address occurs twice (``np.unique`` hashes, and is slow where addresses follow each other)."""
    ordered = np.sort(addresses, axis=None)
    return bool((ordered[1:] == ordered[:-1]).any())
