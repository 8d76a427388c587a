"""Strategies are functions of their choices: the same choices make the same case, or nothing can be made smaller."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from verified_tir.fuzz.cases import Listeners, Round, choices_now, redraw, run_round
from verified_tir.fuzz.registry import TARGETS, load
from verified_tir.fuzz.running import Journal
from verified_tir.fuzz.target import Observed

CASES = 12


def written(target: Any, case: Any) -> str:
    """The case as text; of one that cannot be written, why."""
    try:
        text: str = target.as_test(case, "test_it")
    except ValueError as reason:
        return str(reason)
    return text


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", [name for name in TARGETS if name != "tvm"])
def test_the_same_choices_make_the_same_case(name: str, tmp_path: Path) -> None:
    target = load(name)
    seen: list[tuple[bytes, str]] = []

    class Seen:
        """The target, but that its cases are written down and not checked."""

        def cases(self) -> Any:
            return target.cases()

        def check(self, case: Any, observed: Observed) -> None:
            seen.append((choices_now(), written(target, case)))

    spy: Any = Seen()
    listeners = Listeners(Journal(tmp_path / "case"), lambda failure, c, i: pytest.fail(str(failure)), lambda n: None)
    assert run_round(spy, Round(name, 0, 0, CASES), Observed(), listeners)
    assert len(seen) == CASES
    for choices, text in seen:
        assert redraw(target, choices, lambda case: written(target, case)) == [text]
