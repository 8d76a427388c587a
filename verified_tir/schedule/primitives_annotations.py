"""Annotations of loops and blocks: notes for whoever runs the program, which mean nothing to it."""

from __future__ import annotations

from verified_tir.ir.stmt import Block, For
from verified_tir.schedule.primitives import Primitives
from verified_tir.schedule.recording import recorded
from verified_tir.schedule.rule_builders import annotated
from verified_tir.schedule.session import Handle, Session, fail


class AnnotationPrimitives(Primitives):
    """A part of :class:`~verified_tir.schedule.schedule.Schedule`."""

    @recorded
    def annotate(self, block_or_loop: Handle, ann_key: str, ann_val: str | int | float) -> None:
        """Note something at a block or a loop, as TVM's pragmas do.  A note of the same key is replaced.

        :raises ScheduleError: if there is no such block or loop, or the value is neither a text nor a number.
        """

        def steps(s: Session) -> None:
            if not isinstance(ann_val, (str, int, float)):
                raise fail(f"the value of an annotation is a text or a number, not {ann_val!r}")
            _noted(s, block_or_loop, ann_key, ann_val)

        self._do("annotate", (block_or_loop, ann_key, ann_val), steps)

    @recorded
    def unannotate(self, block_or_loop: Handle, ann_key: str) -> None:
        """Remove an annotation.

        :raises ScheduleError: if there is none of this key.
        """
        self._do("unannotate", (block_or_loop, ann_key), lambda s: _noted(s, block_or_loop, ann_key, None))


def _noted(session: Session, handle: Handle, key: str, value: str | int | float | None) -> None:
    path = session.place(handle)
    stmt = session.stmt(path)
    assert isinstance(stmt, (Block, For))
    others = tuple((k, v) for k, v in stmt.annotations if k != key)
    if value is None and len(others) == len(stmt.annotations):
        known = ", ".join(repr(k) for k, _ in stmt.annotations)
        raise fail(f"there is no annotation {key!r} here{f'; there are {known}' if known else ''}", path)
    session.apply(annotated(path, others if value is None else (*others, (key, value))))
