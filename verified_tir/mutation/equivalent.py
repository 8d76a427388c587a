"""Mutants that change nothing of what the kernel accepts, each with the reason why.

They are kept in ``equivalent.toml``: a table ``[ids]`` from ids to what is changed (as ``vtir mutate --list`` says it)
and why that is right.  A reason is an argument that a reader can check: that the changed program accepts the same
steps, or that what it accepts more is right all the same.

An id counts places in a function, so when the function changes it may come to name another mutant.  That is why the
change is written down, too.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

FILE = "verified_tir/mutation/equivalent.toml"


class StaleReason(Exception):
    """A reason is given for a mutant that there is not, or that is another one by now."""


class Reason(NamedTuple):
    """What a mutant changes, and why that changes nothing that matters."""

    change: str
    why: str


def arguments(root: Path) -> dict[str, Reason]:
    """What is said of each id.

    :raises StaleReason: for an entry without words.
    """
    path = root / FILE
    if not path.exists():
        return {}
    table = tomllib.loads(path.read_text(encoding="utf-8")).get("ids", {})
    found = {
        str(name): Reason(str(entry.get("change", "")), str(entry.get("why", ""))) for name, entry in table.items()
    }
    empty = [name for name, reason in found.items() if len(reason.why.split()) < 4]
    if empty:
        raise StaleReason(f"{FILE}: {empty[0]} has no reason")
    return found


def reasons(root: Path) -> dict[str, str]:
    """Reasons by id.

    :raises StaleReason: for an entry without words.
    """
    return {name: reason.why for name, reason in arguments(root).items()}


def check(changes: Mapping[str, str], given: Mapping[str, Reason]) -> None:
    """Whether each reason is still about the mutant that it was written for.

    :param changes: what each mutant that there is changes, by its id.
    :raises StaleReason: if one of the ids is no mutant's, or its mutant changes something else.
    """
    for name, reason in given.items():
        if name not in changes:
            raise StaleReason(f"{FILE}: {name} is no mutant; the source has changed, look at it again")
        if changes[name] != reason.change:
            raise StaleReason(
                f"{FILE}: {name} is another mutant now ({changes[name]}); the source has changed, look at it again"
            )
