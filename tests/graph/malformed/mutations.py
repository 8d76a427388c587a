"""What is done to valid models.  Everything is systematic: each place, each value; only bytes are drawn at random."""

from __future__ import annotations

from tests.graph.malformed.attributes import attributes, versions
from tests.graph.malformed.case import Case
from tests.graph.malformed.control import control, local
from tests.graph.malformed.names import files, names, types
from tests.graph.malformed.sizes import sizes
from tests.graph.malformed.tensors import external, tensors

FAMILIES = (files, names, types, tensors, attributes, versions, external, control, local, sizes)


def cases() -> list[Case]:
    """All of them; each has a name of its own."""
    found = [c for family in FAMILIES for c in family()]
    assert len({c.name for c in found}) == len(found)
    return found
