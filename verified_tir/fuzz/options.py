"""The options of a campaign, and the listener to its events."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verified_tir.fuzz.findings import Finding

if TYPE_CHECKING:
    from verified_tir.fuzz.campaign import Campaign


@dataclass(frozen=True, slots=True)
class Options:
    """What a campaign is asked to do.

    :param targets: their names.
    :param seconds: how long it runs; until the examples are done, or it is interrupted, if none.
    :param examples: cases of each target; any number if none.
    :param seed: of the sequence of cases; none for one that nobody chose.
    :param resume: go on with the last seed where it stopped, if true; if false forget all earlier runs; if none, go on
        only with the same options, and only if the last run was interrupted.
    :param findings: the folder for files about findings; ``regressions``: one that has files already.
    :param database: a folder, or the address of a Redis server.
    :param limit: seconds for one case.
    :param shrinking: seconds for making one finding smaller.
    :param command: as it was typed, for the files about findings.
    """

    targets: tuple[str, ...] = ()
    seconds: float | None = 600.0
    examples: int | None = None
    jobs: int = 1
    seed: int | None = None
    resume: bool | None = None
    findings: Path = Path("fuzz-findings")
    regressions: Path = Path("tests/regressions")
    database: str = ""
    state: Path = Path(".vtir-fuzz")
    limit: float = 120.0
    shrinking: float = 60.0
    command: str = "vtir fuzz"

    @property
    def sequence(self) -> dict[str, Any]:
        """What must be the same for a run to go on."""
        return {
            "targets": sorted(self.targets),
            "seconds": self.seconds,
            "examples": self.examples,
            "seed": self.seed,
        }


class Listener:
    """A listener to the events of a campaign; every method may be overridden."""

    def begins(self, campaign: Campaign) -> None:
        """The workers have been started."""

    def tick(self, campaign: Campaign) -> None:
        """Time has passed."""

    def found(self, finding: Finding) -> None:
        """A case failed as none did before; it is going to be made smaller."""

    def finished(self, finding: Finding) -> None:
        """A finding has its file, or is known."""

    def note(self, text: str) -> None:
        """Something that is to be known."""

    def ends(self) -> None:
        """The workers have been stopped."""
