"""What the cases share: refused with a confirmed counterexample, or accepted with an unchanged result."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from verified_tir import Refuted, Schedule
from verified_tir.ir.func import PrimFunc
from verified_tir.semantics.interpreter import refines, run


def refused(program: str, steps: Callable[[Schedule], object], claim: str) -> Refuted:
    """The schedule is refused by the obligation whose claim contains ``claim``, and the replay confirms it."""
    s = Schedule(program)
    before = s.func
    try:
        steps(s)
    except Refuted as refusal:
        assert claim in refusal.reason, refusal.reason
        assert refusal.confirmed, str(refusal)
        return refusal
    raise AssertionError(f"accepted:\n{s.script()}\nfrom\n{before}")


def accepted(program: str, steps: Callable[[Schedule], object], **arrays: np.ndarray) -> Schedule:
    """The schedule is accepted, and running both programs on the arrays gives the same bits."""
    s = Schedule(program)
    first: PrimFunc = s.func
    steps(s)
    if arrays:
        assert not refines(run(first, arrays), run(s.func, arrays))
    return s
