"""Which buffer a primitive means, and where in the program that buffer is alive.

TVM names a block and then one of its buffers, ``cache_read("C", 0, "local")``; RFC 77 names the buffer alone,
``cache_read("A", "local")``.  :func:`buffer_arguments` reads both.
"""

from __future__ import annotations

import re

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.paths import Path, places
from verified_tir.ir.stmt import Allocate, DeclBuffer
from verified_tir.schedule import codes
from verified_tir.schedule.rule_builders import rescoped
from verified_tir.schedule.session import Handle, Session, fail
from verified_tir.schedule.tactics.layout import BufferIn, buffer_in, find_buffer

Meant = tuple[str | None, BufferIn, str, Handle | None]
"""Block, buffer, storage scope and loop; without a block the buffer is one of the whole function's."""

SCOPES = frozenset(["global", "shared", "local", "warp", "wmma", "m16n8k8", "metal", "texture", "amx", "vtcm"])
"""The first words of the storage scopes that TVM knows."""


def buffer_arguments(
    session: Session,
    block: str | Buffer | None,
    buffer: BufferIn | int | None,
    scope: Handle | None,
    loop: Handle | None,
    index: str,
) -> Meant:
    """Block, buffer, scope and loop from TVM's form (block, buffer, scope, loop) or RFC 77's (buffer, scope, loop).

    A name that no block has means a buffer, and so does one that is followed by a well-known scope.

    :param index: what a plain number counts, ``"read"`` or ``"write"``: the buffers that the block reads or writes.
    """
    if isinstance(block, Buffer) or (isinstance(block, str) and _means_buffer(session, block, buffer, scope)):
        if buffer is not None and not isinstance(buffer, str):
            raise fail(
                "a buffer that is named first is followed by a scope; TVM's form names a block first",
                code=codes.WRONG_ARGUMENT,
            )
        if scope is not None and buffer is not None:
            if loop is not None:
                raise fail(
                    "a buffer that is named first is followed by a scope and a loop, and no more",
                    code=codes.WRONG_ARGUMENT,
                )
            scope, loop = None, scope
        block, buffer, scope = None, block, buffer if buffer is not None else scope
    if buffer is None:
        raise fail("name a buffer: (block, buffer, scope), or (buffer, scope)", code=codes.NO_BUFFER)
    if isinstance(buffer, bool):
        raise fail(f"a buffer is its name, itself or its number, not {buffer}", code=codes.NO_BUFFER)
    if isinstance(buffer, int):
        buffer = (index, buffer)
    if isinstance(buffer, list):
        buffer = tuple(buffer)
    if block is None and isinstance(buffer, tuple):
        raise fail("a buffer by number is one of a block's: name the block, or the buffer", code=codes.NO_BUFFER)
    return block, buffer, checked_scope(scope) if scope is not None else "global", loop


def checked_scope(scope: object, path: Path = ()) -> str:
    """A storage scope that the caller gave.

    :raises TacticFailed: if its first word is none that TVM knows.
    """
    if not isinstance(scope, str):
        raise fail(f"a storage scope is a text such as 'shared', not {scope!r}", path, code=codes.WRONG_ARGUMENT)
    if re.split("[.:]", scope)[0] not in SCOPES or not re.fullmatch(r"[\w.:-]+", scope):
        raise fail(
            f"there is no storage scope {scope!r}; its first word is one of {', '.join(sorted(SCOPES))}",
            path,
            code=codes.NOTHING_OF_THAT_NAME,
        )
    return scope


def _means_buffer(session: Session, name: str, second: BufferIn | int | None, scope: Handle | None) -> bool:
    """Whether the first argument names a buffer rather than a block."""
    known = {b.name for b in _all(session)}
    if name not in known:
        return False
    if not session.has_block(name):
        return True
    return isinstance(second, str) and second.partition(".")[0] in SCOPES and second not in known


def _all(session: Session) -> list[Buffer]:
    """Parameters, local buffers and views."""
    return [*session.buffers, *(s.buffer for _, s in session.find(DeclBuffer))]


def buffer_anywhere(session: Session, which: BufferIn) -> Buffer:
    """A parameter, a local buffer or a view of either, by its name or itself."""
    found = [b for b in _all(session) if b is which] or [b for b in _all(session) if b.name == which]
    if len(found) == 1:
        return found[0]
    if isinstance(which, tuple):
        raise fail("a buffer by number is one of a block's: name the block, or the buffer", code=codes.NO_BUFFER)
    return find_buffer(session, which)[0]


def buffer_of(session: Session, block: str | None, which: BufferIn) -> Buffer:
    """A buffer of a block, or without a block one of the function."""
    return buffer_anywhere(session, which) if block is None else buffer_in(session, block, which)


def set_scope(session: Session, block: str | None, buffer: BufferIn, scope: str) -> None:
    """Let a local buffer, with all views of its block, live in another storage scope."""
    chosen = buffer_of(session, block, buffer)
    path = session.allocation(chosen)
    if path is None:
        raise fail(
            f"{chosen.name} is a parameter, whose memory is the caller's: copy it, by cache_read or cache_write",
            code=codes.A_PARAMETER,
        )
    session.apply(rescoped(path, scope))


def home_of(session: Session, buffer: Buffer) -> Path:
    """The statement throughout which a buffer is alive: the body below its declaration, or the function's."""
    declared = places(session.func.body, lambda s: isinstance(s, (Allocate, DeclBuffer)) and s.buffer is buffer)
    path = next((p for p, _ in declared), None)
    return () if path is None else (*path, 0)


__all__ = [
    "Meant",
    "buffer_anywhere",
    "buffer_arguments",
    "buffer_of",
    "home_of",
    "set_scope",
]
