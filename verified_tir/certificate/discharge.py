"""The unit of work of a check: some questions for one solver.

A function of this module is what travels to other processes and machines.  It needs nothing there but
``verified_tir.logic`` and the solver.
"""

from __future__ import annotations

from verified_tir.logic.recheck import Answer, SolverName, ask, version

Work = tuple[tuple[str, str], ...]
"""Questions: hash and text."""


def answers(solver: SolverName, work: Work, budget: int) -> list[tuple[str, Answer]]:
    """What a solver says of each question, asked anew; where the solver is not installed, that is the reason."""
    if version(solver) is None:
        return [(digest, Answer("unknown", 0.0, reason=f"{solver} is not installed there")) for digest, _ in work]
    return [(digest, ask(solver, text, budget)) for digest, text in work]
