"""What kills the process that it is called in, for tests of those that must survive it."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping

from verified_tir.validate.batch import judge_record
from verified_tir.validate.pairs import Budget, Judgement
from verified_tir.validate.recorded import Record


def judge_or_die(record: Record, given: Mapping[str, int], budget: Budget) -> Judgement:
    """A judgement of all pairs but one."""
    if record.name.startswith("p-2 "):
        os.kill(os.getpid(), signal.SIGKILL)
    return judge_record(record, given, budget)
