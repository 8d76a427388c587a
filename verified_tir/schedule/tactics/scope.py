"""set_scope: where a local buffer lives."""

from __future__ import annotations

from verified_tir.schedule.rule_builders import rescoped
from verified_tir.schedule.session import Session, fail
from verified_tir.schedule.tactics.buffers import buffer_of
from verified_tir.schedule.tactics.layout import BufferIn


def set_scope(session: Session, block: str | None, buffer: BufferIn, scope: str) -> None:
    """Let a local buffer, with all views of its block, live in another storage scope."""
    chosen = buffer_of(session, block, buffer)
    path = session.allocation(chosen)
    if path is None:
        raise fail(f"{chosen.name} is a parameter, whose memory is the caller's: copy it, by cache_read or cache_write")
    session.apply(rescoped(path, scope))
