"""Queries asked anew: by a solver of choice, in a fresh context, with nothing remembered.

For whoever does not want to take an earlier verdict for granted.  Work is bounded by the solvers' resource counters and
not by time, so a verdict does not depend on the machine.  A query is first asked as a whole, with a small part of the
budget, in each of several settings.  One that is not decided then is read back into formulas and proved in parts, by
the steps of a deduction (``verified_tir.logic.deduction``): conjuncts one by one, from the givens that have to do with
them; floats and integers apart.  Where unknown integers are multiplied, or combined bit by bit, it is tried first
whether that matters (``verified_tir.logic.partly_known``).  Last it is asked as a whole with all of the budget.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias, final

from verified_tir.logic.deduction import Deduction
from verified_tir.logic.formula import Term, subterms
from verified_tir.logic.partly_known import is_hard
from verified_tir.logic.read_smtlib import NotCanonical, read
from verified_tir.logic.smtlib import Script
from verified_tir.logic.standalone import NotAQuery, body_of, logic_of
from verified_tir.logic.strategy import partly_known, search
from verified_tir.logic.verdict import Proved, Unknown, Verdict

SolverName: TypeAlias = Literal["z3", "cvc5"]
SOLVERS: Final[tuple[SolverName, ...]] = ("z3", "cvc5")
PACKAGES: Final[dict[SolverName, str]] = {"z3": "z3-solver", "cvc5": "cvc5"}

_HARD: Final = re.compile(r"\(\* (?!\d|\(- \d+\) )|\((?:bvand|bvor|bvxor) ")
"""Products that do not begin with a number (one that has a number begins with it), and bitwise operations: without one
of these in the text, there is nothing that would have to be read back."""

BUDGET: Final = 60_000_000
"""Resource limit of one query, in the units of Z3 (some ten seconds)."""
Z3_PER_CVC5: Final = 60
"""How many units of Z3 a unit of cvc5 is worth, roughly."""
FIRST_PART: Final = 10
"""Of the budget, one part is for the first round, and for each part of a question."""


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
        return Answer("unknown", 0.0, reason=f"it is not a query: {problem}")

    def spent() -> float:
        return time.perf_counter() - start

    first = max(1, budget // FIRST_PART)
    if _for_any_operation(solver, body, first):
        return Answer("unsat", spent(), "for any such operation")
    quick = _whole(solver, logic, body, first)
    if quick.verdict != "unknown":
        return replace(quick, seconds=spent())
    if _in_parts(solver, body, first):
        return Answer("unsat", spent(), "in parts")
    return replace(_whole(solver, logic, body, budget), seconds=spent())


def _whole(solver: SolverName, logic: str, body: str, budget: int) -> Answer:
    """The query as it is, in one setting after another."""
    reasons: dict[str, None] = {}
    for setting, limit in _settings(solver, logic, budget):
        verdict, reason = _ask_z3(setting, body, limit) if solver == "z3" else _ask_cvc5(setting, body, limit)
        if verdict in ("unsat", "sat"):
            return Answer(verdict, 0.0, setting)  # type: ignore[arg-type]
        reasons[reason] = None
    return Answer("unknown", 0.0, reason="; ".join(reasons))


def _settings(solver: SolverName, logic: str, budget: int) -> Iterator[tuple[str, int]]:
    """Settings with their limits, in the units of the solver."""
    if solver == "z3":
        settings = [*([logic] if logic == "QF_FP" else []), "Solver", "SimpleSolver"]
    else:
        settings, budget = list(dict.fromkeys([logic, "ALL"])), max(1, budget // Z3_PER_CVC5)
    for setting in settings:
        yield setting, budget


def _for_any_operation(solver: SolverName, body: str, budget: int) -> bool:
    """Whether it is proved without knowing all of multiplication and of bits (``verified_tir.logic.partly_known``)."""
    if not _HARD.search(body):
        return False
    try:
        given, goal = read(body)
    except NotCanonical:
        return False
    if not has_hard_operations(*given, goal):
        return False
    question = Deduction(_Parts(solver, budget).ask, given, goal)
    question.ask(*partly_known(question, given))
    return question.proved


def _in_parts(solver: SolverName, body: str, budget: int) -> bool:
    """Whether the query is proved by proving others that imply it."""
    try:
        given, goal = read(body)
    except NotCanonical:
        return False
    question = Deduction(_Parts(solver, budget).ask, given, goal)
    search(question)
    return question.proved


@final
class _Parts:
    """Answers the questions that imply another."""

    def __init__(self, solver: SolverName, budget: int) -> None:
        self._solver: SolverName = solver
        self._budget = budget

    def ask(self, script: Script) -> Verdict:
        """A query, in the smallest logic that holds it."""
        text = f"(set-logic {logic_of(script.roots)})\n{script.text}\n(check-sat)\n"
        answer = _whole(self._solver, *body_of(text), self._budget)
        return Proved() if answer.verdict == "unsat" else Unknown(answer.reason or answer.verdict)


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


def has_hard_operations(*roots: Term) -> bool:
    """Whether an operation is hard in one of the terms."""
    return any(is_hard(t) for t in subterms(*roots))
