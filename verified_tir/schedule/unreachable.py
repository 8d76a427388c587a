"""Stores that no run gets to."""

from __future__ import annotations

from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Store
from verified_tir.kernel.begin import begin
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.memory import Entry


def unreachable_places(func: PrimFunc, prover: Prover, entry: Entry) -> list[Path]:
    """Stores that no run gets to: what is proved about them means nothing, and a person should know."""
    return [
        path
        for path, stmt, context in begin(func, entry).places(func.body)
        if isinstance(stmt, Store) and prover.solver.contradictory(tuple(context.path))
    ]
