"""Programs that nest more deeply than Python's recursion limit lets this compiler walk them.

Each let and each allocation is one level.  With the usual limit of 1,000 calls some 250 levels can be walked; who has
more raises it with ``sys.setrecursionlimit``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.visit import children
from verified_tir.schedule.codes import TOO_DEEP
from verified_tir.schedule.errors import NotApplicable

CALLS: Final = 16
"""Calls to a level, and some to spare: a program of fewer levels than the limit has of these is no reason to stop."""


@contextmanager
def walked(step: str, program: PrimFunc) -> Iterator[None]:
    """Around what walks a program, recursively.

    :raises NotApplicable: if it nests too deeply for that.
    :raises RecursionError: if something calls itself without end; the program is not the reason then.
    """
    try:
        yield
    except RecursionError:
        levels, limit = depth(program.body), sys.getrecursionlimit()
        if levels * CALLS < limit:
            raise
        reason = (
            f"the program nests {levels} levels deep, which Python's recursion limit of {limit} calls does not allow; "
            f"raise it with sys.setrecursionlimit({levels * CALLS})"
        )
        raise NotApplicable(step, reason, program, code=TOO_DEEP) from None


def depth(root: Node) -> int:
    """How deep a program nests: statements, and expressions in them.  (Not recursive itself.)"""
    deepest, pending = 0, [(root, 1)]
    while pending:
        node, level = pending.pop()
        deepest = max(deepest, level)
        pending += [(child, level + 1) for child in children(node)]
    return deepest


__all__ = ["depth", "walked"]
