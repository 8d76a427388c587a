"""Cases for tests, and clocks that stand still."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from verified_tir.bench.cases import OURS, Case, Entry
from verified_tir.bench.measure import Timing
from verified_tir.bench.record import Row


def case(**others: Callable[[], object]) -> Case:
    """Ones are expected of ``ours`` and of the others."""
    ones = np.ones(4, np.float32)
    entries = {OURS: Entry(lambda: (ones,))} | {n: Entry(f, f"{n}'s function") for n, f in others.items()}  # type: ignore[arg-type]
    return Case("k", "4", "float32", 1, entries, [ones], 1e-3, nbytes=32, flops=80)


def row(ours: float, name: str = "k", **peers: float) -> Row:
    """A row with these seconds; the machine does 1000 operations and 1000 bytes a second."""
    made = case(**dict.fromkeys(peers, lambda: ()))
    made.kernel = name
    times = {n: Timing(s, 0.9 * s, 1.1 * s, 5, 1) for n, s in {OURS: ours, **peers}.items()}
    return Row(made, "thread CPU time", times, 1000.0, 1000.0)
