"""What the graph layer says when something cannot be done."""

from __future__ import annotations

from verified_tir.schedule.errors import Refuted, ScheduleError


class GraphError(Exception):
    """A mistake in a graph, or an operator that is not known; the message names the node and the remedy."""


class NoCopy(GraphError):
    """A program that is not a rewrite of a layout; the message says why."""


def why_not(refused: ScheduleError | GraphError) -> str:
    """The claim that failed, with the counterexample and what came of running it."""
    if not isinstance(refused, ScheduleError):
        return str(refused)
    found = refused.summary()
    if isinstance(refused, Refuted) and refused.counterexample:
        found += f"; counterexample: {', '.join(f'{k} = {v}' for k, v in refused.counterexample.items())}"
        found += " (confirmed)" if refused.confirmed else " (unconfirmed)"
    return found
