"""Primitives of the schedule about where values are computed and kept: on copies, where they are used, under names."""

from __future__ import annotations

from collections.abc import Sequence

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Var
from verified_tir.schedule.primitives import Primitives
from verified_tir.schedule.recording import recorded
from verified_tir.schedule.sampling import COMPUTE_INLINE, COMPUTE_ROOT
from verified_tir.schedule.session import Handle, Session
from verified_tir.schedule.tactics import compute, inline, naming, reverse_inline, staging, writes
from verified_tir.schedule.tactics.buffers import buffer_arguments, set_scope
from verified_tir.schedule.tactics.layout import BufferIn
from verified_tir.schedule.tactics.reverse_compute import reverse_compute_at


class ValuePrimitives(Primitives):
    """A part of :class:`~verified_tir.schedule.schedule.Schedule`."""

    @recorded
    def cache_read(
        self, block: str | Buffer | None = None, buffer: BufferIn | int | None = None, scope: Handle | None = None,
        loop: Handle | None = None, *, name: str = "", consumer_blocks: Sequence[str] = (),
    ) -> Buffer:  # fmt: skip
        """Let reads of a buffer read a copy; gives the copy, ``<buffer>_<scope>`` unless named.

        TVM's form is ``cache_read("C", 0, "local")``: the first buffer that block C reads (or its name); all blocks
        beside C read the copy, too, that read the buffer before something else is stored there.  RFC 77's is
        ``cache_read("A", "local")``: all reads of A.  Both may go on with a loop, for what stands in it.

        :param buffer: a buffer that the block reads: its name, itself, its number, or ``("read", k)``.
        :param scope: the storage scope of the copy, ``"global"`` unless given.
        :param loop: copy what an iteration of this loop reads, in each iteration.  Without it the copy is made once:
            before the outermost loop around the block in which nothing writes the buffer; without a block, before the
            first statement of the function, or after the last one that writes the buffer.
        :param consumer_blocks: blocks whose reads read the copy, if others are to go on reading the buffer:
            ``consumer_blocks="C"`` is for C alone.
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
    def compute_at(self, block: Handle, loop: Handle, preserve_unit_loops: bool = False, index: int = -1) -> None:
        """Compute what a block stores to a local buffer in each iteration of ``loop``, as far as that one reads it.

        What several iterations read is computed several times.  The buffer shrinks to what one iteration needs.

        :param block: the block's name, or the outermost loop of its nest.
        :param preserve_unit_loops: keep loops of one iteration around the block.
        :param index: TVM's: -1 is the last place in an iteration, before the first statement that reads what the block
            stores; -2 the first one.  There are no others (see ``move_before``).
        :raises ScheduleError: if something else reads what the block stores, or its inputs change on the way.
        """
        if index not in (-1, -2):
            raise TypeError(f"index is -1 or -2, the last or the first place, not {index}; move_before moves the block")

        def steps(s: Session) -> None:
            if loop == COMPUTE_INLINE:
                inline.compute_inline(s, str(block))
            elif loop != COMPUTE_ROOT:
                compute.compute_at(s, block, loop, unit_loops=preserve_unit_loops, first=index == -2)

        self._do("compute_at", (block, loop), steps)

    @recorded
    def reverse_compute_at(
        self, block: Handle, loop: Handle, preserve_unit_loops: bool = False, index: int = -1
    ) -> None:
        """Run a block at the end of the iterations of its producer's ``loop``, each instance in the iteration in which
        the last element that it reads was stored.

        :param block: the block's name, or the outermost loop of its nest.
        :param preserve_unit_loops: keep loops of one iteration around the block.
        :param index: TVM's; -1, the last place in an iteration, is the only one (see ``move_before``).
        :raises ScheduleError: if some instance belongs to no iteration, or something stands in between that keeps its
            place.
        """
        _last(index)

        def steps(s: Session) -> None:
            if loop == COMPUTE_INLINE:
                reverse_inline.reverse_compute_inline(s, str(block))
            elif loop != COMPUTE_ROOT:
                reverse_compute_at(s, block, loop, unit_loops=preserve_unit_loops)

        self._do("reverse_compute_at", (block, loop), steps)

    @recorded
    def compute_inline(self, block: str) -> None:
        """Compute what a block stores to a local buffer wherever it is read; the buffer goes.

        All stores to the buffer take part, those of other blocks too: a read to which several may have led becomes
        ``T.if_then_else`` on their conditions.

        :raises ScheduleError: if something else was stored meanwhile where the value is read from, if the value would
            not be safe where it is read, if it is a sum that no expression gives, or if the buffer is a parameter.
        """
        self._do("compute_inline", (block,), lambda s: inline.compute_inline(s, block))

    @recorded
    def reverse_compute_inline(self, block: str) -> None:
        """Let the producer of the local buffer that a block reads store what the block stores; the buffer goes.

        Every instance of the block runs in the iteration of the producer that stores what it reads, under a condition
        where there are iterations without one.

        :raises ScheduleError: if something else reads the buffer, if the block does not read what one iteration stores,
            if the producer adds up what it stores, or if the block cannot run that early.
        """
        self._do("reverse_compute_inline", (block,), lambda s: reverse_inline.reverse_compute_inline(s, block))

    @recorded
    def bind_expr(self, block: str, expression: str, name: str, scope: str | None = None) -> Var | Buffer:
        """Compute an expression once, for all places in a block where it stands (Exo's primitive of this name).

        :param expression: its text, as it is printed; constants need no type.
        :param name: what the value is called.
        :param scope: keep it in a buffer of one element in this scope, stored to by a block of that name, so that
            ``compute_inline`` undoes it; without it a let binds the value.  Gives the buffer, or the variable.
        :raises ScheduleError: if something in the block changes what the expression reads before it is read again, or
            it may not be evaluated at the beginning of the block.
        """
        said = (block, expression, name, *(() if scope is None else (scope,)))
        return self._do("bind_expr", said, lambda s: naming.bind_expr(s, block, expression, name, scope))

    @recorded
    def inline_let(self, name: str) -> None:
        """Put the value of the let of a name wherever the name stands; the let goes.

        :raises ScheduleError: if what the value reads is changed before a place where the name stands.
        """
        self._do("inline_let", (name,), lambda s: naming.inline_let(s, name))

    @recorded
    def split_write(self, block: str) -> tuple[str, str]:
        """Store in two steps: the left operand of what a block stores, and then the whole; gives the two new blocks.

        ``B[i] = a + c`` becomes ``B[i] = a`` and ``B[i] = B[i] + c`` (Exo's primitive of this name).

        :raises ScheduleError: if the right operand reads what is stored to, which the first step overwrites.
        """
        return self._do("split_write", (block,), lambda s: writes.split_write(s, block))

    @recorded
    def merge_writes(self, first: str, second: str) -> None:
        """Store once what two blocks store one after the other to the same element (Exo's primitive of this name).

        ``B[i] = a`` and ``B[i] = B[i] + c`` become ``B[i] = a + c`` in the second block.

        :raises ScheduleError: if something else reads the first value, through a view perhaps, or changes what it was
            made of in between.
        """
        self._do("merge_writes", (first, second), lambda s: writes.merge_writes(s, first, second))


def _last(index: int) -> None:
    if index != -1:
        raise TypeError(
            f"index is -1, the last place in an iteration, not {index}; move_before moves what stands there"
        )


def _said(*arguments: object) -> list[object]:
    """The arguments that were given, for the record."""
    return [a for a in arguments if a is not None]
