"""Primitives of the schedule about a block's iteration variables: other loops for them, copies indexed by them, notes.

They have TVM's names and arguments.  A block's iteration variables are the loops around it, up to the next block
(:mod:`~verified_tir.schedule.tactics.block_domain`).
"""

from __future__ import annotations

from collections.abc import Sequence

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Var
from verified_tir.ir.script.separators import SeparatorNumbering
from verified_tir.schedule.primitives import Primitives
from verified_tir.schedule.recording import recorded
from verified_tir.schedule.rule_builders import in_a_loop
from verified_tir.schedule.session import Handle, Session
from verified_tir.schedule.shown import listed, map_text
from verified_tir.schedule.tactics import block_layout, block_notes, layout, reindex, retype
from verified_tir.schedule.tactics.block_domain import BlockMap
from verified_tir.schedule.tactics.layout import BufferIn, numbered


class BlockPrimitives(Primitives):
    """A part of :class:`~verified_tir.schedule.schedule.Schedule`."""

    @recorded
    def storage_align(self, block: str, buffer_index: int, axis: int, factor: int, offset: int) -> None:
        """Note at a block that a stride of a local buffer that it writes is to be ``k * factor + offset``, as TVM does.

        The annotation ``buffer_dim_align`` is a hint for what lowers the buffer; the program means the same.

        :param buffer_index: the number of the buffer among those that the block writes.
        :param axis: a dimension of the buffer, from the end if negative.
        :param factor: a positive number of elements.
        :param offset: a number of elements.
        :raises ScheduleError: if the buffer is a parameter, or there is no such buffer or axis, or the factor is not
            positive, or the block has an annotation of this key in another form.
        """
        said = (block, buffer_index, axis, factor, offset)
        self._do("storage_align", said,
                 lambda s: block_notes.storage_align(s, block, buffer_index, axis, factor, offset))  # fmt: skip

    @recorded
    def add_unit_loop(self, block_or_loop: Handle) -> Var:
        """Put a loop of one iteration around a block or a loop, as TVM does; gives the loop.

        :raises ScheduleError: if there is no such block or loop.
        """

        def steps(s: Session) -> Var:
            unit = Var.fresh("u")
            s.apply(in_a_loop(s.place(block_or_loop), unit))
            return unit

        return self._do("add_unit_loop", (block_or_loop,), steps)

    @recorded
    def annotate_buffer_access(self, block: str, buffer_index: int, buf_type: str, gen_new_ranges: BlockMap) -> None:
        """Note at a block that the region which it reads or writes of a buffer is given, as TVM does.

        The annotation is ``explicit_read_region`` or ``explicit_write_region``, a list of numbers of buffers.  Regions
        are no part of programs here: an access outside of the given one is refused, where that can be decided.

        :param buffer_index: the number of the buffer among those that the block reads or writes.
        :param buf_type: ``"read"`` or ``"write"``.
        :param gen_new_ranges: a function of the block's iteration variables that gives, for each dimension of the
            buffer, a pair (begin, end) or a single index.
        :raises ScheduleError: if an access lies outside of the region, or the arguments do not fit the block.
        """
        said = (block, buffer_index, buf_type, map_text(gen_new_ranges))
        self._do("annotate_buffer_access", said,
                 lambda s: block_notes.annotate_buffer_access(s, block, buffer_index, buf_type, gen_new_ranges)
                 )  # fmt: skip

    @recorded
    def reindex(self, block: str, buffer: BufferIn) -> str:
        """Let a block read (or write) a buffer through a copy indexed by its iteration variables, as TVM does.

        The copy is ``<buffer>_reindex``, with one dimension for each iteration variable on which the index depends.
        What is read is copied before, so one element may have several places; what is written is copied back after.
        Gives the block that copies, ``<buffer>_reindex_reindex`` or ``<buffer>_reindex``.

        :param buffer: its name, itself, ``("read", k)`` or ``("write", k)``.
        :raises ScheduleError: if the block does not access one element of the buffer in each instance, if two
            instances would write one element through different places of the copy, or if the copy would read what the
            block does not.
        """
        return self._do("reindex", (block, buffer), lambda s: reindex.reindex(s, block, buffer))

    @recorded
    def reindex_cache_read(
        self, block: str, read_buffer_index: int | str, storage_scope: str, index_map: BlockMap
    ) -> Buffer:
        """Let a block read a copy in another scope, indexed by a map of its iteration variables, as TVM does.

        Gives the copy, ``<buffer>_<scope>``, which stands for the block that fills it, too.

        :param read_buffer_index: the number (or name) of a buffer that the block reads.
        :param index_map: a function of the block's iteration variables that gives the copy's indices.
        :raises ScheduleError: if the block does not read one element of the buffer in each instance, or two elements
            would have one place in the copy.
        """
        said = (block, read_buffer_index, storage_scope, map_text(index_map))
        return self._do("reindex_cache_read", said, lambda s: reindex.reindex_cache(
            s, block, numbered("read", read_buffer_index), storage_scope, index_map, write=False))  # fmt: skip

    @recorded
    def reindex_cache_write(
        self, block: str, write_buffer_index: int | str, storage_scope: str, index_map: BlockMap
    ) -> Buffer:
        """Let a block write a copy in another scope, indexed by a map of its iteration variables, as TVM does.

        All under the block's loops works on the copy, which is copied back after them.  Gives the copy,
        ``<buffer>_<scope>``, which stands for the block that copies back, too.

        :param write_buffer_index: the number (or name) of a buffer that the block writes.
        :param index_map: a function of the block's iteration variables that gives the copy's indices; it mentions those
            of which the element depends, and no other.
        :raises ScheduleError: if elements and places of the copy do not correspond one to one.
        """
        said = (block, write_buffer_index, storage_scope, map_text(index_map))
        return self._do("reindex_cache_write", said, lambda s: reindex.reindex_cache(
            s, block, numbered("write", write_buffer_index), storage_scope, index_map, write=True))  # fmt: skip

    @recorded
    def cache_index(self, block: str, storage_scope: str, cse_thresh: int = 0) -> list[str]:
        """Compute the indices of what a block reads beforehand, each into a buffer of its own, as TVM does.

        The buffers are ``index_var_0``, ``index_var_1`` …; gives the blocks that fill them, ``index_0``, ``index_1`` …
        Indices that are variables or constants, or the same in all instances, stay.

        :param storage_scope: the storage scope of the buffers.
        :param cse_thresh: how often an index must occur in the block to be computed beforehand.
        :raises ScheduleError: if an index cannot be computed before the block.
        """
        said = (block, storage_scope, cse_thresh)
        return self._do("cache_index", said, lambda s: reindex.cache_index(s, block, storage_scope, cse_thresh))

    @recorded
    def cache_inplace(self, block: str, read_buffer_index: int | BufferIn, storage_scope: str) -> tuple[str, str]:
        """Let a block that reads and writes a buffer work on a copy, filled before and copied back after, as TVM does.

        The copy is ``<buffer>_<scope>``.  Gives the blocks that copy, ``<copy>`` and ``<copy>_back``.

        :param read_buffer_index: the number of the buffer among those that the block reads, its name, or itself.
        :raises ScheduleError: if the block does not both read and write the buffer, or hands it to an opaque call.
        """
        said = (block, read_buffer_index, storage_scope)
        return self._do("cache_inplace", said, lambda s: reindex.cache_inplace(
            s, block, numbered("read", read_buffer_index), storage_scope))  # fmt: skip

    @recorded
    def set_axis_separator(
        self,
        block: str,
        buffer: BufferIn,
        axis_separators: Sequence[int] | None = None,
        *,
        numbering: SeparatorNumbering = "tvm",
    ) -> None:
        """Set the axis separators of a buffer (RFC 39), at which flattening stops, as TVM did up to version 0.26.

        :param buffer: a buffer that the block uses: its name, itself, ``("read", k)`` or ``("write", k)``.
        :param axis_separators: ascending positions between the dimensions; none unless given.
        :param numbering: ``"tvm"``: a position is the number of the axis behind the separator.  ``"rfc39"``: of the
            axis in front of it, as RFC 39's texts count; its ``[2]`` is TVM's ``[3]``.
        :raises ScheduleError: if they do not fit the dimensions, or the buffer has other views.
        """
        positions = [] if axis_separators is None else axis_separators
        said = (block, buffer, listed(positions) if isinstance(positions, (list, tuple)) else positions,
                *([] if numbering == "tvm" else [f"numbering={numbering}"]))  # fmt: skip
        self._do("set_axis_separator", said,
                 lambda s: layout.set_axis_separator(s, block, buffer, positions, numbering))  # fmt: skip

    @recorded
    def unsafe_set_dtype(self, block: str, buffer_index: int | BufferIn, dtype: str) -> None:
        """Let a local buffer that a block writes hold elements of another type, with casts around it, as TVM does.

        Here it is safe: what loses bits of a value that may be stored is refused.

        :param buffer_index: the number of the buffer among those that the block writes.
        :param dtype: the new type of its elements, such as ``"float16"``.
        :raises ScheduleError: if some value of the buffer has no equal of the new type, or that is not known; if the
            buffer is a parameter, or has other views.
        """
        said = (block, buffer_index, dtype)
        self._do("unsafe_set_dtype", said,
                 lambda s: retype.set_dtype(s, block, numbered("write", buffer_index), dtype))  # fmt: skip

    @recorded
    def transform_block_layout(self, block: str, index_map: BlockMap, *, reassociate: str = "") -> None:
        """Run a block in loops that are the outputs of a map of its iteration variables, as TVM does.

        The new loops are ``ax0``, ``ax1`` …; where the map leaves holes, the block runs under a condition.

        :param index_map: a function of the block's iteration variables, or an ``IndexMap``.
        :param reassociate: the user's word that a float reduction may be rounded in another order: the name of the
            buffer that is reduced into.
        :raises ScheduleError: if the map is not injective, if other statements share the loops, if a loop is marked, or
            if the instances may not run in the new order.
        """
        said = [block, map_text(index_map), *([f"reassociate={reassociate}"] if reassociate else [])]
        self._do("transform_block_layout", said,
                 lambda s: block_layout.transform_block_layout(s, block, index_map, reassociate))  # fmt: skip

    @recorded
    def reorder_block_iter_var(self, block: str, new_order: Sequence[int]) -> None:
        """Put the iteration variables of a block into another order, as TVM does.

        Blocks are expanded here, and their iteration variables are the loops around them: the program stays as it is,
        and later steps count the variables in the new order.  ``reorder`` changes the order of the loops.

        :param new_order: the number of each iteration variable, in the new order.
        :raises ScheduleError: if the numbers are not those of all iteration variables, each once.
        """
        said = (block, listed(new_order) if isinstance(new_order, (list, tuple)) else new_order)
        self._do("reorder_block_iter_var", said,
                 lambda s: block_layout.reorder_block_iter_var(s, block, new_order))  # fmt: skip
