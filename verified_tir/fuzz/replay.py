"""Cases of a campaign once more, for tests that cannot be written as programs."""

from __future__ import annotations

import base64
from typing import Any


def replay(target: str, choices: str) -> None:
    """Check the case that Hypothesis makes of some choices.

    :param target: a name, as in ``vtir fuzz --target``.
    :param choices: in base64, as a file about a finding has them.
    :raises ValueError: if the choices lead to no case: Hypothesis or the strategies have changed since.

    What the check raises is handed on: ``Disagreement``, or a crash.
    """
    from hypothesis.errors import HypothesisException

    from verified_tir.fuzz.cases import redraw
    from verified_tir.fuzz.registry import load
    from verified_tir.fuzz.target import Observed

    found = load(target)

    def outcome(case: Any) -> Exception | None:
        try:
            found.check(case, Observed())
        except HypothesisException:  # an assumption that does not hold
            raise
        except Exception as error:
            return error
        return None

    outcomes = redraw(found, base64.b64decode(choices), outcome)
    if not outcomes:
        raise ValueError(f"these are no choices of a case of {target} (any more)")
    if outcomes[0] is not None:
        raise outcomes[0]


def replay_round(target: str, *, seed: int, turn: int, index: int) -> None:
    """Draw a round of a campaign again, up to a case that could not be drawn.

    :raises RuntimeError: if it cannot be drawn this time, either.
    """
    import tempfile
    from pathlib import Path

    from verified_tir.fuzz.cases import ROUND, Enough, Listeners, Round, run_round
    from verified_tir.fuzz.failure import Failure
    from verified_tir.fuzz.registry import load
    from verified_tir.fuzz.running import Journal
    from verified_tir.fuzz.target import Observed

    failures: list[Failure] = []

    def failed(failure: Failure, choices: bytes, number: int) -> None:
        if not choices and number == index:
            failures.append(failure)

    def passed(drawn: int) -> None:
        if drawn > index:
            raise Enough

    with tempfile.TemporaryDirectory() as folder:
        listeners = Listeners(Journal(Path(folder) / "case"), failed, passed)
        run_round(load(target), Round(target, seed, turn, ROUND, skip=index), Observed(), listeners)
    if failures:
        raise RuntimeError(f"{failures[0].key}: {failures[0].message}\n{failures[0].traceback}")
