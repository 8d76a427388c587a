"""Free parameters: what a strategy asks, in which order, and what is decided."""

from __future__ import annotations

import math

import pytest

from tests.tune import strategies
from verified_tir.schedule.errors import ScheduleError
from verified_tir.tune.space import Choice, Decision, Open, Site, Tuned, factors, places

SITE = Site("f.py", 1, 0, 1, 9)


def begun(*decisions: Decision) -> Tuned:
    made = Tuned(strategies.fill)
    made.decisions = [(None, d) for d in decisions]
    return made


def test_the_default_is_what_the_strategy_decides() -> None:
    made = Tuned(strategies.fill)
    strategies.tiled.apply(made)
    assert [(c.kind, c.among, d) for c, d in made.taken] == [
        ("perfect_tile", (16, 2, 16), (8, 2)),
        ("categorical", (0, 1), 0),
    ]
    assert all(d == c.default for c, d in made.taken)


def test_decisions_are_taken_in_order() -> None:
    made = begun((2, 8), 0)
    strategies.tiled.apply(made)
    assert "for i_0 in T.unroll(2)" in made.script()
    with pytest.raises(ScheduleError, match="parallel"):
        strategies.tiled.apply(begun((2, 8), 1))


def test_a_decision_that_is_missing_or_about_something_else_is_asked_for() -> None:
    with pytest.raises(Open) as found:
        strategies.nested.apply(begun((4, 4)))
    assert found.value.number == 1 and found.value.choice.among == (4, 2, 16)
    made = Tuned(strategies.fill)
    made.decisions = [(None, (4, 4)), (Choice("perfect_tile", (8, 2, 16), (4, 2), SITE), (4, 2))]
    with pytest.raises(Open) as found:
        strategies.nested.apply(made)
    assert found.value.number == 1


@pytest.mark.parametrize(("extent", "n", "most"), [(16, 2, 16), (60, 3, 4), (1, 3, 16), (97, 2, 8), (12, 1, 16)])
def test_numbers_are_factors_and_back(extent: int, n: int, most: int) -> None:
    choice = Choice("perfect_tile", (extent, n, most), (extent, *[1] * (n - 1)), SITE)
    seen = set()
    for a in range(8):
        for b in range(8):
            found = factors(choice, [a / 7, b / 7][: n - 1])
            assert math.prod(found) == extent and len(found) == n and (n == 1 or found[-1] <= most)
            assert factors(choice, places(choice, found)) == found
            seen.add(found)
    assert len(seen) > 1 or choice.count == 1 or extent == 97
