"""Primitives of the schedule about functions: blocks around nests, intrinsics, parts of a program as functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from verified_tir.ir.func import IRModule
from verified_tir.ir.node import IRError
from verified_tir.ir.script import parse_func
from verified_tir.schedule.codes import INTRINSIC_DOES_NOT_FIT
from verified_tir.schedule.errors import NotApplicable, refused_by
from verified_tir.schedule.functions import outlined
from verified_tir.schedule.primitives import Primitives
from verified_tir.schedule.recording import recorded
from verified_tir.schedule.session import Handle
from verified_tir.schedule.tactics import blockize, outline, tensorize


class CallPrimitives(Primitives):
    """A part of :class:`~verified_tir.schedule.schedule.Schedule`."""

    @property
    def module(self) -> IRModule:
        """The program as a module: each block that is a function's body (see :meth:`outline`) is called.

        :raises ScheduleError: if a later step brought into such a block what cannot be passed.
        """
        try:
            return outlined(self._session.func)
        except IRError as problem:
            with refused_by(self):
                code = INTRINSIC_DOES_NOT_FIT
                raise NotApplicable("module", str(problem), self._session.func, code=code) from problem

    @recorded
    def blockize(self, loop: Handle | Sequence[str], preserve_unit_iters: bool = True, *, name: str = "") -> str:
        """Make the nest of a loop a block; gives its name, ``<block>_o`` unless given.

        A list of blocks becomes one block, with their loops and what stands between them: ``outer_<block>_<block>_``.
        The regions that it reads and writes become annotations of the block.

        :param preserve_unit_iters: TVM's; it is about iteration variables of blocks, and changes nothing here.
        """
        del preserve_unit_iters
        return self._do("blockize", (loop, *([name] if name else [])), lambda s: blockize.blockize(s, loop, name))

    @recorded
    def tensorize(self, loop: Handle, tensor_intrin: Any, preserve_unit_iters: bool = True) -> str:
        """Replace the nest of a loop (or a block) by an intrinsic; gives the name of the block that it becomes.

        The nest must be what the intrinsic's description says, loop by loop and operand by operand.  What the
        description assumes is proved here.

        :param tensor_intrin: a :class:`~verified_tir.schedule.intrinsics.TensorIntrin`, the name of a registered one,
            or a schedule of the description.
        :raises ScheduleError: if the nest is something else (the message shows the first difference), or what the
            intrinsic needs is not so.

        ``preserve_unit_iters`` is TVM's, and changes nothing, as in :meth:`blockize`.
        """
        del preserve_unit_iters
        said = (loop, getattr(tensor_intrin, "name", tensor_intrin))
        return self._do("tensorize", said, lambda s: tensorize.tensorize(s, loop, tensor_intrin, self._lemma))

    @recorded
    def outline(self, loop: Handle, name: str) -> str:
        """Make a block (or the nest of a loop) a function of its own; gives its name.  :attr:`module` shows it.

        Assumptions that stand right before the block (see ``add_buffer_constraint``) become the function's: they were
        proved here, and whoever schedules the function alone may use them.

        :raises ScheduleError: if the block uses what cannot be passed.
        """
        return self._do("outline", (loop, name), lambda s: outline.outline(s, loop, name))

    @recorded
    def inline(self, block: str) -> None:
        """Make a function's body (see :meth:`outline`) a part of the program again."""
        self._do("inline", (block,), lambda s: outline.inline(s, block))

    @recorded
    def refine_call(self, block: str, function: Any) -> None:
        """Replace a function's body by what a schedule made of the function alone.

        :param function: a schedule of the function, as :attr:`module` shows it.
        :raises ScheduleError: if the block is another function, or may not be called so for the schedule's theorem to
            hold: what is written overlaps another argument, for example.
        """
        said = (block, getattr(function, "name", function))
        self._do("refine_call", said, lambda s: tensorize.refine_call(s, block, function, self._lemma))

    @recorded
    def assume_precondition(self, block: str, function: str) -> None:
        """Insert what a function assumes before all else, in front of the rest of its body.  It is proved there.

        :param function: the function's text.
        :raises ScheduleError: if it is not true there.
        """
        func = parse_func(function)
        self._do("assume_precondition", (block, func.name), lambda s: tensorize.precondition(s, block, func))
