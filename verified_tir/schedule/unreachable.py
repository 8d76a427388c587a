"""Stores that no run gets to."""

from __future__ import annotations

from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Stmt, Store
from verified_tir.kernel.begin import begin
from verified_tir.kernel.context import Context
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.memory import Entry


def unreachable_places(func: PrimFunc, prover: Prover, entry: Entry) -> list[Path]:
    """Stores that no run gets to: what is proved about them means nothing, and a person should know."""
    found: list[Path] = []

    def visit(context: Context, stmt: Stmt, path: Path) -> None:
        if isinstance(stmt, Store) and prover.solver.consistent(tuple(context.path)) is False:
            found.append(path)
        for k, sub, inner in context.inside(stmt):
            visit(inner, sub, (*path, k))

    visit(begin(func, entry), func.body, ())
    return found
