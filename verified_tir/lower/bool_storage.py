"""BoolStorage: bool buffers are kept as bytes (seed of the project: "Having explicit pointer casts would also simplify
the handling of boolean arrays").

    b = T.alloc_buffer((4,), "bool")               b_bytes = T.alloc_buffer((4,), "int8")
    b[0] = x < y                          ⟶        b_bytes[0] = T.Cast("int8", x < y)
    if b[0]: …                                      if T.Cast("bool", b_bytes[0]): …

A parameter stays a bool array, which is the calling convention; a view of bytes carries the accesses.  A local buffer
with strides, or that begins somewhere in its block, stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import IntImm
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Allocate
from verified_tir.ir.visit import nodes_of
from verified_tir.kernel.rules.merge_allocations import MergeAllocations
from verified_tir.kernel.rules.scope import Declare, Drop
from verified_tir.lower.passes import Lowering, Pass
from verified_tir.schedule import codes
from verified_tir.schedule.edits import accesses, moves_of, redirected
from verified_tir.schedule.session import Session, fail


@final
@dataclass(frozen=True, repr=False)
class BoolStorage(Pass):
    """Keep the elements of bool buffers as ``int8``; one that has other views is refused."""

    def lower(self, work: Lowering) -> None:
        session = work.session
        for param in reversed(session.func.params):
            buffer = session.func.buffer_of(param)
            if buffer is not None and buffer.dtype.is_bool and accesses(session.func.body, buffer):
                new = _bytes(session, buffer)
                session.apply(Declare((), new, True))
                _redirect(session, (0,), buffer, new)
        work.each(Allocate, lambda path, s: _local(work, path, s.buffer), lambda s: s.buffer.dtype.is_bool)


def _is_plain(buffer: Buffer) -> bool:
    return not buffer.strides and isinstance(buffer.elem_offset, IntImm) and buffer.elem_offset.value == 0


def _local(work: Lowering, path: Path, old: Buffer) -> None:
    session = work.session
    if not _is_plain(old):
        work.note(f"{old.name} stays an array of bool: its elements do not fill its block")
        return
    new = _bytes(session, old)
    session.apply(MergeAllocations(path, (), new))
    _redirect(session, (*path, 0, 0), old, new)
    session.apply(Drop((*path, 0)))


def _redirect(session: Session, path: Path, old: Buffer, new: Buffer) -> None:
    session.apply(redirected(path, old, new, moves_of(session.stmt(path), old)))


def _bytes(session: Session, old: Buffer) -> Buffer:
    """The buffer's bytes, at the same places.

    :raises TacticFailed: if the block has other views, which would go on storing bools, or bytes that are none.
    """
    if any(b.data is old.data and b is not old for b in nodes_of(session.func, Buffer)):
        raise fail(f"{old.name} has other views, which would see bytes where they saw bools", code=codes.OTHER_VIEWS)
    return Buffer.declare(
        f"{old.name}_bytes", old.shape, DType.parse("int8").with_lanes(old.dtype.lanes), data=old.data,
        strides=old.strides, elem_offset=old.elem_offset, scope=old.scope, axis_separators=old.axis_separators,
    )  # fmt: skip
