"""All programs of small grammars, all applications of the rules: accepted means the interpreter agrees.

Every family of programs is enumerated whole if it is small, and sampled evenly if not.  ``VTIR_EXHAUSTIVE=1000000``
(what ``make exhaustive`` sets) spreads that many programs over the families; otherwise there are a few thousand.  The
counts are printed (``pytest -s`` shows them).
"""

from __future__ import annotations

import os

import pytest

from tests.kernel.exhaustive import dense, layouts, nests, order, shapes, types, values
from tests.kernel.exhaustive.family import Family, explore

FAMILIES = (
    *order.FAMILIES,
    *nests.FAMILIES,
    *values.FAMILIES,
    *shapes.FAMILIES,
    *layouts.FAMILIES,
    *dense.FAMILIES,
    *types.FAMILIES,
)
PROGRAMS = int(os.environ.get("VTIR_EXHAUSTIVE", "3500"))


def shares(total: int) -> dict[str, int]:
    """How many programs of each family: equal shares, what a small family leaves going to the others."""
    left, found = total, {}
    ordered = sorted(FAMILIES, key=lambda f: f.size)
    for k, family in enumerate(ordered):
        share = min(family.size, left // (len(ordered) - k))
        found[family.name] = share
        left -= share
    return found


SHARES = shares(PROGRAMS)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
def test_accepted_means_that_the_interpreter_agrees(family: Family) -> None:
    report = explore(family, SHARES[family.name])
    print("\n" + report.line(), dict(report.accepted_rules))
    assert not report.unsound, "\n\n".join(report.unsound)
    assert not report.crashes, "\n".join(report.crashes[:10])
    assert report.programs > 0 and report.accepted > 0, "a grammar that exercises nothing"
    assert report.meaningless <= report.programs // 4, "most programs have no meaning on any input"


def test_every_family_has_its_name() -> None:
    assert len({f.name for f in FAMILIES}) == len(FAMILIES)
    assert sum(SHARES.values()) <= PROGRAMS
