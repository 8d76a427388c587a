"""Primitives of the schedule that say what is known of a buffer, and that add to it (RFC 77)."""

from __future__ import annotations

from typing import Any

from verified_tir.ir.buffer import Buffer
from verified_tir.schedule.constraint import BufferConstraint, IndexFunction
from verified_tir.schedule.primitives import Primitives
from verified_tir.schedule.recording import recorded
from verified_tir.schedule.session import Handle
from verified_tir.schedule.shown import short
from verified_tir.schedule.tactics import assume, constraints, restated


class ConstraintPrimitives(Primitives):
    """A part of :class:`~verified_tir.schedule.schedule.Schedule`."""

    def constraints(self, buffer: str | Buffer) -> list[BufferConstraint]:
        """What is known of a buffer's elements, over its indices as they are now (RFC 77's buffer constraints).

        Of a parameter: the padding of each of its layouts, the latest first, and the assumptions with which the program
        begins.  Of a local buffer: values that the program leaves in it, as far as the prover sees that.
        """
        return self._look("constraints", lambda s: constraints.constraints(s, buffer))

    @recorded
    def add_buffer_constraint(
        self,
        buffer: str | Buffer,
        predicate: Any,
        value: Any,
        *,
        before: Handle | None = None,
        axiom: bool = False,
    ) -> None:
        """Assume that the elements of a buffer under a predicate hold a value: loops around one ``T.assume``.

        :param predicate: a function of the indices, or a constant.
        :param value: a number, an expression or a function of the indices; ``T.undef()``: they may be touched.
        :param before: the block or loop before which it is assumed.  Otherwise that is at the beginning of the program,
            or behind the last store to a local buffer.
        :param axiom: take it for granted of a parameter's elements at entry.  The theorem is then about arrays for
            which it is true (see :attr:`Schedule.assumptions`).  Without it, it is proved.
        :raises ScheduleError: if it is not true at that place; if an axiom contradicts what is assumed already, or
            speaks of padding.
        """
        said = _said((buffer, predicate, value), before, axiom)

        def steps(s: Any) -> None:
            assume.add_constraint(s, assume.described(s, buffer, predicate, value), before, axiom)

        self._do("add_buffer_constraint", said, steps)

    @recorded
    def assume(
        self,
        condition: Any,
        buffer: str | Buffer | None = None,
        *,
        before: Handle | None = None,
        at_end: bool = False,
        axiom: bool = False,
    ) -> None:
        """Insert a ``T.assume``: proved where it stands, or taken for granted of the arguments.

        :param condition: an expression; with ``buffer``, a function of its indices, assumed for all of them.
        :param before: the block or loop before which it stands, instead of the beginning.
        :param at_end: it stands behind the last store to the parameter ``buffer``: what is proved there is true of the
            results, since nothing stores to it later (but through another view).
        :param axiom: take it for granted of the arguments at entry.
        :raises ScheduleError: as :meth:`add_buffer_constraint`.
        """
        said = _said((condition, *([] if buffer is None else [buffer])), before, axiom)
        said += ["at_end=True"] if at_end else []
        self._do("assume", said, lambda s: assume.assume(s, condition, buffer, before, axiom, at_end))

    @recorded
    def assume_padding(self, buffer: str | Buffer) -> None:
        """Let the program begin by assuming what a parameter's layouts say of its padding.

        This is the stage that RFC 77's ``transform_layout`` adds for inputs.  The theorem says it already, in its
        relation, so nothing new is assumed.

        :raises ScheduleError: if there is no padding that the program may touch.
        """
        self._do("assume_padding", (buffer,), lambda s: assume.assume_padding(s, buffer))

    @recorded
    def write_padding(self, buffer: str | Buffer, value: Any = None) -> None:
        """Store the padding of a parameter behind the last store to it: RFC 77's stage for producers.

        ``transform_layout`` does that for padding that holds a value.  Here ``T.undef()`` is stored, too, where the
        padding may hold anything; lowering removes such stores again (``RemoveStoreUndef``).

        :param value: a number, stored to padding that may hold anything and that the program has not written before.
            The relation goes on saying that the padding may hold anything: nothing of it is assumed at entry.
        :raises ScheduleError: if the buffer is not written, or has no padding that may be touched.
        """
        said = (buffer, *(() if value is None else (value,)))
        self._do("write_padding", said, lambda s: assume.write_padding(s, buffer, value))

    @recorded
    def restate(self, buffer: str | Buffer, value: Any) -> None:
        """Store an expression in the place of another one that has the same value: the only store to a buffer.

        :param value: a function of the buffer's indices, whose result may read buffers.
        :raises ScheduleError: if there is no store to the buffer or several, or the values differ somewhere.
        """
        self._do("restate", _said((buffer, value), None, False), lambda s: restated.restate(s, buffer, value))


def _said(values: tuple[object, ...], before: Handle | None, axiom: bool) -> list[object]:
    shown: list[object] = [_text(v) for v in values]
    shown += [] if before is None else [f"before={short(before)}"]
    return [*shown, *(["axiom=True"] if axiom else [])]


def _text(value: object) -> object:
    if isinstance(value, IndexFunction):
        return f"lambda {', '.join(v.name for v in value.inputs)}: {short(value.output)}"
    return value
