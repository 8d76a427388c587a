"""Queries asked anew: by a solver of choice, in a fresh context, with nothing remembered.

For whoever does not want to take an earlier verdict for granted.  Work is bounded by the solvers' resource counters and
not by time, so a verdict does not depend on the machine.  A query is first tried with a small part of the budget in
each of several settings, then with all of it; ``unsat`` and ``sat`` count from whichever setting finds them.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, final

from verified_tir.logic.standalone import NotAQuery, body_of

SolverName: TypeAlias = Literal["z3", "cvc5"]
SOLVERS: Final[tuple[SolverName, ...]] = ("z3", "cvc5")
PACKAGES: Final[dict[SolverName, str]] = {"z3": "z3-solver", "cvc5": "cvc5"}

BUDGET: Final = 60_000_000
"""Resource limit of one query, in the units of Z3 (some ten seconds)."""
Z3_PER_CVC5: Final = 60
"""How many units of Z3 a unit of cvc5 is worth, roughly."""
FIRST_PART: Final = 20
"""Of the budget, one part is for the first round."""


@final
@dataclass(frozen=True, slots=True)
class Answer:
    """What a solver said of a query: ``unsat`` if the claim holds.  ``how`` names the setting that found it."""

    verdict: Literal["unsat", "sat", "unknown"]
    seconds: float
    how: str = ""
    reason: str = ""


def version(solver: SolverName) -> str | None:
    """The version of a solver's package, or ``None`` if it is not installed."""
    if importlib.util.find_spec(solver) is None:
        return None
    try:
        return importlib.metadata.version(PACKAGES[solver])
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def ask(solver: SolverName, text: str, budget: int = BUDGET) -> Answer:
    """The verdict of a solver on a query in the form of ``verified_tir.logic.standalone``.

    What goes wrong inside the solver is an ``unknown`` with its reason.

    :raises ModuleNotFoundError: if the solver is not installed.
    """
    start = time.perf_counter()
    try:
        logic, body = body_of(text)
    except NotAQuery as problem:
        return Answer("unknown", 0.0, reason=f"it is no query: {problem}")
    reasons: dict[str, None] = {}
    for setting, limit in _rounds(solver, logic, budget):
        verdict, reason = _ask_z3(setting, body, limit) if solver == "z3" else _ask_cvc5(setting, body, limit)
        if verdict in ("unsat", "sat"):
            return Answer(verdict, time.perf_counter() - start, setting)  # type: ignore[arg-type]
        reasons[reason] = None
    return Answer("unknown", time.perf_counter() - start, reason="; ".join(reasons))


def _rounds(solver: SolverName, logic: str, budget: int) -> Iterator[tuple[str, int]]:
    """Settings with their limits: all with a part of the budget, then all with the whole."""
    if solver == "z3":
        settings = [*([logic] if logic == "QF_FP" else []), "Solver", "SimpleSolver"]
    else:
        budget = max(1, budget // Z3_PER_CVC5)
        settings = list(dict.fromkeys([logic, "ALL"]))
    for limit in (max(1, budget // FIRST_PART), budget):
        for setting in settings:
            yield setting, limit


def _ask_z3(setting: str, body: str, limit: int) -> tuple[str, str]:
    import z3

    try:
        context = z3.Context()
        known = {"Solver": z3.Solver, "SimpleSolver": z3.SimpleSolver}
        solver = known[setting](ctx=context) if setting in known else z3.SolverFor(setting, ctx=context)
        solver.set(random_seed=0, rlimit=limit, ctrl_c=False)
        solver.from_string(body)
        verdict = solver.check()
        return str(verdict), solver.reason_unknown() if verdict == z3.unknown else ""
    except z3.Z3Exception as problem:
        return "unknown", str(problem)


def _ask_cvc5(logic: str, body: str, limit: int) -> tuple[str, str]:
    import cvc5

    solver = cvc5.Solver(cvc5.TermManager())
    solver.setOption("rlimit-per", str(limit))
    solver.setOption("fp-exp", "true")  # formats other than float32 and float64
    parser = cvc5.InputParser(solver)
    text = f"(set-logic {logic})\n{body}\n(check-sat)\n"
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "query")
    symbols = parser.getSymbolManager()
    said: Any = "nothing"
    try:
        while not (command := parser.nextCommand()).isNull():
            said = str(command.invoke(solver, symbols)).strip()
    except RuntimeError as problem:
        return "unknown", str(problem).strip()
    verdict, _, reason = said.partition(" ")
    return (verdict, "") if verdict in ("unsat", "sat") else ("unknown", reason.strip("()") or said)
