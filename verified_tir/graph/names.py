"""Names that are taken, new ones, and such as can be written in the text of a graph."""

from __future__ import annotations

import keyword
from collections.abc import Iterable
from typing import final


def identifier(name: str) -> str:
    """A name that can be written in the text of a graph, near to the given one."""
    base = "".join(c if (c.isascii() and c.isalnum()) or c == "_" else "_" for c in name) or "lv"
    base = base if not base[0].isdigit() else f"v{base}"
    return f"{base}_" if keyword.iskeyword(base) or base in ("R", "T") else base


@final
class Names:
    """Names that are taken, and new ones."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def fresh(self, name: str) -> str:
        """The name, numbered if it is taken; it is taken from now on."""
        found, k = name, 0
        while found in self._taken:
            k += 1
            found = f"{name}_{k}"
        self._taken.add(found)
        return found
