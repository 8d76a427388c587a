"""A schedule: validator and kernel do not contradict each other about its steps."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import final

from hypothesis import strategies as st

from tests.fuzz.targets.validator_pairs import note, numbers, programs
from tests.parts.near_misses import choices
from tests.parts.second_opinions import assert_accepted, assert_change_is_judged, assert_refusal_holds
from tests.parts.verdicts import WrongVerdict
from verified_tir.fuzz.target import Disagreement, Observed, quoted
from verified_tir.ir.script import script
from verified_tir.schedule.errors import Refuted, ScheduleError
from verified_tir.schedule.schedule import Schedule
from verified_tir.testing.scheduling import Draft, plans


@final
@dataclass(frozen=True, slots=True)
class Scheduled:
    """A program, steps, and changes of what the steps leave."""

    draft: Draft
    numbers: tuple[int, ...]
    change: tuple[int, ...]

    def check(self, observed: Observed) -> None:
        """Validator and kernel agree about each step, and the interpreter with the validator about the end, changed."""
        try:
            s = Schedule(self.draft.program, cache=False)
        except ScheduleError:
            observed.count("meaningless")
            return
        observed.count("programs")
        where = "the program"
        try:
            for step in self.draft.steps(s):
                where = step.step.primitive
                observed.count("refused" if step.refusal else "accepted")
                if step.refusal is None:
                    observed.cover("primitive", where)
                elif isinstance(step.refusal, Refuted) and step.refusal.confirmed:
                    observed.count("confirmed")
                    report = assert_refusal_holds(s.func, step.refusal)
                    if report is not None:
                        note(observed, report)
            where = str(s.steps[-1]).partition("(")[0]
            for opinion in assert_accepted(s).opinions:
                observed.count(opinion.word)
                for report in opinion.reports:
                    note(observed, report)
            where = "a changed schedule"
            report = assert_change_is_judged(s, self.numbers, self.change)
            if report is not None:
                note(observed, report)
        except WrongVerdict as wrong:
            raise Disagreement(wrong.kind, where, wrong.message) from wrong

    def as_test(self, name: str) -> str:
        """The program, its steps as they were written, and what is asked about them."""
        program = self.draft.program if isinstance(self.draft.program, str) else script(self.draft.program)
        s = Schedule(self.draft.program, cache=False)
        texts: list[str] = []
        with suppress(Exception):  # then the last step is the one that crashes
            for _ in self.draft.steps(s, announce=lambda step: texts.append(step.text)):
                pass
        steps = "".join(f"    {text!r},\n" for text in texts)
        return (
            '"""Found by a campaign: the validator against the kernel, or against the interpreter."""\n\n'
            "from tests.parts.second_opinions import assert_validator_agrees\n\n"
            f"PROGRAM = {quoted(program)}\n"
            f"STEPS = [\n{steps}]\n\n\n"
            f"def {name}() -> None:\n"
            f"    assert_validator_agrees(PROGRAM, STEPS, numbers={self.numbers!r}, change={self.change!r})\n"
        )


def scheduled() -> st.SearchStrategy[Scheduled]:
    """Programs with up to four steps, and a change."""
    drafts = st.builds(Draft, programs(), st.lists(plans(), min_size=1, max_size=4).map(tuple))
    return st.builds(Scheduled, drafts, numbers(), choices())
