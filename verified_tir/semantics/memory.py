"""Memory: blocks of bytes, and the typed views through which programs see them.

A block remembers of each byte whether it is undefined, plain bits, or part of a NaN of some float type.  NaN has no
payload, so it can be read at the type that wrote it and at no other: there the read is undefined.  A ``bool`` takes one
byte and reads as undefined where that byte is neither 0 nor 1.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias, final

from verified_tir.ir.dtype import FLOATS, DType
from verified_tir.ir.floats import bits_of
from verified_tir.semantics.errors import TooLarge, UBKind, UndefinedBehaviour, Unsupported
from verified_tir.semantics.values import UNDEF, Scalar, Value, lanes_of, vector

UNDEF_BYTE, DEFINED_BYTE = 0, 1
_NAN_BYTES = {dtype: k for k, dtype in enumerate(FLOATS, 2)}
_FORMATS = {
    ("int", 8): "<b", ("int", 16): "<h", ("int", 32): "<i", ("int", 64): "<q",
    ("uint", 8): "<B", ("uint", 16): "<H", ("uint", 32): "<I", ("uint", 64): "<Q",
    ("float", 16): "<e", ("float", 32): "<f", ("float", 64): "<d",
    ("bool", 1): "<B", ("bfloat", 16): "<H",
}  # fmt: skip
LARGEST_BLOCK = 1 << 28


@final
class Block:
    """What an allocation or a parameter provides: bytes, each with a state, some of them perhaps inaccessible.

    ``number`` tells the blocks of a run apart.
    """

    __slots__ = ("data", "inaccessible", "name", "number", "state")

    def __init__(self, name: str, nbytes: int, number: int = 0) -> None:
        if nbytes > LARGEST_BLOCK:
            raise TooLarge(f"{name} takes {nbytes} bytes; the interpreter stops at {LARGEST_BLOCK}")
        self.name = name
        self.number = number
        self.data = bytearray(nbytes)
        self.state = bytearray(nbytes)  # UNDEF_BYTE throughout
        self.inaccessible: bytearray | None = None


Reader: TypeAlias = Callable[[Block, int], Scalar]
Writer: TypeAlias = Callable[[Block, int, Scalar], None]


def nan_byte(dtype: DType) -> int:
    """The state of the bytes of a NaN of type ``dtype`` (of no byte at all, for types without NaN)."""
    return _NAN_BYTES.get(dtype.scalar, 255)


def _format(dtype: DType) -> struct.Struct:
    found = _FORMATS.get((dtype.code, dtype.bits))
    if found is None:
        raise Unsupported(f"memory cannot contain a {dtype}")
    return struct.Struct(found)


@cache
def reader(dtype: DType) -> Reader:
    """The function that reads one scalar of type ``dtype`` at a byte offset of a block."""
    form = _format(dtype)
    unpack, size = form.unpack_from, form.size
    defined, nan = bytes([DEFINED_BYTE]) * size, bytes([nan_byte(dtype)]) * size
    widen = struct.Struct("<f")

    def read(block: Block, at: int) -> Scalar:
        state = block.state[at : at + size]
        if state == nan:
            return math.nan
        if state != defined:
            return UNDEF
        (value,) = unpack(block.data, at)
        if dtype.code == "bfloat":
            (value,) = widen.unpack(struct.pack("<I", value << 16))
        if dtype.is_bool:
            return bool(value) if value <= 1 else UNDEF
        found: Scalar = value
        return found

    return read


@cache
def writer(dtype: DType) -> Writer:
    """The function that writes one scalar of type ``dtype`` (or ``UNDEF``) at a byte offset of a block."""
    form = _format(dtype)
    pack, size = form.pack_into, form.size
    undefined, defined, nan = (bytes([b]) * size for b in (UNDEF_BYTE, DEFINED_BYTE, nan_byte(dtype)))

    def write(block: Block, at: int, value: Scalar) -> None:
        if value is UNDEF:
            block.state[at : at + size] = undefined
            return
        block.state[at : at + size] = defined
        if value != value:  # noqa: PLR0124 (the test for NaN)
            block.state[at : at + size], value = nan, math.nan
        pack(block.data, at, bits_of(dtype, value) if dtype.code == "bfloat" else value)

    return write


def reinterpret(value: Value, source: DType, target: DType) -> Value:
    """The bytes of a value of type ``source`` read as a ``target`` of the same size, lanes included."""
    block = Block("reinterpret", source.nbytes)
    write, read = writer(source.scalar), reader(target.scalar)
    for k, scalar in enumerate(lanes_of(value)):
        write(block, k * source.scalar.nbytes, scalar)
    return vector([read(block, k * target.scalar.nbytes) for k in range(target.lanes)])


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides, in elements, of a compact buffer."""
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= extent
    return tuple(strides)


@final
@dataclass(frozen=True, slots=True)
class Extents:
    """Shape, strides and offset of a view as numbers, in elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @property
    def span(self) -> int:
        """How many elements a block must have to hold the view's last one (its first one may lie before the block)."""
        if 0 in self.shape:
            return 0
        return max(0, self.offset + sum((d - 1) * s for d, s in zip(self.shape, self.strides, strict=True)) + 1)


@final
class View:
    """A buffer in a run: a block, and how its bytes make elements."""

    __slots__ = ("axes", "block", "dtype", "extents", "lane_bytes", "lanes", "name", "nbytes", "read", "write")

    def __init__(self, name: str, dtype: DType, block: Block, extents: Extents) -> None:
        self.name, self.dtype, self.block, self.extents = name, dtype, block, extents
        self.axes = tuple(zip(extents.shape, extents.strides, strict=True))
        self.lanes, self.nbytes, self.lane_bytes = dtype.lanes, dtype.nbytes, dtype.scalar.nbytes
        self.read: Reader = reader(dtype.scalar)
        self.write: Writer = writer(dtype.scalar)

    def locate(self, indices: Sequence[int]) -> int:
        """The byte at which an element starts.

        :raises UndefinedBehaviour: outside the view's shape, outside the block, or inaccessible.
        """
        element = self.extents.offset
        for index, (extent, stride) in zip(indices, self.axes, strict=True):
            if not 0 <= index < extent:
                raise self._trouble("out-of-bounds", indices, f"is outside its shape {list(self.extents.shape)}")
            element += index * stride
        start = element * self.nbytes
        block = self.block
        if start < 0 or start + self.nbytes > len(block.data):
            raise self._trouble("out-of-bounds", indices, f"is outside the block of {len(block.data)} bytes")
        if block.inaccessible is not None and any(block.inaccessible[start : start + self.nbytes]):
            raise self._trouble("inaccessible", indices, "is declared inaccessible")
        return start

    def _trouble(self, kind: UBKind, indices: Sequence[int], what: str) -> UndefinedBehaviour:
        return UndefinedBehaviour(kind, f"{self.name}[{', '.join(map(str, indices))}] {what}", indices=indices)

    def load(self, indices: Sequence[int]) -> Value:
        """The element, a tuple if it has lanes."""
        start = self.locate(indices)
        if self.lanes == 1:
            return self.read(self.block, start)
        return tuple([self.read(self.block, start + k * self.lane_bytes) for k in range(self.lanes)])

    def store(self, indices: Sequence[int], value: Value) -> None:
        """Replace the element; the value has as many lanes."""
        start = self.locate(indices)
        if not isinstance(value, tuple):
            self.write(self.block, start, value)
            return
        for k, scalar in enumerate(value):
            self.write(self.block, start + k * self.lane_bytes, scalar)
