"""What was counted: by this process, in all runs, and since it was last written down."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from verified_tir.fuzz.reports import Counted
from verified_tir.fuzz.state import State, Tally


@final
@dataclass(slots=True)
class Ledger:
    """The tallies of a campaign.

    :param tallies: of this process, by target.
    """

    state: State
    tallies: dict[str, Tally] = field(default_factory=dict)
    _unsaved: dict[str, Tally] = field(default_factory=dict)

    def tally(self, target: str) -> Tally:
        """What was counted of a target by this process."""
        return self.tallies.setdefault(target, Tally())

    def add(self, target: str, counted: Counted) -> None:
        """Count what a worker reported."""
        for tally in self._all(target):
            tally.add(counted)

    def failed(self, target: str) -> None:
        """A case failed."""
        for tally in self._all(target):
            tally.failed += 1

    def checked(self, target: str, cases: int) -> None:
        """So many cases were checked by a worker that did not live to report them."""
        for tally in self._all(target):
            tally.cases += cases

    def touch(self, target: str) -> None:
        """Have the place of a target written down, whatever was counted."""
        self._unsaved.setdefault(target, Tally())

    def keep(self, elapsed: float) -> None:
        """Write down what is not."""
        for target, tally in self._unsaved.items():
            self.state.counted(target, tally, elapsed)
        self._unsaved.clear()

    def _all(self, target: str) -> tuple[Tally, Tally, Tally]:
        return self.tally(target), self.state.tally(target), self._unsaved.setdefault(target, Tally())
