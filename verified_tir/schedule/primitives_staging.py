"""Primitives of the schedule that work on copies, and that compute where something is used."""

from __future__ import annotations

from verified_tir.ir.buffer import Buffer
from verified_tir.schedule.primitives import Primitives
from verified_tir.schedule.recording import recorded
from verified_tir.schedule.tactics import compute, staging
from verified_tir.schedule.tactics.layout import BufferIn
from verified_tir.schedule.tactics.loops import Handle


class StagingPrimitives(Primitives):
    """A part of :class:`~verified_tir.schedule.schedule.Schedule`."""

    @recorded
    def cache_read(
        self, block: str, buffer: BufferIn, scope: str = "global", loop: Handle | None = None, *, name: str = ""
    ) -> Buffer:
        """Let a block read a copy of a buffer; gives the copy, ``<buffer>_<scope>`` unless named.

        :param buffer: a buffer that the block reads, also as ``("read", k)``.
        :param loop: copy what an iteration of this loop reads, in each iteration.  Without it the copy is made once,
            before the outermost loop around the block in which nothing writes the buffer.
        :raises ScheduleError: if the buffer may be written between the copy and its use, or the region cannot be found.
        """
        said = _said(block, buffer, scope, loop)
        return self._do("cache_read", said, lambda s: staging.cache_read(s, block, buffer, scope, loop, name))

    @recorded
    def cache_write(
        self, block: str, buffer: BufferIn, scope: str = "global", loop: Handle | None = None, *, name: str = ""
    ) -> Buffer:
        """Let a block, and all under the same loop, work on a copy of a buffer, copied back afterwards; gives the copy.

        It is filled from the buffer first, unless everything in it is written before it is read or copied back.

        :param buffer: a buffer that the block writes, also as ``("write", k)``.
        :param loop: do so in each iteration of this loop; without it once, around the whole nest.
        :raises ScheduleError: if something else, another view perhaps, touches what was copied.
        """
        said = _said(block, buffer, scope, loop)
        return self._do("cache_write", said, lambda s: staging.cache_write(s, block, buffer, scope, loop, name))

    @recorded
    def compute_at(self, block: str, loop: Handle) -> None:
        """Compute what a block stores to a local buffer in each iteration of ``loop``, as far as that one reads it.

        What several iterations read is computed several times.  The buffer shrinks to what one iteration needs.

        :raises ScheduleError: if something else reads what the block stores, or its inputs change on the way.
        """
        self._do("compute_at", (block, loop), lambda s: compute.compute_at(s, block, loop))


def _said(block: str, buffer: BufferIn, scope: str, loop: Handle | None) -> list[object]:
    return [block, buffer, scope, *([] if loop is None else [loop])]
