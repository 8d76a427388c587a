"""Copies and moves on random programs of several stages: what is accepted changes no result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.nightly import few
from tests.schedule.random_stages import Move, moves, stages
from tests.schedule.schedule_support import agree
from verified_tir import Schedule
from verified_tir.schedule.session import Session, TacticFailed

CALM: dict[str, Any] = {
    "deadline": None, "database": None, "derandomize": True, "suppress_health_check": list(HealthCheck),
}  # fmt: skip


class Unreported(Schedule):
    """A schedule whose refusals are not replayed, which takes much longer than all the rest."""

    def _do(self, name: str, arguments: Sequence[object], tactic: Callable[[Session], Any]) -> Any:
        with self._session.atomic():
            return tactic(self._session)


@pytest.mark.nightly
@settings(max_examples=4, **CALM)
@given(stages())
def test_all_pairs_of_a_block_and_a_loop(text: str) -> None:
    s = Unreported(text)
    pairs = [(b, k) for b in range(len(s.blocks)) for k in range(len(s.loops()))]
    for name in ("compute_at", "reverse_compute_at"):
        for b, k in pairs:
            s = Unreported(text)
            try:
                Move(name, b, k).take(s)
            except TacticFailed:
                continue
            agree(s, work=150)


@settings(max_examples=few(8, 25), **CALM)
@given(stages(), st.lists(moves(), min_size=1, max_size=3))
def test_several_steps(text: str, wanted: list[Move]) -> None:
    s = Unreported(text)
    for move in wanted:
        before = s.theorem
        try:
            move.take(s)
        except TacticFailed:
            assert s.theorem is before
    agree(s, work=300)
