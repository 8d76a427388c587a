"""Primitives of the schedule that put a value where it is used."""

from __future__ import annotations

from verified_tir.schedule.primitives import Primitives
from verified_tir.schedule.recording import recorded
from verified_tir.schedule.tactics import inline, reverse_inline


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
