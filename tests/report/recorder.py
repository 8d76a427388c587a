"""A plug-in of pytest that writes down what every refusal of a run says: ``pytest -p tests.report.recorder``.

Each line of the file that ``VTIR_REFUSALS`` names is a JSON object.  Refusals that say the same are written once.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from verified_tir.lower import passes
from verified_tir.schedule.errors import ScheduleError
from verified_tir.schedule.schedule import Schedule

_seen: set[tuple[str, str, str]] = set()


def pytest_configure(config: pytest.Config) -> None:
    """Wrap what raises refusals."""
    del config
    for owner, name in ((Schedule, "_do"), (Schedule, "_look"), (Schedule, "__init__"), (passes, "run_pass")):
        setattr(owner, name, _recording(getattr(owner, name)))


def _recording(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        try:
            return function(*args, **named)
        except ScheduleError as refused:
            _record(refused)
            raise

    return call


def _record(refused: ScheduleError) -> None:
    key = (refused.code, refused.step, refused.reason)
    if key in _seen:
        return
    _seen.add(key)
    said = {
        "code": refused.code,
        "step": refused.step,
        "reason": refused.reason,
        "advice": refused.advice,
        "claim": refused.claim,
        "marked": "# <-- here" in str(refused),
        "remedy": refused.remedy,
    }
    with Path(os.environ["VTIR_REFUSALS"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(said, ensure_ascii=False) + "\n")
