"""Copies as handles of the blocks that copy.

``cache_read`` and ``cache_write`` give the copy, a buffer.  In TVM they give the block that copies, and what is done
next concerns that block: ``compute_at(copy, loop)``, ``get_loops(copy)``.  So where a primitive takes a block, a copy
means the block that fills it, or the one that copies it back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from verified_tir.ir.buffer import Buffer
from verified_tir.schedule.session import Session

_BLOCKS: Final = frozenset({"block", "loop", "first", "second", "after", "before", "block_or_loop"})
"""Parameters of primitives that may be blocks,"""
_BUFFER_FIRST: Final = frozenset({"cache_read", "cache_write", "set_scope", "sequential_buffer_access"})
"""but with these a buffer that comes first is one, unless a number follows."""


def block_of_copy(session: Session, value: Any) -> Any:
    """Where a block is meant, the name of the block that copies from or to a buffer, or that has another name in TVM;
    other values as they are."""
    names = session.block_names()
    if isinstance(value, Buffer):
        return next((n for n in (f"{value.name}_back", value.name) if n in names), value)
    if isinstance(value, str) and value not in names and not session.has_loop(value):
        return session.block_of_tvm(value) or value
    return value


def blocks_of_copies(
    session: Session, primitive: str, where: Sequence[str], args: Sequence[Any], named: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call, with names of blocks in the place of copies that stand for them.

    :param where: the parameters that the positional arguments go to.
    """
    given, keywords = list(args), dict(named)
    second = given[1] if len(given) > 1 else keywords.get("buffer")
    if primitive == "transform_layout" or (primitive in _BUFFER_FIRST and not isinstance(second, (int, tuple))):
        return given, keywords
    given = [block_of_copy(session, v) if p in _BLOCKS else v for p, v in zip(where, given, strict=False)]
    given += args[len(given) :]
    return given, {k: block_of_copy(session, v) if k in _BLOCKS else v for k, v in keywords.items()}
