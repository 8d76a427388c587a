"""Small programs for the tests of the interpreter, built node by node."""

from __future__ import annotations

from typing import Any

from tests.rules.building import function, load, store
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.stmt import For, ForKind, Stmt
from verified_tir.ir.sugar import const
from verified_tir.semantics.interpreter import Outcome


def loop(var: Var, extent: Expr | int, body: Stmt, kind: ForKind = "serial", start: Expr | int = 0) -> For:
    """``for var in [start, start + extent)``."""
    thread = "threadIdx.x" if kind == "thread_binding" else ""
    return For(var, const(start, var.dtype), const(extent, var.dtype), body, kind, thread)


def arrays_of(outcome: Outcome, name: str) -> list[Any]:
    """An array of the outcome as a list, with ``None`` for undefined elements."""
    flat = zip(outcome.arrays[name].reshape(-1).tolist(), outcome.defined[name].reshape(-1), strict=True)
    return [value if known else None for value, known in flat]


__all__ = ["arrays_of", "function", "load", "loop", "store"]
