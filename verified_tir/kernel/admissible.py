"""What every program must be for the rules to speak about it."""

from __future__ import annotations

from verified_tir.ir import wellformed
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Block
from verified_tir.ir.visit import nodes_of
from verified_tir.ir.wellformed import misplaced

__all__ = ["NOT_EXPANDED", "misplaced", "problem"]

NOT_EXPANDED = "its blocks are not expanded"


def problem(func: PrimFunc) -> str | None:
    """Why no rule may lead to this program, in one sentence; ``None`` if one may.

    It must be well-formed, and its blocks must be labels: the others are sugar, and expanded before.
    """
    return wellformed.problem(func) or (None if all(b.is_label for b in nodes_of(func.body, Block)) else NOT_EXPANDED)
