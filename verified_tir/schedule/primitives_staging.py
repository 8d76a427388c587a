"""Primitives of the schedule that work on copies, and that compute where something is used."""

from __future__ import annotations

from collections.abc import Sequence

from verified_tir.ir.buffer import Buffer
from verified_tir.schedule.primitives import Primitives
from verified_tir.schedule.recording import recorded
from verified_tir.schedule.session import Handle, Session
from verified_tir.schedule.tactics import compute, staging
from verified_tir.schedule.tactics.buffers import buffer_arguments
from verified_tir.schedule.tactics.layout import BufferIn
from verified_tir.schedule.tactics.reverse_compute import reverse_compute_at
from verified_tir.schedule.tactics.scope import set_scope


class StagingPrimitives(Primitives):
    """A part of :class:`~verified_tir.schedule.schedule.Schedule`."""

    @recorded
    def cache_read(
        self, block: str | Buffer | None = None, buffer: BufferIn | int | None = None, scope: Handle | None = None,
        loop: Handle | None = None, *, name: str = "", consumer_blocks: Sequence[str] = (),
    ) -> Buffer:  # fmt: skip
        """Let reads of a buffer read a copy; gives the copy, ``<buffer>_<scope>`` unless named.

        TVM's form is ``cache_read("C", 0, "local")``: the first buffer that block C reads (or its name).  RFC 77's is
        ``cache_read("A", "local")``: all reads of A.  Both may go on with a loop.

        :param buffer: a buffer that the block reads: its name, itself, its number, or ``("read", k)``.
        :param scope: the storage scope of the copy, ``"global"`` unless given.
        :param loop: copy what an iteration of this loop reads, in each iteration.  Without it the copy is made once:
            before the outermost loop around the block in which nothing writes the buffer; without a block, before the
            first statement of the function, or after the last one that writes the buffer.
        :param consumer_blocks: blocks whose reads read the copy, if others shall go on reading the buffer.
        :raises ScheduleError: if the buffer may be written between the copy and its use, or the region cannot be found.
        """
        said = _said(block, buffer, scope, loop)

        def steps(s: Session) -> Buffer:
            where, which, storage, around = buffer_arguments(s, block, buffer, scope, loop, "read")
            consumers = [consumer_blocks] if isinstance(consumer_blocks, str) else list(consumer_blocks)
            return staging.cache_read(s, where, which, storage, around, name, consumers)

        return self._do("cache_read", said, steps)

    @recorded
    def cache_write(
        self, block: str | Buffer | None = None, buffer: BufferIn | int | None = None, scope: Handle | None = None,
        loop: Handle | None = None, *, name: str = "",
    ) -> Buffer:  # fmt: skip
        """Let a block, and all under the same loop, work on a copy of a buffer, copied back afterwards; gives the copy.

        It is filled from the buffer first, unless everything in it is written before it is read or copied back.  The
        forms are those of ``cache_read``: without a block the whole function works on the copy.

        :param buffer: a buffer that the block writes: its name, itself, its number, or ``("write", k)``.
        :param scope: the storage scope of the copy, ``"global"`` unless given.
        :param loop: do so in each iteration of this loop; without it once, around the whole nest.
        :raises ScheduleError: if something else, another view perhaps, touches what was copied.
        """
        said = _said(block, buffer, scope, loop)

        def steps(s: Session) -> Buffer:
            where, which, storage, around = buffer_arguments(s, block, buffer, scope, loop, "write")
            return staging.cache_write(s, where, which, storage, around, name)

        return self._do("cache_write", said, steps)

    @recorded
    def set_scope(
        self, block: str | Buffer | None = None, buffer: BufferIn | int | None = None, scope: str | None = None
    ) -> None:
        """Let a local buffer live in another storage scope.

        ``set_scope("C", 0, "shared")``, as in TVM: the first buffer that block C writes (or its name); or
        ``set_scope("t", "shared")``.

        :raises ScheduleError: for a parameter; or if threads of the program would then share the buffer, or no longer
            share it (see ``docs/rules/race-free.md``).
        """

        def steps(s: Session) -> None:
            where, which, storage, _ = buffer_arguments(s, block, buffer, scope, None, "write")
            set_scope(s, where, which, storage)

        self._do("set_scope", _said(block, buffer, scope), steps)

    @recorded
    def compute_at(self, block: Handle, loop: Handle, preserve_unit_loops: bool = False) -> None:
        """Compute what a block stores to a local buffer in each iteration of ``loop``, as far as that one reads it.

        What several iterations read is computed several times.  The buffer shrinks to what one iteration needs.

        :param block: the block's name, or the outermost loop of its nest.
        :param preserve_unit_loops: TVM's; loops of one iteration are not kept, whatever it says.
        :raises ScheduleError: if something else reads what the block stores, or its inputs change on the way.
        """
        del preserve_unit_loops
        self._do("compute_at", (block, loop), lambda s: compute.compute_at(s, block, loop))

    @recorded
    def reverse_compute_at(self, block: Handle, loop: Handle, preserve_unit_loops: bool = False) -> None:
        """Run a block at the end of the iterations of its producer's ``loop``, each instance in the iteration in which
        the last element that it reads was stored.

        :param block: the block's name, or the outermost loop of its nest.
        :param preserve_unit_loops: TVM's; loops of one iteration are not kept, whatever it says.
        :raises ScheduleError: if some instance belongs to no iteration, or something stands in between that keeps its
            place.
        """
        del preserve_unit_loops
        self._do("reverse_compute_at", (block, loop), lambda s: reverse_compute_at(s, block, loop))


def _said(*arguments: object) -> list[object]:
    """The arguments that were given, for the record."""
    return [a for a in arguments if a is not None]
