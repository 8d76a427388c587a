"""Primitives of the schedule about functions: blocks around nests, intrinsics, parts of a program as functions."""

from __future__ import annotations

from verified_tir.schedule.intrinsics import TensorIntrin
from verified_tir.schedule.primitives import Primitives
from verified_tir.schedule.recording import recorded
from verified_tir.schedule.tactics import blockize, tensorize
from verified_tir.schedule.tactics.loops import Handle


class CallPrimitives(Primitives):
    """A part of :class:`~verified_tir.schedule.schedule.Schedule`."""

    @recorded
    def blockize(self, loop: Handle, *, name: str = "") -> str:
        """Make the nest of a loop a block; gives its name, ``<block>_o`` unless given.

        The regions that it reads and writes become annotations of the block.
        """
        return self._do("blockize", (loop, *([name] if name else [])), lambda s: blockize.blockize(s, loop, name))

    @recorded
    def tensorize(self, loop: Handle, tensor_intrin: str | TensorIntrin) -> str:
        """Replace the nest of a loop (or a block) by an intrinsic; gives the name of the block that it becomes.

        The nest must be what the intrinsic's description says, loop by loop and operand by operand.  What the
        description assumes is proved here.

        :param tensor_intrin: a :class:`~verified_tir.schedule.intrinsics.TensorIntrin`, or its name.
        :raises ScheduleError: if the nest is something else (the message shows the first difference), or what the
            intrinsic needs is not so.
        """
        intrin = TensorIntrin.get(tensor_intrin) if isinstance(tensor_intrin, str) else tensor_intrin
        return self._do("tensorize", (loop, intrin.name), lambda s: tensorize.tensorize(s, loop, intrin))
