"""Z3 itself: one query in SMT-LIB text, one answer.

An answer is a function of the query's text, the budget, the solver's version and the settings (``settings``, which need
not be trusted: in any of them ``unsat`` is Z3's answer to the text).  Work is bounded by Z3's resource counter and not
by time, so the machine does not matter.  What was asked before must not matter either; but in a context with a history
terms have another order, and so searches take other ways, and find other models.  Therefore a context of its own, with
fixed seeds, decides each query.

For a query about integers that costs thrice what it costs in a context that is there already.  It is asked there first,
with a small part of the budget, and what is found is believed: the fresh context could do no more than fail to find it
with thirty times the work.  The values of a refutation come from a fresh context alone, once somebody looks at them.

A question about floats is first tried at special values (``witness``): most false claims are false there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Final, TypeAlias, final

from verified_tir.ir.outside import ask
from verified_tir.logic.smtlib import Script

INTEGER_BUDGET: Final = 3_000_000
SHARED: Final = "shared"
"""The setting in which queries are asked one after the other in one context."""


@cache
def version() -> str:
    """The version of Z3."""
    from importlib.metadata import version

    return version("z3-solver")


_OF_THE_MACHINE = frozenset({"timeout", "memout", "interrupted from keyboard", "interrupted"})
"""Reasons for which Z3 gives up that are not in the question, nor in the budget."""

Answer: TypeAlias = tuple[str, Any]
"""``unsat``; ``sat`` with values by the names in the query's text; ``unknown`` with the reason; ``failed`` with what Z3
said, where it came to no end (a text that it cannot read, no memory).  That is not kept on disk."""

NO_VALUES: Answer = ("sat", None)
"""Refuted, and by which values nobody has asked."""


@final
@dataclass(slots=True)
class Z3:
    """A session with Z3."""

    _shared: tuple[Any, int] | None = field(init=False, default=None)
    """The context in which many questions were asked, and the budget that it has."""

    def check(self, script: Script, limit: int, *, afresh: bool = False) -> Answer:
        """The answer to a query; ``limit`` is the budget of one about integers."""
        if script.has_float and (values := ask("values", script, limit)) is not None:
            return "sat", values
        answer: Answer = "failed", "there is no setting to ask it in"
        for setting, budget in ask("settings", script, limit, afresh) or ():
            asked = self._in_shared_context if setting == SHARED else partial(run, setting)
            answer = asked(script, budget)
            if answer[0] in ("unsat", "sat"):
                break
        return answer

    def _in_shared_context(self, script: Script, budget: int) -> Answer:
        """Z3's answer where many questions were asked before; values are not looked for."""
        import z3

        if self._shared is None or self._shared[1] != budget:
            solver = z3.SimpleSolver()
            solver.set(random_seed=0, rlimit=budget, ctrl_c=False)
            self._shared = solver, budget
        shared, core = self._shared[0], z3.z3core
        context = shared.ctx.ref()
        shared.push()
        try:
            parts = z3.parse_smt2_string(script.text, ctx=shared.ctx)
            for k in range(len(parts)):  # ``shared.add(parts)``, without an object of Python's for each part
                core.Z3_solver_assert(context, shared.solver, core.Z3_ast_vector_get(context, parts.vector, k))
            return str(shared.check()), None
        except z3.Z3Exception as problem:
            return "failed", str(problem)
        finally:
            shared.pop()


def run(setting: str, script: Script, budget: int) -> Answer:
    """The answer of a fresh context; ``setting`` is a class of solvers, or the logic of one."""
    import z3

    try:
        context = z3.Context()
        known = {"Solver": z3.Solver, "SimpleSolver": z3.SimpleSolver}
        solver = known[setting](ctx=context) if setting in known else z3.SolverFor(setting, ctx=context)
        # an interrupt is Python's, not an "unknown"; it comes when the query ends
        solver.set(random_seed=0, rlimit=budget, ctrl_c=False)
        solver.from_string(script.text)
        result = solver.check()
        if result == z3.sat:
            return "sat", ask("model values", solver.model(), script)
        reason = solver.reason_unknown() if result == z3.unknown else None
        return "failed" if reason in _OF_THE_MACHINE else str(result), reason
    except z3.Z3Exception as problem:
        return "failed", str(problem)
