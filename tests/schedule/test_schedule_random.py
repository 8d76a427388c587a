"""Random steps on random programs.

What is accepted changes no result; what is refused changes nothing and is a ``ScheduleError``; nothing else is raised.
Most refutations are confirmed by a replay.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.drawing import search_until
from tests.nightly import few
from tests.schedule.schedule_strategies import Step, programs, steps
from tests.schedule.schedule_support import agree
from verified_tir import Refuted, Schedule, ScheduleError


@settings(
    max_examples=few(5, 40),
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(programs(), st.lists(steps(), min_size=1, max_size=5))
def test_whatever_is_accepted_keeps_the_result(text: str, wanted: list[Step]) -> None:
    s = Schedule(text)
    for step in wanted:
        before, func, count = s.theorem, s.func, len(s.steps)
        try:
            step.take(s)
        except ScheduleError as refusal:
            assert str(refusal).startswith(f"{step.name}(")
            assert s.theorem is before and s.func is func and len(s.steps) == count
            continue
        assert len(s.steps) == count + 1
        agree(s, work=1000)


_confirmed: list[bool] = []


@settings(
    max_examples=few(10, 40),
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(programs(), steps(("split", "parallel", "vectorize", "reorder", "tile", "fission", "transform_layout")))
def _gather(text: str, step: Step) -> None:
    s = Schedule(text)
    try:
        step.take(s)
    except Refuted as refusal:
        _confirmed.append(refusal.confirmed)
    except ScheduleError:
        pass


@pytest.mark.nightly
def test_most_refutations_are_confirmed() -> None:
    """The others are steps that happen to be right, though not for the reason that the kernel asks for."""
    _confirmed.clear()
    search_until(lambda: len(_confirmed) >= 10 and sum(_confirmed) >= 0.8 * len(_confirmed), _gather)
    assert len(_confirmed) >= 10
    assert sum(_confirmed) >= 0.8 * len(_confirmed)
