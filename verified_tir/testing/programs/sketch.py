"""A program in the making: buffers that grow with the indices used, names, and what is in scope where.

Buffers are *placeholders* while statements are drawn (one object each, without extents); :mod:`.finish` puts the real
ones in their place when it is known how far they reach.  So nothing that is drawn has to be thrown away, and no buffer,
symbol or parameter is there that nothing uses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias, final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import BOOL, FLOAT32, INT32, DType
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.stmt import Stmt
from verified_tir.testing.drawing import Picker
from verified_tir.testing.dtypes import SCALARS
from verified_tir.testing.programs.features import Feature
from verified_tir.testing.programs.reach import Ranged, Reach

if TYPE_CHECKING:
    from verified_tir.testing.programs.again import Access

LOOP_NAMES = "ijklpqrs"
SYMBOL_NAMES = "nm"
BUFFERS_AT_MOST = 5
FAR = 24
"""An index may go this far without being folded back."""


@final
@dataclass(eq=False, slots=True)
class Cells:
    """A buffer in the making.

    ``dims`` counts the elements along each dimension, as far as they are used.  ``local`` says that it is to be
    allocated, in scope ``scope``; it becomes a parameter after all if it is never written or never read.  ``indices``
    says that its elements serve as indices.  ``base`` is the buffer of which it is a view, of the kind ``view``;
    ``hidden`` says that its scope has ended, ``fixed`` that its extents are given.
    """

    buffer: Buffer
    dims: list[Reach]
    local: bool = False
    scope: str = "global"
    read: bool = False
    written: bool = False
    indices: bool = False
    base: Cells | None = None
    view: str = ""
    hidden: bool = False
    fixed: bool = False

    @property
    def dtype(self) -> DType:
        return self.buffer.dtype


@final
@dataclass(frozen=True, slots=True)
class Place:
    """What a statement may use, besides the buffers.

    ``indices`` are loop variables, block iteration variables and lets of index arithmetic, outermost first; ``values``
    lets of data; ``depth`` how much deeper statements may nest, ``loops`` how many loops there are around.
    """

    depth: int
    indices: tuple[Ranged, ...] = ()
    values: tuple[Var, ...] = ()
    loops: int = 0

    def inner(self) -> Place:
        """One level deeper."""
        return replace(self, depth=self.depth - 1)

    def with_index(self, index: Ranged) -> Place:
        """Inside a loop, or a let of an index."""
        return replace(self, indices=(*self.indices, index), depth=self.depth - 1, loops=self.loops + 1)

    def with_value(self, value: Var) -> Place:
        """Inside a let of data."""
        return replace(self, values=(*self.values, value), depth=self.depth - 1)


@final
@dataclass(eq=False, slots=True)
class Sketch:
    """What the parts of a program share while it is drawn."""

    pick: Picker
    features: frozenset[Feature]
    palette: tuple[DType, ...]
    """Data types of elements, the program's usual one first."""
    cells: list[Cells] = field(default_factory=list)
    symbols: list[Var] = field(default_factory=list)
    scalars: list[Var] = field(default_factory=list)
    blocks: int = 0
    settling: list[Cells] = field(default_factory=list)
    """Buffers that are not to be read for now: a reduction's own result."""
    accesses: list[Access] = field(default_factory=list)
    """Elements that were read or written before, the last one last."""

    def has(self, feature: Feature) -> bool:
        """Whether a feature is switched on."""
        return feature in self.features

    def shown(self) -> list[Cells]:
        """The buffers that are in scope."""
        return [c for c in self.cells if not c.hidden]

    def dtype(self) -> DType:
        """The type of a new buffer: mostly the program's usual one."""
        if len(self.palette) > 1 and self.pick.rarely(4):
            return self.pick.among(self.palette[1:])
        return self.palette[0]

    def number(self) -> DType:
        """The same for a buffer of numbers; only if the program has some."""
        found = self.dtype()
        return found if found != BOOL else next(t for t in self.palette if t != BOOL)

    def new(self, rank: int, dtype: DType, *, local: bool = False) -> Cells:
        """A new buffer, of no extent yet."""
        buffer = Buffer.declare("buffer", (0,) * rank, dtype)
        made = Cells(buffer, [Reach(0)] * rank, local)
        if local:
            made.scope = self.pick.one("global", "local", "shared") if self.has("locals") else "global"
        self.cells.append(made)
        return made

    def symbol(self) -> Var:
        """A symbolic extent: one that there is, or another."""
        if self.symbols and (len(self.symbols) == len(SYMBOL_NAMES) or not self.pick.rarely(4)):
            return self.pick.among(self.symbols)
        made = Var.fresh(SYMBOL_NAMES[len(self.symbols)], INT32)
        self.symbols.append(made)
        return made

    def scalar(self, dtype: DType) -> Var:
        """A scalar parameter of a type."""
        for found in self.scalars:
            if found.dtype is dtype:
                return found
        made = Var.fresh("xyzwuv"[len(self.scalars) % 6], dtype)
        self.scalars.append(made)
        return made

    def block_name(self) -> str:
        """A name for the next block."""
        self.blocks += 1
        return f"b{self.blocks - 1}"


Body: TypeAlias = Callable[[Sketch, Place], Stmt]
"""Draws the statements inside of another one."""


def reaching(cells: Cells, dimension: int, index: Ranged, *, may_grow: bool) -> Expr | None:
    """The index, once the dimension has been made large enough for it.

    ``None`` if that cannot be: the dimension must not grow, or would depend on two symbols.
    """
    if index.low < 0 or (cells.base is not None and index.high.symbol is not None):
        return None
    wanted = index.high.plus(1)
    assert wanted is not None
    have = cells.dims[dimension]
    if wanted.at_most(have):
        return index.expr
    if not may_grow or cells.fixed:
        return None
    joined = have.join(wanted)
    if joined is None or joined.offset > FAR or joined.scale > 2:
        return None
    cells.dims[dimension] = joined
    return index.expr


def palettes(features: frozenset[Feature]) -> tuple[DType, ...]:
    """The types that a program may be about."""
    return tuple(t for t in SCALARS if t is not BOOL) if "dtypes" in features else (FLOAT32, INT32)
