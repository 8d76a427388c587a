"""All schedules of the book: imports every topic, and makes the table of the docs.

``python -m tests.acceptance.book`` writes the table into docs/acceptance.md.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Sequence
from pathlib import Path

from tests.acceptance import schedules
from tests.acceptance.textbook import BOOK, Result, Textbook, run_textbook

EXPLAINED: dict[str, str] = {}
"""Steps that are refused though they are legal: the schedule and the step, and why."""

PAGE = Path(__file__).parents[2] / "docs" / "acceptance.md"
HEADER = "| topic | schedule | steps | accepted | seconds |\n|---|---|---|---|---|\n"


def book() -> list[Textbook]:
    """Every schedule, topics in alphabetical order."""
    for module in sorted(m.name for m in pkgutil.iter_modules(schedules.__path__)):
        importlib.import_module(f"{schedules.__name__}.{module}")
    return sorted(BOOK.values(), key=lambda b: b.topic)


def row(result: Result) -> tuple[str, str, str, str, str]:
    """A row of the table: topic, schedule, steps, steps accepted, seconds of the processor for the steps."""
    book = result.book
    counts = str(len(result.taken)), str(result.accepted), f"{result.scheduling:.2f}"
    return (book.topic.replace("_", " "), book.name.replace("_", " "), *counts)


def total(results: Sequence[Result]) -> tuple[str, str, str, str, str]:
    """The last row: sums."""
    counts = str(sum(len(r.taken) for r in results)), str(sum(r.accepted for r in results))
    return ("total", f"{len(results)} schedules", *counts, f"{sum(r.scheduling for r in results):.2f}")


def main() -> None:
    """Measure, and rewrite the table."""
    results = [run_textbook(b) for b in book()]
    table = "".join("| " + " | ".join(r) + " |\n" for r in [*map(row, results), total(results)])
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.split(HEADER)
    _, _, steps, accepted, _ = total(results)
    before = re.sub(r"^\d+ of \d+ steps", f"{accepted} of {steps} steps", before, flags=re.MULTILINE)
    PAGE.write_text(before + HEADER + table + after[after.index("\n\n") + 1 :], encoding="utf-8")
    for r in results:
        for message in (r.stopped, *r.wrong, *[f"{s.text}: {s.refusal.summary()}" for s in r.taken if s.refusal]):
            if message:
                print(f"{r.book.id}: {message}")
    print("slowest:", *sorted(((s.seconds, r.book.id, s.text) for r in results for s in r.taken), reverse=True)[:5])


if __name__ == "__main__":
    main()
