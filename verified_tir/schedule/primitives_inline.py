"""Primitives of the schedule that put a value where it is used."""

from __future__ import annotations

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Var
from verified_tir.schedule.primitives import Primitives
from verified_tir.schedule.recording import recorded
from verified_tir.schedule.tactics import inline, naming, reverse_inline, writes


class InlinePrimitives(Primitives):
    """A part of :class:`~verified_tir.schedule.schedule.Schedule`."""

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
