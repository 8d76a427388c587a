"""Where the solver asks for values that refute a claim about floats: a search that is not trusted.

What it finds can refute, and never prove.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_searches: list[Callable[..., Any]] = []


def try_values_of(search: Callable[..., Any]) -> None:
    """Let this one search from now on, before Z3 is asked (the package does so when it is imported)."""
    _searches[:] = [search]


def tried(*asked: Any) -> Any:
    """What the search finds: values by name that make formulas true, or ``None``."""
    return _searches[0](*asked) if _searches else None
