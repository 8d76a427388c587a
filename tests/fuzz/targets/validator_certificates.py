"""Certificates: an honest folder passes, and whatever is done to a copy of it is noticed."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from hypothesis import strategies as st

from tests.fuzz.targets.tampering import TAMPERINGS, Unnoticed, assert_accepted_as_written, assert_noticed, store
from tests.fuzz.targets.validator_pairs import programs
from verified_tir.fuzz.target import Disagreement, Observed, quoted
from verified_tir.ir.script import script
from verified_tir.schedule.errors import ScheduleError
from verified_tir.schedule.schedule import Schedule
from verified_tir.testing.scheduling import Draft, plans

BUDGET: Final = 200_000
_MOST: Final = 60


@final
@dataclass(frozen=True, slots=True)
class Tampered:
    """A schedule, and what is done to its certificate: kinds of tampering, each with two numbers."""

    draft: Draft
    changes: tuple[tuple[str, int, int], ...]

    def check(self, observed: Observed) -> None:
        """The certificate passes as written, and no longer once it was changed."""
        try:
            s = self.draft.schedule()
        except ScheduleError:
            observed.count("meaningless")
            return
        if sum(len(record.obligations) for record in s.steps) > _MOST:
            observed.count("too many obligations")
            return
        observed.count("certificates")
        try:
            with tempfile.TemporaryDirectory() as place:
                folder = store(Path(place) / "honest", s)
                observed.count("undecided" if assert_accepted_as_written(folder, BUDGET) else "passed")
                for k, (kind, one, two) in enumerate(self.changes):
                    copy = Path(place) / str(k)
                    shutil.copytree(folder, copy)
                    if assert_noticed(copy, kind, (one, two), BUDGET):
                        observed.count("tampered")
                        observed.cover("tampering", kind)
        except Unnoticed as wrong:
            raise Disagreement(wrong.kind, wrong.where, wrong.message) from wrong

    def as_test(self, name: str) -> str:
        """The schedule as it was written, and what is done to its certificate."""
        program = self.draft.program if isinstance(self.draft.program, str) else script(self.draft.program)
        s = Schedule(self.draft.program, cache=False)
        steps = "".join(f"    {taken.step.text!r},\n" for taken in self.draft.steps(s) if taken.refusal is None)
        return (
            '"""Found by a campaign: a certificate that should pass, or one that should not."""\n\n'
            "import shutil\nfrom pathlib import Path\n\n"
            "from verified_tir import Schedule\n"
            "from tests.fuzz.targets.tampering import assert_accepted_as_written, assert_noticed, store\n"
            "from verified_tir.testing.scheduling import Step\n\n"
            f"PROGRAM = {quoted(program)}\n"
            f"STEPS = [\n{steps}]\n"
            f"CHANGES = {list(self.changes)!r}\n\n\n"
            f"def {name}(tmp_path: Path) -> None:\n"
            "    s = Schedule(PROGRAM, cache=False)\n"
            "    for text in STEPS:\n"
            '        Step("", text).apply(s)\n'
            '    folder = store(tmp_path / "honest", s)\n'
            f"    assert_accepted_as_written(folder, {BUDGET})\n"
            "    for k, (kind, *numbers) in enumerate(CHANGES):\n"
            "        copy = shutil.copytree(folder, tmp_path / str(k))\n"
            f"        assert_noticed(copy, kind, numbers, {BUDGET})\n"
        )


def certificates() -> st.SearchStrategy[Tampered]:
    """Short schedules, and several ways to tamper with the certificate of each."""
    drafts = st.builds(Draft, programs(), st.lists(plans(), min_size=1, max_size=3).map(tuple))
    number = st.integers(0, 9999)
    change = st.tuples(st.sampled_from(TAMPERINGS), number, number)
    return st.builds(Tampered, drafts, st.lists(change, min_size=1, max_size=10).map(tuple))
