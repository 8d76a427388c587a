"""Primitives of the schedule that move conditions and remove what has no effect."""

from __future__ import annotations

from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import If, Seq
from verified_tir.ir.visit import nodes_of
from verified_tir.schedule import codes
from verified_tir.schedule.primitives import Primitives
from verified_tir.schedule.recording import recorded
from verified_tir.schedule.session import Session, fail
from verified_tir.schedule.tactics import extents, no_op, overcompute, undercompute
from verified_tir.schedule.tactics.hoist import HoistConditional, HoistLetBinding, hoist_expression


class BranchPrimitives(Primitives):
    """A part of :class:`~verified_tir.schedule.schedule.Schedule`."""

    @recorded
    def remove_branching_through_overcompute(
        self, block: str | None = None, *, wrap_indices: bool = False, around: bool = True
    ) -> int:
        """Remove branches whose body may as well run always; gives how many conditions went.

        RFC 77, "New Primitive - Remove Branching Through Overcompute".  The body may run where its condition is false
        if there it writes what is there already (known padding, a neutral element), where nothing is defined, or what a
        later statement overwrites before it is read.  An ``if`` with ``else`` becomes the one arm of which the other is
        a simplified form.  Of several conditions joined by ``and`` some may go and others stay.

        :param block: only branches in this block, and those around it in the nest of loops that it stands in: the
            block's predicate, as TVM has it.
        :param wrap_indices: an index that would leave its range where the condition is false is taken modulo the
            extent: any element of the buffer does, if what is written there is what it holds.
        :param around: ``False`` leaves the branches around the block.
        :raises ScheduleError: if there is a branch and none can be removed; with the reason for the first.
        """

        def tactic(session: Session) -> int:
            under = _nest(session, block) if around else _under(session, block)
            if not around and block is not None and not nodes_of(session.stmt(under), If):
                outside = any(isinstance(session.stmt(under[:k]), If) for k in range(len(under)))
                hint = "; the conditions around it are left, since around=False" if outside else ""
                raise fail(f"there is no branch in {block}{hint}", under, code=codes.NOTHING_TO_CHANGE)
            return overcompute.remove_branching_through_overcompute(session, under, wrap_indices=wrap_indices)

        text = _named(block, "wrap_indices=True" if wrap_indices else None, None if around else "around=False")
        return self._do("remove_branching_through_overcompute", text, tactic)

    @recorded
    def remove_overcompute_through_branching(self, block: str | None = None) -> int:
        """Keep statements from running on padding wherever that changes nothing; gives how many branches appeared.

        RFC 77, "New Primitive - Remove Overcompute Through Branching".  Padding is what the layout relation declares,
        what ``T.assume(c or A[io, ii] == v)`` says, or what a nest fills with a constant.

        :param block: only statements in this block.
        :raises ScheduleError: if no padding is known, or what runs on it has an effect; with the reason for the first.
        """

        def tactic(session: Session) -> int:
            return undercompute.remove_overcompute_through_branching(session, _under(session, block))

        return self._do("remove_overcompute_through_branching", _named(block), tactic)

    @recorded
    def hoist_expression(
        self,
        conditionals: HoistConditional | int = HoistConditional.IF_ELSE_STMT,
        let_bindings: HoistLetBinding | int = HoistLetBinding.REQUIRED_BY_CONDITION,
        *,
        block: str | None = None,
    ) -> int:
        """Move conditions and let bindings out of as many loops as they may leave; gives how many moved.

        RFC 77, "New Transform - Hoist Expression".  What depends on a loop's variable, on a let that stays, or on
        memory that the loop writes does not leave it; nor what may not be evaluated where the loop makes no iteration.

        :param conditionals: which conditions: of ``if`` statements, of ``T.if_then_else``, any boolean expression.
        :param let_bindings: which lets: those a condition needs, those of statements, those of expressions.
        :param block: only what stands in this block.
        :raises ScheduleError: if nothing can be moved.
        """
        which, lets = HoistConditional(conditionals), HoistLetBinding(let_bindings)

        def tactic(session: Session) -> int:
            return _some(hoist_expression(session, which, lets, _under(session, block)), "nothing can be hoisted")

        return self._do("hoist_expression", _named(which.name, lets.name, block), tactic)

    @recorded
    def reduce_loop_extents(self, *, block: str | None = None) -> int:
        """Cut off iterations in which a loop's body does nothing; gives how many conditions went that way.

        RFC 77, "New Transform - Reduce Loop Extents".  Taken are serial and parallel loops that hold one branch without
        ``else``; bounds need not be constants.

        :param block: only loops in this block.
        :raises ScheduleError: if no loop can be made shorter.
        """

        def tactic(session: Session) -> int:
            found = extents.reduce_loop_extents(session, _under(session, block))
            return _some(found, "no condition of a loop's body cuts its range")

        return self._do("reduce_loop_extents", _named(block), tactic)

    @recorded
    def remove_no_op(self, *, block: str | None = None) -> int:
        """Erase what has no effect; gives how many statements went.

        RFC 77, "Enhancement - Remove No Op": stores that are overwritten before they are read (by a later store, loop
        nest or block that covers them), values read and written back, values that are there already.

        :param block: only what stands in this block.
        """
        return self._do("remove_no_op", _named(block), lambda s: no_op.remove_no_op(s, _under(s, block)))


def _under(session: Session, block: str | None) -> Path:
    return () if block is None else session.block(block)[0]


def _nest(session: Session, block: str | None) -> Path:
    """The outermost statement around a block that holds no other beside it."""
    path = _under(session, block)
    first = next((k for k in reversed(range(len(path))) if isinstance(session.stmt(path[:k]), Seq)), -1)
    return path[: first + 1]


def _named(*values: str | None) -> list[str]:
    return [v for v in values if v is not None]


def _some(count: int, otherwise: str) -> int:
    if not count:
        raise fail(otherwise)
    return count
