"""Mutants that change nothing of what the kernel accepts, each with the reason why.

They are kept in ``equivalent.toml``: a table ``[ids]`` from ids to reasons.  A reason is an argument that a reader can
check: that the changed program accepts the same steps, or that what it accepts more is right all the same.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

FILE = "verified_tir/mutation/equivalent.toml"


class StaleReason(Exception):
    """A reason is given for a mutant that there is not."""


def reasons(root: Path) -> dict[str, str]:
    """Reasons by id.

    :raises StaleReason: for an entry without words.
    """
    path = root / FILE
    if not path.exists():
        return {}
    table = tomllib.loads(path.read_text(encoding="utf-8")).get("ids", {})
    empty = [name for name, reason in table.items() if len(str(reason).split()) < 4]
    if empty:
        raise StaleReason(f"{FILE}: {empty[0]} has no reason")
    return {str(name): str(reason) for name, reason in table.items()}


def check(known: set[str], given: dict[str, str]) -> None:
    """:raises StaleReason: if one of the ids is no mutant's."""
    for name in given:
        if name not in known:
            raise StaleReason(f"{FILE}: {name} is no mutant; the source has changed, look at it again")
