"""The validator's second opinion in ``vtir verify``: how much is asked, and how it is reported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, final

from verified_tir.report.model import OpinionReport, StepOpinion

if TYPE_CHECKING:
    from verified_tir.schedule.schedule import Schedule
    from verified_tir.schedule.second_opinion import Validation

THOROUGH: Final = 20_000_000
"""Operations for one comparison where the validator is asked for expressly."""

When = Literal["last", "every", "never"]


@final
@dataclass(frozen=True, slots=True)
class Asked:
    """How much the validator is asked.

    :ivar when: about the program after the last step, after every step, or not at all.
    :ivar most_operations: to execute for one comparison; ``None``: little, so that it does not take long.
    """

    when: When = "last"
    most_operations: int | None = None


LITTLE: Final = Asked()


def ask(made: Schedule, asked: Asked) -> Validation | None:
    """The validator's word on a schedule; ``None`` if it is not asked, or nothing changed."""
    if asked.when == "never":
        return None
    from verified_tir.schedule.second_opinion import QUICK, second_opinion, stages_of

    stages = stages_of(made.steps)
    if not stages:
        return None
    return second_opinion(
        made.steps[0].before, made.theorem, stages,
        every_step=asked.when == "every", most_operations=asked.most_operations or QUICK,
    )  # fmt: skip


def opinion_report(validation: Validation) -> OpinionReport:
    """The opinions as plain values."""
    steps = tuple(
        StepOpinion(
            step=o.step,
            name=o.name,
            word=o.word,
            sentence=o.sentence,
            sizes=tuple(dict(r.sizes) for r in o.reports),
            left_out=tuple(dict(sizes) for sizes in o.left_out),
            operations=sum(r.operations for r in o.reports),
            seconds=o.seconds,
        )
        for o in validation.opinions
    )
    return OpinionReport(validation.word, validation.sentence, steps)
