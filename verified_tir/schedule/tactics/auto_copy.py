"""read_at, write_at: a tile that is copied whenever an iteration of a loop begins, or copied back when it ends.

They are ``cache_read`` and ``cache_write`` in a loop; the block that copies is noted as ``auto_copy``, from which TVM's
lowering makes a cooperative copy.
"""

from __future__ import annotations

from verified_tir.schedule import codes
from verified_tir.schedule.rule_builders import annotated
from verified_tir.schedule.session import Handle, Session, fail
from verified_tir.schedule.tactics.buffers import checked_scope
from verified_tir.schedule.tactics.layout import buffer_in
from verified_tir.schedule.tactics.rfactor import unused_name
from verified_tir.schedule.tactics.staging import cache_read, cache_write

NOTE = ("auto_copy", True)
"""What TVM notes at the block that copies."""


def copied_at(session: Session, loop: Handle, block: str, which: tuple[str, int], scope: str) -> str:
    """Copy a buffer of a block in each iteration of a loop; gives the name of the block that copies.

    :param which: ``("read", k)`` or ``("write", k)``.
    """
    kind, number = which
    if isinstance(number, bool) or not isinstance(number, int):
        raise fail(
            f"a buffer is given by its number among those that the block {kind}s, not by {number!r}",
            code=codes.NO_BUFFER,
        )
    called = f"{buffer_in(session, block, which).name}_{checked_scope(scope).replace('.', '_')}"
    taken = session.block_names()
    copy = unused_name(called, {n for name in taken for n in (name, name.removesuffix("_back"))})
    if kind == "read":
        cache_read(session, block, which, scope, loop, copy)
    else:
        cache_write(session, block, which, scope, loop, copy)
    name = copy if kind == "read" else f"{copy}_back"
    place, label = session.block(name)
    session.apply(annotated(place, (*label.annotations, NOTE)))
    return name
