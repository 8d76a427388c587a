"""Memory of an LLVM run: blocks at addresses that are numbers.

Block k lies in the middle of the k-th slot of 2**44 bytes, so that an address says which block it belongs to, also
where it misses that.  Its alignment is exactly what was promised, so that an access that takes more for granted
shows.  A program that computes with addresses must not depend on this: ``backwards`` the slots are taken from above,
and every block has more alignment than was promised.

A block is divided into *cells* of some bytes, one lane each, undefined at first.  An access of another width divides
them further; the parts of data remember the whole (``Parts``), so that copies by other widths change nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import gcd
from typing import Final, TypeAlias, final

from verified_tir.ir.dtype import DType
from verified_tir.validate.llvm.effects import Bar
from verified_tir.validate.llvm.graph import UNDEF, Graph, Lane, integer
from verified_tir.validate.llvm.parts import Parts
from verified_tir.validate.llvm.syntax import FLOATS, IntType, PointerType, Scalar
from verified_tir.validate.memory import Refused

SLOT: Final = 44
_SLOTS: Final = 1 << 17
_ALIGN: Final = 4096
MOST_CELLS: Final = 1 << 24


Life: TypeAlias = tuple[bool | None, bool | None]
"""Whether a block is ``alive``, and ``dead``."""


class Undefined(Exception):
    """Undefined behaviour on the path that is being executed."""


class Refine(Exception):
    """A block must be divided further, before the path that is being executed."""

    def __init__(self, block: Block, unit: int) -> None:
        super().__init__(block.name)
        self.block, self.unit = block, unit


@final
@dataclass(slots=True, eq=False)
class Block:
    """``closed`` are cells that may not be accessed; ``fresh``: nothing was stored, so that any unit will do; ``dead``:
    its ``llvm.lifetime`` has not begun, or is over, so that what is there is poison; ``alive``: it was not freed, and
    the function that has it on its stack runs.  ``None``: data decide, since ways of a branch differed where they met.
    """

    name: str
    base: int
    size: int
    unit: int
    cells: list[Lane]
    serial: int
    readonly: bool = False
    fresh: bool = False
    alive: bool | None = True
    dead: bool | None = False
    closed: frozenset[int] = frozenset()

    @property
    def life(self) -> Life:
        return self.alive, self.dead

    @life.setter
    def life(self, life: Life) -> None:
        self.alive, self.dead = life


_SEVERAL: Final = -1  # parts that read a byte


@final
@dataclass(slots=True)
class Log:
    """Which part of a parallel loop wrote, and read, each byte last, by block; blocks from ``first`` on are one part's
    own.  ``part`` is running."""

    first: int
    part: int = 0
    readers: dict[int, dict[int, int]] = field(default_factory=dict)
    writers: dict[int, dict[int, int]] = field(default_factory=dict)

    def note(self, block: Block, offset: int, size: int, *, write: bool) -> None:
        """The part that runs touches some bytes.

        :raises Undefined: if another one does, and one of them writes.
        """
        if block.serial >= self.first:
            return
        part = self.part
        readers, writers = self.readers.setdefault(block.serial, {}), self.writers.setdefault(block.serial, {})
        for byte in range(offset, offset + size):
            if writers.get(byte, part) != part or (write and readers.get(byte, part) != part):
                raise Undefined(
                    f"two threads access byte {byte} of {block.name} at one time, and one of them writes it"
                )
            if write:
                writers[byte] = part
            elif readers.setdefault(byte, part) != part:
                readers[byte] = _SEVERAL


@final
class Blocks:
    """All blocks of a run, by their numbers; ``journal``, if there is one, remembers what stores overwrote, and
    ``lives`` how it stood with the life of blocks; ``fill`` is in fresh ones.

    ``unread`` and ``unwritten``: blocks that may not be read, or written (``memory(…)`` of a function).
    ``hidden`` are ranges of numbers, the last ones included: functions that made tail calls have their allocas there.
    """

    def __init__(self, graph: Graph, *, backwards: bool = False) -> None:
        self.graph, self.parts, self.backwards = graph, Parts(graph), backwards
        self.blocks: dict[int, Block] = {}
        self.journal: list[tuple[Block, int, Lane]] | None = None
        self.lives: dict[Block, Life] = {}
        self.logs: list[Log] = []
        self.cells = 0
        self.fill: Lane = UNDEF
        self.unread: Bar = (0, 0)
        self.unwritten: Bar = (0, 0)
        self.hidden: list[tuple[int, int]] = []

    def new(self, name: str, size: int, align: int, unit: int = 0) -> Block:
        """A fresh block; without a ``unit`` its first access says how it is divided."""
        serial = len(self.blocks) + 1
        slot = _SLOTS - serial if self.backwards else serial
        base = (slot << SLOT) + (1 << (SLOT - 1)) + max(align, _ALIGN if self.backwards else 1)
        count = size // (unit or 1)
        self.cells += count
        if self.cells > MOST_CELLS:
            raise Refused(f"LLVM IR: more than {MOST_CELLS} elements of memory, the last ones for {name}")
        block = Block(name, base, size, unit or 1, [self.fill] * count, serial, fresh=not unit)
        self.blocks[serial] = block
        return block

    def around(self, address: int) -> Block | None:
        """The block in whose slot an address lies."""
        slot = address >> SLOT
        return self.blocks.get(_SLOTS - slot if self.backwards else slot)

    def find(self, address: Lane, size: int, what: str) -> tuple[Block, int]:
        """The block that has ``size`` bytes at an address, and where in it.

        :raises Undefined: if there is none.
        """
        if address < 0:
            if address == UNDEF:
                raise Undefined(f"{what} at an undefined address")
            raise Refused(f"LLVM IR: the address of a {what} depends on data")
        block = self.around(address)
        if block is None:
            raise Undefined(f"{what} at an address outside every object")
        offset = address - block.base
        if offset < 0 or offset + size > block.size:
            raise Undefined(f"{what} of bytes {offset} to {offset + size} of {block.name}, which has {block.size}")
        if block.alive is None:
            raise Refused(f"LLVM IR: data decide whether {block.name} was freed before a {what}")
        if not block.alive:
            raise Undefined(f"{what} of {block.name} after its life has ended")
        return block, offset

    def live(self, block: Block, life: Life) -> None:
        """Let the life of a block begin or end on the way that is being executed."""
        if self.journal is not None:
            self.lives.setdefault(block, block.life)
        block.life = life

    # ------------------------------------------------------------------------------------------------- access

    def load(self, kind: Scalar, address: Lane, count: int) -> list[Lane]:
        """``count`` scalars that lie side by side."""
        width = _bytes(kind)
        block, offset = self._readable(address, width * count)
        raw = self._cells(block, offset, width, count)
        if self.logs:
            self._note(block, offset, width * count, write=False)
        if isinstance(kind, (IntType, PointerType)):
            return [self._integer(kind, lane) if lane < UNDEF else _narrow(kind, lane) for lane in raw]
        dtype = FLOATS[kind.name]
        return [self.graph.reinterpret(lane, dtype) for lane in raw]

    def raw(self, kind: IntType, address: Lane, count: int) -> list[Lane]:
        """What is there, for a copy: data of any type as they are."""
        width = _bytes(kind)
        block, offset = self._readable(address, width * count)
        if self.logs:
            self._note(block, offset, width * count, write=False)
        return self._cells(block, offset, width, count)

    def store(self, kind: Scalar, address: Lane, lanes: Sequence[Lane]) -> None:
        """Scalars side by side."""
        width = _bytes(kind)
        block, offset = self.find(address, width * len(lanes), "store")
        if block.readonly:
            raise Undefined(f"store to {block.name}, which is declared readonly")
        if block.serial <= self.unwritten[1]:
            _barred(f"store to {block.name}", "write", sure=block.serial <= self.unwritten[0])
        if self.hidden:
            self._seen(block, "store")
        if block.dead is None:
            raise Refused(f"LLVM IR: data decide whether a store to {block.name} is in its lifetime")
        if block.dead:
            raise Undefined(f"store to {block.name} outside its lifetime")
        if isinstance(kind, IntType) and kind.bits % 8:
            lanes = [self._padded(kind.bits, width * 8, lane) for lane in lanes]
        first, ratio = self._align(block, offset, width)
        if self.logs:
            self._note(block, offset, width * len(lanes), write=True)
        cells, journal = block.cells, self.journal
        if ratio > 1:
            lanes = [p for lane in lanes for p in self.parts.split(lane, width * 8, block.unit * 8)]
        self._open(block, first, len(lanes), "store")
        if journal is not None:
            journal += [(block, first + k, cells[first + k]) for k in range(len(lanes))]
        cells[first : first + len(lanes)] = lanes

    def _readable(self, address: Lane, size: int) -> tuple[Block, int]:
        block, offset = self.find(address, size, "load")
        if block.serial <= self.unread[1] and not block.name.startswith("@"):
            _barred(f"load of {block.name}", "read", sure=block.serial <= self.unread[0])
        if self.hidden:
            self._seen(block, "load")
        return block, offset

    def _seen(self, block: Block, what: str) -> None:
        if self.is_hidden(block):
            raise Undefined(f"{what} of {block.name} in a tail call, which promises not to access it")

    def is_hidden(self, block: Block) -> bool:
        """Whether a block is an alloca of a function that made the tail call that is being executed."""
        return block.name.startswith("%") and any(first < block.serial <= last for first, last in self.hidden)

    def _padded(self, bits: int, whole: int, lane: Lane) -> Lane:
        """A bool in a byte."""
        if lane >= 0 or lane == UNDEF:
            return lane
        if bits != 1:
            raise Refused(f"LLVM IR: data of type i{bits} in memory")
        return self.graph.cast(self.graph.dtypes[~lane], integer(whole, "uint"), lane)

    def _cells(self, block: Block, offset: int, width: int, count: int) -> list[Lane]:
        first, ratio = self._align(block, offset, width)
        self._open(block, first, count * ratio, "load")
        cells = block.cells[first : first + count * ratio]
        if ratio == 1:
            return cells
        bits = block.unit * 8
        return [self.parts.join(cells[k : k + ratio], bits) for k in range(0, len(cells), ratio)]

    def _open(self, block: Block, first: int, count: int, what: str) -> None:
        if block.closed and not block.closed.isdisjoint(range(first, first + count)):
            raise Undefined(f"{what} of {block.name} where it has no element")

    def _align(self, block: Block, offset: int, width: int) -> tuple[int, int]:
        """The first cell of an access and how many cells each scalar has."""
        unit = block.unit
        if block.fresh:
            wanted = gcd(width, offset, block.size)
            if self.journal is None:
                block.fresh, block.unit = False, wanted
                block.cells = [self.fill] * (block.size // wanted)
                unit = wanted
            else:
                raise Refine(block, wanted)
        if width % unit or offset % unit:
            self.refine(block, gcd(unit, width, offset))
            unit = block.unit
        return offset // unit, width // unit

    def refine(self, block: Block, unit: int) -> None:
        """Divide a block further.

        :raises Refine: while a path is being executed that may have to be taken back.
        """
        if self.journal is not None:
            raise Refine(block, unit)
        if block.fresh:
            block.fresh, block.unit, block.cells = False, unit, [self.fill] * (block.size // unit)
            return
        old, bits = block.unit, block.unit * 8
        ratio = old // unit
        block.cells = [p for lane in block.cells for p in self.parts.split(lane, bits, unit * 8)]
        block.closed = frozenset(c * ratio + k for c in block.closed for k in range(ratio))
        block.unit = unit

    def forget(self, block: Block, offset: int, size: int) -> None:
        if block.fresh or not size:
            return
        first, _ = self._align(block, offset, size if size % block.unit == 0 else 1)
        count = size // block.unit
        if self.journal is not None:
            self.journal += [(block, first + k, block.cells[first + k]) for k in range(count)]
        block.cells[first : first + count] = [self.fill] * count

    def _integer(self, kind: IntType | PointerType, lane: Lane) -> Lane:
        own: DType = self.graph.dtypes[~lane]
        if isinstance(kind, PointerType):
            raise Refused("LLVM IR: an address that depends on data")
        if own.is_float:
            return self.graph.reinterpret(lane, integer(kind.bits, "uint"))
        return lane

    def _note(self, block: Block, offset: int, size: int, *, write: bool) -> None:
        for log in self.logs:
            log.note(block, offset, size, write=write)


def _barred(what: str, word: str, *, sure: bool) -> None:
    """An access that ``memory(…)`` excludes, or may exclude."""
    if sure:
        raise Undefined(f"{what} in a function that is declared to {word} no memory")
    raise Refused(f"LLVM IR: {what} in a function that is declared to {word} no memory, or only that of arguments")


def _bytes(kind: Scalar) -> int:
    return max(1, -(-kind.bits // 8))


def _narrow(kind: IntType | PointerType, lane: Lane) -> Lane:
    """A number from memory at a type that does not fill its bytes."""
    if kind.bits % 8 and lane >> kind.bits > 0:
        return UNDEF
    return lane
