"""Loads and stores: many rows at once, on the blocks of a run.

Addresses are known numbers.  An access outside its view or its block, or of a scalar declared inaccessible, is
undefined behaviour; under a symbolic path condition the condition is noted, and the access does nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import VOID, DType
from verified_tir.ir.expr import Var
from verified_tir.validate.events import Events
from verified_tir.validate.frame import Frame
from verified_tir.validate.memory import Block, Mask, Memory, Refused, View, note_read, repeats
from verified_tir.validate.operators import Builder
from verified_tir.validate.terms import MAY_NAN, MAY_UNDEF, UNDEF_ID, Ids
from verified_tir.validate.widths import bare, joined, parts

OUTSIDE: Final = "external-state"


class Access:
    """The memory of one run, as its statements reach it.

    ``world`` is a term for all that opaque calls have done so far, and ``outside`` a block of one cell that stands for
    what they share beside the memory of the run; ``written`` the data variables of the blocks that the function stores
    to (others need no checks for conflicts).
    """

    def __init__(self, build: Builder, written: frozenset[Var]) -> None:
        self.build, self.terms, self.written = build, build.terms, written
        self.events, self.memory = Events(build), Memory()
        self.world = int(build.opaque("world", VOID, 0))
        self.reachable: list[Block] = []
        self.outside = Block(OUTSIDE, 1, np.zeros(1, dtype=np.int64), 0, OUTSIDE)

    # ---------------------------------------------------------------------------------------------- addresses

    def addresses(
        self, frame: Frame, buffer: Buffer, indices: Sequence[Ids], lanes: int, mask: Ids | None
    ) -> tuple[View, Ids, Mask | None]:
        """The cells that an access touches, shape (rows or 1, cells), and which are accessed (``None``: all).

        What is undefined is noted.
        """
        view = frame.views.get(buffer)
        if view is None:
            raise Refused(f"{buffer.name} is not declared here")
        extents = view.extents
        element: Ids = np.full((1, lanes), extents.offset, dtype=np.int64)
        outside: Mask = np.zeros((1, 1), dtype=np.bool_)
        for index, extent, stride in zip(indices, extents.shape, extents.strides, strict=True):
            wrong = (index < 0) | (index >= extent)
            if wrong.any():
                outside = outside | wrong
            element = element + index * stride
        moved = self._moved(frame, buffer)
        if moved is not None:
            element = element + moved
        size = view.dtype.lanes * view.ratio
        outside = outside | (element < 0) | (element >= view.span // size)
        if mask is not None:
            outside = outside & (mask != 0)
        taken: Mask | None = None
        if outside.any():
            self.events.note(frame, f"{buffer.name} is accessed out of bounds", outside)
            taken = ~outside
        if mask is not None:
            taken = mask != 0 if taken is None else taken & (mask != 0)
        if taken is not None:
            element, taken = np.broadcast_arrays(element, taken)
            element = np.where(taken, element, 0)
        at = element * size
        if size > 1:
            at = (at[:, :, None] + np.arange(size)).reshape(at.shape[0], at.shape[1] * size)
            if taken is not None:
                taken = np.repeat(taken, size, axis=1)
        base = frame.bases.get(buffer.data)
        if base is not None:
            at = at + base[:, None]
        closed = self._closed(buffer, view, at)
        if closed is not None:
            taken = np.ones((1, 1), dtype=np.bool_) if taken is None else taken
            self.events.note(frame, f"{view.name} is accessed where it is declared inaccessible", closed & taken)
            taken = taken & ~closed
        return view, at, taken

    def _moved(self, frame: Frame, buffer: Buffer) -> Ids | None:
        """How far behind its offset a view begins that moves, shape (rows or 1, 1)."""
        moved = frame.bases.get(buffer)
        return None if moved is None else moved[:, None]

    def _closed(self, buffer: Buffer, view: View, at: Ids) -> Mask | None:
        """Which cells may not be accessed; ``None`` if there are none of the kind."""
        return None if view.block.closed is None else view.block.closed[at]

    def _contents(self, frame: Frame, buffer: Buffer, view: View, at: Ids, taken: Mask | None) -> Ids:
        """What some cells hold; nothing where they are not accessed, which may be outside of the block."""
        return _cells(view.block, at, taken)

    # --------------------------------------------------------------------------------------------------- load

    def load(self, frame: Frame, buffer: Buffer, indices: Sequence[Ids], lanes: int, mask: Ids | None) -> Ids:
        """The terms at some elements, shape (rows or 1, scalars)."""
        view, at, taken = self.addresses(frame, buffer, indices, lanes, mask)
        self.build.operations += at.size
        if frame.regions and buffer.data in self.written:
            self._note(frame, view.block, at, taken, write=False)
        return self.typed(self._contents(frame, buffer, view, at, taken), view)

    def typed(self, cells: Ids, view: View) -> Ids:
        """The scalars of a view in cells of its block: what was stored at another type is read by its bytes."""
        target = view.dtype.scalar
        if view.block.dtypes <= {target} and view.ratio == 1:
            return cells
        if view.ratio > 1:
            return self.as_dtype(joined(self.build, cells, view.ratio, view.block.width), target)
        return self.as_dtype(bare(self.build, cells, view.block.width), target)

    def kept(self, cells: Ids, view: View) -> Ids:
        """What a store under a condition may leave in the cells of its view, as scalars that can be written back.

        A NaN or undef that is read at another type is not what it was: cells that are not stored to must stay as they
        are.

        :raises Refused: if that is not certain.
        """
        old = self.typed(cells, view)
        changed = self.terms.flags[old] & (MAY_NAN | MAY_UNDEF) != 0
        if changed.any():
            back = old if view.ratio == 1 else parts(self.build, view.dtype.scalar, old, view.ratio)
            changed = np.repeat(changed, view.ratio, axis=-1) & (back != cells)
        if changed.any():
            raise Refused(f"{view.name} is stored to under a condition on data, over what was stored at another type")
        return old

    def as_dtype(self, ids: Ids, target: DType) -> Ids:
        """Scalars read at a type of their width."""
        codes = self.terms.columns[0, ids]
        for code in np.unique(codes).tolist():
            if self.terms.code_op[code] in ("undef", "reinterpret") and self.terms.code_dtype[code] in (VOID, target):
                continue
            here = codes == code
            example = int(ids[here].flat[0])
            source = self.terms.result_dtype(example)
            if source is not target:
                ids = ids.copy()
                both = source.is_int and target.is_int  # then it is the cast, about which more is known
                read = self.build.cast(source, target, ids[here]) if both else self.build.reinterpret(target, ids[here])
                ids[here] = read
        return ids

    # -------------------------------------------------------------------------------------------------- store

    def store(
        self, frame: Frame, buffer: Buffer, value: Ids, indices: Sequence[Ids], lanes: int, mask: Ids | None
    ) -> None:
        """Store terms, shape (rows or 1, scalars or 1), in the order of the rows and lanes."""
        view, at, taken = self.addresses(frame, buffer, indices, lanes, mask)
        block = view.block
        shape = (frame.count, lanes * view.dtype.lanes * view.ratio)
        at = np.broadcast_to(at, shape)
        value = np.broadcast_to(value, (frame.count, lanes * view.dtype.lanes))
        taken = None if taken is None else np.broadcast_to(taken, shape)
        if frame.regions:
            self._note(frame, block, at, taken, write=True)
        block.dtypes.add(view.dtype.scalar)
        if frame.guard is not None:
            if frame.count * lanes > 1 and repeats(at if taken is None else at[taken]):
                raise Refused(f"several rows store to one element of {buffer.name} under a condition")
            old = self.kept(_cells(block, at, taken), view)
            value = self.build.choose(view.dtype.scalar, frame.guard[:, None], value, old)
        if view.ratio > 1:
            value = parts(self.build, view.dtype.scalar, value, view.ratio)
        self.build.operations += at.size
        if taken is None:
            self.memory.store(block, at.reshape(-1), value.reshape(-1))
        else:
            self.memory.store(block, at[taken], value[taken])

    def _note(self, frame: Frame, block: Block, at: Ids, taken: Mask | None, *, write: bool) -> None:
        note = self.memory.note_write if write else note_read
        shape = (frame.count, at.shape[1])
        flat = np.broadcast_to(at, shape)
        here = None if taken is None else np.broadcast_to(taken, shape)
        for region, numbers in frame.regions:
            rows = np.broadcast_to(numbers[:, None], shape)
            if here is None:
                note(region, block, rows.reshape(-1), flat.reshape(-1))
            else:
                note(region, block, rows[here], flat[here])


def _cells(block: Block, at: Ids, taken: Mask | None) -> Ids:
    if taken is None:
        found: Ids = block.ids[at]
        return found
    ids: Ids = np.full(at.shape, UNDEF_ID, dtype=np.int64)
    ids[taken] = block.ids[at[taken]]
    return ids
