"""The second net for a mutant that no test killed: random programs and schedules, for as long as the budget allows."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.fuzz.targets.kernel import KernelTarget
from verified_tir.fuzz.target import Disagreement, Observed

if TYPE_CHECKING:
    from tests.fuzz.targets.kernel import KernelCase
    from tests.mutation.mutant import Mutant
    from tests.rules.cases import RuleCase

SEED = 6
"""Of all that is drawn."""


class _Over(KeyboardInterrupt):
    """The time is up.  (Hypothesis passes this kind of exception on, and does not take it for a failure.)"""


def killer(mutant: Mutant, budget: float) -> tuple[str, str] | None:
    """What the fuzzer's target for the kernel finds against a mutant that is in this process.

    :param budget: seconds of processor time.
    :returns: who killed it and how, or ``None`` if nothing was found.
    """
    target, end, seen = KernelTarget(), time.process_time() + budget, 0

    @seed(SEED)
    @settings(
        max_examples=10**6, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(target.cases())
    def look(case: KernelCase | RuleCase) -> None:
        nonlocal seen
        if time.process_time() > end:
            raise _Over
        seen += 1
        target.check(case, Observed())

    try:
        look()
    except _Over:
        return None
    except Disagreement as found:
        return f"the fuzzer, after {seen} programs", f"{found.kind} ({found.where})"
    except Exception as crash:
        return f"the fuzzer, after {seen} programs", f"{type(crash).__name__}: {str(crash)[:120]}"
    return None
