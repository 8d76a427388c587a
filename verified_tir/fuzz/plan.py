"""Which round comes next.

Every target has a sequence of rounds, the same for a seed whoever runs them.  The target whose processes worked least
has the next turn.  With a number of examples each target gets exactly these; with a time alone, a round is cut off
when its target has had its slice, so that slow targets do not starve the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, final

from verified_tir.fuzz.cases import ROUND, Round
from verified_tir.fuzz.state import Run

_SLICE: Final = (3.0, 60.0)
"""Seconds of a slice, at least and at most."""


@final
@dataclass(slots=True)
class Plan:
    """The rounds of a run.

    :param examples: cases of each target; any number if none.
    :param seconds: of the whole run; any if none.
    :param spent: seconds of work for each target so far.
    """

    run: Run
    targets: Sequence[str]
    examples: int | None
    seconds: float | None
    jobs: int
    spent: dict[str, float] = field(default_factory=dict)
    stopped: set[str] = field(default_factory=set)
    _running: dict[str, set[int]] = field(default_factory=dict)

    @property
    def slice(self) -> float | None:
        """Seconds after which a round is cut off, if it is."""
        if self.examples is not None or self.seconds is None or len(self.targets) == 1:
            return None
        least, most = _SLICE
        return min(max(self.seconds * self.jobs / (4 * len(self.targets)), least), most)

    def next(self) -> Round | None:
        """The next round, which is running from now on; none if nothing is left to begin."""
        for target in sorted(self.targets, key=lambda t: (self.spent.get(t, 0.0), len(self._running.get(t, ())))):
            if target not in self.stopped and (work := self._of(target)) is not None:
                self._running.setdefault(target, set()).add(work.turn)
                # A guess until it is known, so that idle workers do not all choose the same target.
                self.spent[target] = self.spent.get(target, 0.0) + 1e-3
                return work
        return None

    def _of(self, target: str) -> Round | None:
        place = self.run.place(target)
        running = self._running.get(target, set())
        for turn, done in sorted(place.open.items()):
            if turn not in running and done < self._cases(turn):
                return Round(target, self.run.seed, turn, self._cases(turn), done)
        cases = self._cases(place.following)
        if cases == 0:
            return None
        turn = place.following
        place.following += 1
        place.open[turn] = 0
        return Round(target, self.run.seed, turn, cases)

    def _cases(self, turn: int) -> int:
        if self.examples is None:
            return ROUND
        return max(0, min(ROUND, self.examples - turn * ROUND))

    def interrupted(self, work: Round) -> None:
        """A round stopped; it is to go on later."""
        self._running[work.target].discard(work.turn)

    def over(self, work: Round) -> None:
        """A round is done with; part of one may go on when there are more examples."""
        self.interrupted(work)
        opened = self.run.place(work.target).open
        if work.cases == ROUND:
            opened.pop(work.turn, None)
        else:
            opened[work.turn] = work.cases

    @property
    def idle(self) -> bool:
        """Whether no round is running."""
        return not any(self._running.values())
