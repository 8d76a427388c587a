"""Constructs that the validator does not support: the names under which pairs that have them are counted apart."""

from __future__ import annotations

import re
from typing import Final

_CONSTRUCTS: Final = {
    "scalable vectors": r"scalable vectors",
    "leaving a loop or a function early": r"leaving a loop or a function early",
    "a text that loses a declaration": r"^unknown name |dimensions and \d+ strides",
    "a signature that changes": r"^before has \d+ parameters, after \d+|does not correspond to \w+ of before",
    "calls between functions": r"is a call of another function",
    "views moved in their block, with shapes that were not": r"beyond its declared shape, inside its block",
    "a NaN's bits": r"^a NaN is re-read",
}


def unsupported(reason: str) -> str | None:
    """The name of the construct that a refusal is about; ``None`` if it is about something else."""
    for name, pattern in _CONSTRUCTS.items():
        if re.search(pattern, reason):
            return name
    return None
