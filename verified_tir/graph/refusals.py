"""What a refusal of the kernel comes to, in one line of a plan's report."""

from __future__ import annotations

from verified_tir.graph.errors import GraphError
from verified_tir.schedule.errors import Refuted, ScheduleError


def why_not(refused: ScheduleError | GraphError) -> str:
    """The claim that failed, with the counterexample and what came of running it."""
    if not isinstance(refused, ScheduleError):
        return str(refused)
    found = refused.summary()
    if isinstance(refused, Refuted) and refused.counterexample:
        found += f"; counterexample: {', '.join(f'{k} = {v}' for k, v in refused.counterexample.items())}"
        found += " (confirmed)" if refused.confirmed else " (unconfirmed)"
    return found
