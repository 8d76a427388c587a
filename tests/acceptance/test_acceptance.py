"""At least 98 of 100 steps of legal textbook schedules are accepted; each of the others is explained.

Each schedule is compared with its row of the table in docs/acceptance.md, and the table's sums with the rate.
``python -m tests.acceptance.book`` measures again and rewrites the table.
"""

from __future__ import annotations

import re

import pytest

from tests.acceptance.book import EXPLAINED, PAGE, book, row
from tests.acceptance.textbook import Textbook, run_textbook
from tests.nightly import sample

LEAST_STEPS = 200
LEAST_RATE = 0.98
COMPARED = {entry.id for entry in sample(book(), 12, 1)}
"""The programs that are compiled and run; ``make nightly`` runs all of them."""


def shown() -> list[tuple[str, ...]]:
    """The rows of the table in the docs, without the seconds, which are those of the day of the measurement."""
    page = PAGE.read_text(encoding="utf-8")
    return re.findall(r"^\| ([\w ]+) \| ([\w ]+) \| (\d+) \| (\d+) \| [\d.]+ \|$", page, re.MULTILINE)


LONGEST = {
    "convolution.padding_computed_at_a_row_of_tiles", "convolution.blocked_nchw4c", "matmul.second_operand_transposed",
    "matmul.packed_operand", "normalization.attention_row_by_row", "normalization.attention_masked_scores_fused",
}  # fmt: skip
"""A quarter of the time; others of their topics have the same steps."""


@pytest.mark.sample(40)
@pytest.mark.parametrize(
    "entry", [pytest.param(b, id=b.id, marks=pytest.mark.nightly if b.id in LONGEST else ()) for b in book()]
)
def test_the_schedule_is_accepted_and_keeps_the_result(entry: Textbook) -> None:
    result = run_textbook(entry, compare=entry.id in COMPARED)
    assert not result.stopped, f"{result.stopped}\n{result.script}"
    assert not result.wrong, f"{result.wrong}\n{result.script}"
    refused = {f"{entry.id}: {step.text}": str(step.refusal) for step in result.refused}
    explained = {step for step in EXPLAINED if step.startswith(f"{entry.id}: ")}
    assert set(refused) == explained, "\n\n".join(refused.values())
    assert row(result)[:4] in shown()


def test_the_rate() -> None:
    *entries, total = shown()
    topics = [(b.topic.replace("_", " "), b.name.replace("_", " ")) for b in book()]
    assert [entry[:2] for entry in entries] == topics
    steps, accepted = sum(int(entry[2]) for entry in entries), sum(int(entry[3]) for entry in entries)
    assert total == ("total", f"{len(entries)} schedules", str(steps), str(accepted))
    assert steps >= LEAST_STEPS
    assert accepted >= LEAST_RATE * steps
    assert f"{accepted} of {steps} steps" in PAGE.read_text(encoding="utf-8")


def test_the_explanations() -> None:
    names = {b.id for b in book()}
    assert {step.split(": ")[0] for step in EXPLAINED} <= names
    assert all(
        len(reason) > 40 and f"`{step}`" in PAGE.read_text(encoding="utf-8") for step, reason in EXPLAINED.items()
    )
