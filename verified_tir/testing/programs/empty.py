"""Programs in which loops, branches and labels stand around nothing."""

from __future__ import annotations

from verified_tir.ir.paths import places, put
from verified_tir.ir.stmt import SKIP, Stmt, Store
from verified_tir.testing.drawing import Picker


def without_a_store(body: Stmt, pick: Picker) -> Stmt:
    """The statements with nothing in the place of one of their stores."""
    return put(body, pick.among([path for path, _ in places(body, lambda s: isinstance(s, Store))]), SKIP)


__all__ = ["without_a_store"]
