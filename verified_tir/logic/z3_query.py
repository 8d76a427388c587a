"""Z3 itself: one query in SMT-LIB text, one answer.

In any of the settings ``unsat`` is Z3's answer to the text.  Work is bounded by Z3's resource counter and not by time,
so the machine does not matter.  What was asked before must not matter either; but in a context with a history terms
have another order, and so searches take other ways, and find other models.  So there are contexts of their own, with
fixed seeds, and one in which queries are asked one after the other, each in a scope that ends with it: there it takes a
third of the time.  In which setting a text is asked is chosen outside (``settings``).
"""

from __future__ import annotations

from typing import Any, Final

import z3

SHARED: Final = "shared"
"""The setting in which queries are asked one after the other in one context."""


def check(text: str, setting: str, budget: int, shared: dict[int, Any]) -> tuple[str, Any]:
    """Z3's answer: ``unsat``, ``sat`` or ``unknown``, with the solver if its context was a fresh one; or ``failed``
    with what Z3 said, where it came to no end (a text that it cannot read, no memory).

    :param shared: the solvers that were asked many questions, by the budgets that they have.
    """
    try:
        z3.reset_params()  # an option that an earlier text has set would be one for this text, too
        if setting == SHARED:
            if budget not in shared:
                shared[budget] = fresh("SimpleSolver", budget)
            return _in_scope(shared[budget], text), None
        solver = fresh(setting, budget)
        solver.from_string(text)
        return str(solver.check()), solver
    except z3.Z3Exception as problem:
        return "failed", str(problem)


def fresh(setting: str, budget: int) -> Any:
    """A solver in a context of its own; ``setting`` is a class of solvers, or the logic of one."""
    known = {"Solver": z3.Solver, "SimpleSolver": z3.SimpleSolver}
    context = z3.Context()
    solver = known[setting](ctx=context) if setting in known else z3.SolverFor(setting, ctx=context)
    # an interrupt is Python's, not an "unknown"; it comes when the query ends
    solver.set(random_seed=0, rlimit=budget, ctrl_c=False)
    return solver


def _in_scope(solver: Any, text: str) -> str:
    """What a solver says of a text that it is asked about in a scope."""
    core, context = z3.z3core, solver.ctx.ref()
    solver.push()
    try:
        parts = z3.parse_smt2_string(text, ctx=solver.ctx)
        for k in range(len(parts)):  # ``solver.add(parts)``, without an object of Python's for each part
            core.Z3_solver_assert(context, solver.solver, core.Z3_ast_vector_get(context, parts.vector, k))
        return str(solver.check())
    finally:
        solver.pop()
