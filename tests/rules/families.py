"""All families, by name."""

from __future__ import annotations

from typing import Final

from tests.rules import (
    again,
    calls,
    compaction,
    dense,
    iterations,
    lanes,
    layouts,
    nests,
    opaque,
    order,
    reduced,
    shapes,
    staged,
    turns,
    types,
    values,
)
from tests.rules.family import Family

FAMILIES: Final[tuple[Family, ...]] = (
    *order.FAMILIES,
    *nests.FAMILIES,
    *values.FAMILIES,
    *iterations.FAMILIES,
    *shapes.FAMILIES,
    *layouts.FAMILIES,
    *compaction.FAMILIES,
    *dense.FAMILIES,
    *types.FAMILIES,
    *lanes.FAMILIES,
    *again.FAMILIES,
    *turns.FAMILIES,
    *staged.FAMILIES,
    *reduced.FAMILIES,
    *calls.FAMILIES,
    *opaque.FAMILIES,
)
BY_NAME: Final[dict[str, Family]] = {family.name: family for family in FAMILIES}
