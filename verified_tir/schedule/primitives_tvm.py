"""Primitives of TVM's schedule made of others: blocks over other domains, copies by loops, notes for memory."""

from __future__ import annotations

from collections.abc import Sequence

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Var
from verified_tir.schedule.primitives import Primitives
from verified_tir.schedule.recording import recorded
from verified_tir.schedule.session import Handle
from verified_tir.schedule.shown import listed, map_text
from verified_tir.schedule.tactics import domains, reindex
from verified_tir.schedule.tactics.layout import BufferIn, MapLike


class TVMPrimitives(Primitives):
    """A part of :class:`~verified_tir.schedule.schedule.Schedule`."""

    @recorded
    def reindex(self, block: str, buffer: BufferIn) -> Buffer:
        """Let a block use a copy of a buffer, indexed by the loops around the block; gives the copy,
        ``<buffer>_reindex``.

        A buffer that the block reads is copied before the nest, once for each combination of the loops that its indices
        mention; one that it writes is copied back behind the nest, and has a dimension for each loop in the indices.
        (TVM's ``reindex``.)

        :param buffer: ``("read", k)`` or ``("write", k)``, or the name of a buffer that the block reads.
        :raises ScheduleError: if the block accesses the buffer by several indices, if one that it writes is indexed by
            more than single loops, or if the nest itself changes what would be copied.
        """
        return self._do("reindex", (block, buffer), lambda s: reindex.reindex(s, block, buffer))

    @recorded
    def transform_block_layout(self, block: str, index_map: MapLike) -> list[Var]:
        """Let the loops around a block run over the image of their indices under a map; gives the new loops.

        Where the image has holes a guard is added.  (TVM's ``transform_block_layout``.)

        :param index_map: of the loops directly around the block, outermost first.
        :raises ScheduleError: if the map is not injective on the loops' ranges, if the order of iterations matters, or
            if something else stands between the loops.
        """
        said = (block, map_text(index_map))
        return self._do("transform_block_layout", said, lambda s: domains.transform_block_layout(s, block, index_map))

    @recorded
    def loop_partition(
        self, loop: Handle, factors: Sequence[int | None], preserve_unit_iters: bool = True
    ) -> list[Var]:
        """Cut a loop's range into parts of the given lengths, and what is left; gives a loop for each part.

        Of the lengths one may be ``None``, which takes what the others leave.  (TVM's ``loop_partition``.)

        :param preserve_unit_iters: TVM's; it changes nothing here.
        :raises ScheduleError: if the lengths are more than the loop has iterations.
        """
        del preserve_unit_iters
        return self._do("loop_partition", (loop, listed(factors)), lambda s: domains.loop_partition(s, loop, factors))

    @recorded
    def merge(self, *handles: Handle) -> Var:
        """Merge loops of equal ranges, given in program order, into the first; gives it.  (TVM's ``merge``; see
        ``merge_loops``.)"""
        return self._do("merge", handles, lambda s: domains.merge(s, handles))

    @recorded
    def add_unit_loop(self, block_or_loop: Handle) -> Var:
        """Put a loop of one iteration around a block or a loop; gives it.  (TVM's ``add_unit_loop``.)"""
        return self._do("add_unit_loop", (block_or_loop,), lambda s: domains.add_unit_loop(s, block_or_loop))

    @recorded
    def storage_align(self, block: str, buffer_index: int, axis: int, factor: int, offset: int) -> None:
        """Note that a dimension's stride in a local buffer should be ``offset`` more than a multiple of ``factor``.

        The note ``buffer_dim_align`` of the block is for whoever lays out memory; it changes no meaning.  (TVM's
        ``storage_align``.)

        :param buffer_index: which of the buffers that the block writes.
        :param axis: the dimension; from the end if negative.
        :raises ScheduleError: for a parameter, whose memory is the caller's; if there is no such buffer or dimension;
            if the factor is not positive.
        """
        said = (block, buffer_index, axis, factor, offset)
        self._do("storage_align", said, lambda s: domains.storage_align(s, block, buffer_index, axis, factor, offset))
