"""The cyclic garbage collector, asked to come seldom.

Programs, formulas and theorems are many small objects that stay; most of what does not stay is freed by counting
references.  So looking through all of them time and again is a fifth of the time of planning a model, and finds little:
some 300 kB for each different program, in cycles among memories that the kernel compared.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

OBJECTS = 1_000_000
"""So many new objects between two looks at the young ones."""


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Inside the block (or function, as a decorator) cycles are looked for seldom."""
    before = gc.get_threshold()
    gc.set_threshold(max(OBJECTS, before[0]) if before[0] else 0, *before[1:])  # 0: it is off, and stays so
    try:
        yield
    finally:
        gc.set_threshold(*before)
