"""What passes share: removing what holds nothing."""

from __future__ import annotations

from verified_tir.ir.paths import Path, places
from verified_tir.kernel.rules.erase import Erase
from verified_tir.lower.passes import Lowering
from verified_tir.schedule.tactics.tidy import is_empty


def remove_empty(work: Lowering) -> None:
    """Erase loops, branches, lets, labels and allocations around nothing, from the inside out.

    One that may not be erased (its condition is an opaque call) stays.
    """
    kept: set[Path] = set()
    while True:
        found = [p for p, _ in places(work.session.func.body, is_empty) if p not in kept]
        if not found:
            return
        if not work.session.attempt(Erase(found[-1])):
            kept.add(found[-1])
