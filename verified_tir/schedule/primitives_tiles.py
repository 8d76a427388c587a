"""Primitives of the schedule on parts of nests: what pads, what is partitioned, what one tile copies."""

from __future__ import annotations

from collections.abc import Sequence

from verified_tir.ir.expr import Var
from verified_tir.schedule.primitives import Primitives
from verified_tir.schedule.recording import recorded
from verified_tir.schedule.session import Handle
from verified_tir.schedule.shown import listed
from verified_tir.schedule.tactics import auto_copy, decompose_padding, loop_partition, merge, rolling_buffer
from verified_tir.schedule.tactics import reduction_epilogue as epilogues


class TilePrimitives(Primitives):
    """A part of :class:`~verified_tir.schedule.schedule.Schedule`."""

    @recorded
    def decompose_padding(self, block: str, loop: Handle) -> str:
        """Split a block that pads into a fill with the padding value and a copy of what lies inside (TVM's
        ``decompose_padding``).

        ``y[i] = if_then_else(c, x[i - 6], 0)`` becomes ``y[i] = 0`` in a nest of its own before ``loop``, whose loops
        are called ``<loop>_pad``, and ``y[i + 6] = x[i]``, over the iterations in which ``c`` is true.  Gives the name
        of the block that fills, ``<block>_pad_const``.

        :param block: a block of one store ``B[…] = T.if_then_else(condition, value, padding)``.
        :param loop: a loop around the block, before which the whole of what it stores is filled.
        :raises ScheduleError: if the block does something else, the padding is read from memory, or something reads an
            element between the fill and the copy.
        """
        return self._do("decompose_padding", (block, loop),
                        lambda s: decompose_padding.decompose_padding(s, block, loop))  # fmt: skip

    def can_decompose_padding(self, block: str, loop: Handle) -> bool:
        """Whether :meth:`decompose_padding` is possible (TVM's ``can_decompose_padding``); changes nothing."""
        return decompose_padding.can_decompose_padding(self._session, block, loop)

    @recorded
    def rolling_buffer(self, block: str, write_buffer_index: int) -> None:
        """Compute each row of a buffer once, in the first tile that needs it, and keep as many rows as a tile has, one
        after the other in the same places (TVM's ``rolling_buffer``).

        :param block: a block that stores to a local buffer, below loops over tiles (``compute_at``).
        :param write_buffer_index: which of the buffers that the block stores to.
        :raises ScheduleError: if no two tiles compute a row in common, or the first row of a tile is not at a constant
            distance from that of the last one.
        """
        self._do("rolling_buffer", (block, write_buffer_index),
                 lambda s: rolling_buffer.rolling_buffer(s, block, write_buffer_index))  # fmt: skip

    @recorded
    def loop_partition(
        self, loop: Handle, factors: Sequence[int | None], preserve_unit_iters: bool = True
    ) -> list[Var]:
        """Cut a loop's range into consecutive parts (TVM's ``loop_partition``); gives their loops, ``<loop>0``,
        ``<loop>1`` …

        Blocks in a part are called ``<block>_<loop>0`` and so on.

        :param factors: the lengths of the parts.  One may be ``None``: what the others leave; without one, what is left
            is a last part.
        :param preserve_unit_iters: TVM's; it is about iteration variables of blocks, which are expanded here, and
            changes nothing.
        :raises ScheduleError: if the parts are longer than the loop; of a symbolic loop, if they may be.
        """
        del preserve_unit_iters
        return self._do("loop_partition", (loop, listed(factors)),
                        lambda s: loop_partition.loop_partition(s, loop, factors))  # fmt: skip

    @recorded
    def merge(self, *handles: Handle) -> Var:
        """Merge loops of nests that stand side by side, and the loops around them (TVM's ``merge``); gives the merged
        loop, which all handles mean from then on.

        :param handles: one loop of each nest, in program order, as deep in its nest as the others.
        :raises ScheduleError: if the nests differ, one of the loops is not the only statement of the one around it, or
            an iteration of one nest needs what a later one of an earlier nest computes.
        """
        return self._do("merge", handles, lambda s: merge.merge_nests(s, handles))

    @recorded
    def read_at(self, loop: Handle, block: str, read_buffer_index: int, storage_scope: str) -> str:
        """Copy what each iteration of a loop reads of a buffer, and let all reads in the loop read the copy (TVM's
        ``read_at``); gives the block that copies, ``<buffer>_<scope>``, with the note ``auto_copy``.

        Of the buffer an iteration gets a copy of the region that it reads, allocated in the iteration.  (TVM allocates
        the whole buffer outside of all loops, and compacts it when it lowers the program.)

        :param loop: a loop around the block.
        :param read_buffer_index: which of the buffers that the block reads.
        :raises ScheduleError: if the buffer is written in the loop before it is read, its region cannot be found, or
            threads would race for the copy.
        """
        said = (loop, block, read_buffer_index, storage_scope)
        return self._do("read_at", said, lambda s: auto_copy.copied_at(s, loop, block, ("read", read_buffer_index),
                                                                       storage_scope))  # fmt: skip

    @recorded
    def write_at(self, loop: Handle, block: str, write_buffer_index: int, storage_scope: str) -> str:
        """Let each iteration of a loop work on a copy of what it writes of a buffer, copied back at its end (TVM's
        ``write_at``); gives the block that copies back, ``<buffer>_<scope>_back``, with the note ``auto_copy``.

        The copy is as in :meth:`read_at`.

        :param loop: a loop around the block.
        :param write_buffer_index: which of the buffers that the block writes.
        :raises ScheduleError: if something else in the loop, another view perhaps, touches what was copied, the region
            cannot be found, or threads would race for the copy.
        """
        said = (loop, block, write_buffer_index, storage_scope)
        return self._do("write_at", said, lambda s: auto_copy.copied_at(s, loop, block, ("write", write_buffer_index),
                                                                        storage_scope))  # fmt: skip

    @recorded
    def fuse_reduction_epilogue(self, reduction_block: str, epilogue_block: str) -> None:
        """Add to a finished sum what an epilogue adds, in the nest of the sum (TVM's ``fuse_reduction_epilogue``).

        The epilogue runs in the innermost loop that is not one of the reduction.  TVM lets the epilogue's buffer begin
        as what is added, and sums into it; floats are rounded otherwise then, and here they are not.

        :param reduction_block: a block of an initialisation and an update ``B[…] = B[…] + …`` (or another operation).
        :param epilogue_block: a block that stores ``B[…] + c``, of the same operation.
        :raises ScheduleError: for another epilogue, such as ``max(B[…] + c, 0)`` or clipping: TVM applies it to every
            partial sum, which is another program; the message shows an input that tells them apart.
        """
        self._do("fuse_reduction_epilogue", (reduction_block, epilogue_block),
                 lambda s: epilogues.fuse_reduction_epilogue(s, reduction_block, epilogue_block))  # fmt: skip
