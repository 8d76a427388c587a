"""Tuning of the cyclic garbage collector: it runs seldom.

Programs, formulas and theorems are many small objects that stay; most of what does not stay is freed by counting
references.  So looking through all of them time and again is a seventh of the time of a schedule and a fifth of that of
planning a model, and finds little: some 300 kB for each different program, in cycles among memories that the kernel
compared.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

OBJECTS = 50_000
"""So many new objects between two looks at the young ones."""
LOOKS = 20
"""So many of these before those are looked at that were there then, and so on."""


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Inside the block (or function, as a decorator) cycles are looked for seldom."""
    objects, *looks = before = gc.get_threshold()
    if objects:  # 0: it is off, and stays so
        gc.set_threshold(max(OBJECTS, objects), *(max(LOOKS, n) for n in looks))
    try:
        yield
    finally:
        gc.set_threshold(*before)
