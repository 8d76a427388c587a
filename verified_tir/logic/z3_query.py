"""Z3 itself: one query in SMT-LIB text, one answer.

An answer is a function of the query's text, the budget and the solver's version.  Work is bounded by Z3's resource
counter and not by time, so the machine does not matter.  What was asked before must not matter either; but in a context
with a history terms have another order, and so searches take other ways, and find other models.  Therefore a context of
its own, with fixed seeds, decides each query.

For a query about integers that costs thrice what it costs in a context that is there already.  It is asked there first,
with a small part of the budget, and what is found is believed: the fresh context could do no more than fail to find it
with thirty times the work.  The values of a refutation come from a fresh context alone, once somebody looks at them.

A question about floats is first tried at special values (``witness``): most false claims are false there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias, final

from verified_tir.ir.outside import ask
from verified_tir.logic.smtlib import Script

INTEGER_BUDGET = 3_000_000
FLOAT_BUDGET = 30_000_000
SHARED_PART = 30  # of the budget, one part is for the shared context; proofs about programs take a hundredth at most


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


@cache
def _z3() -> Any:
    """The solver's module, which takes a while to load."""
    import z3

    return z3


@final
@dataclass(slots=True)
class Z3:
    """A session with Z3."""

    _shared: tuple[Any, int] | None = field(init=False, default=None)
    """The context in which many questions were asked, and the budget that it has."""

    def check(self, script: Script, limit: int) -> Answer:
        """The answer to a query; ``limit`` is the budget of one about integers."""
        z3 = _z3()
        if script.has_float and (values := ask("values", script, limit)) is not None:
            return "sat", values
        # A question that mixes floats and integers seldom ends when it does not end soon.
        budget = limit * (FLOAT_BUDGET // INTEGER_BUDGET) if script.only_floats else limit
        if script.only_floats:
            return run(z3, lambda context: z3.SolverFor("QF_FP", ctx=context), script, budget)
        if script.has_float:  # bit-blasting floats incrementally is ten times slower
            return run(z3, lambda context: z3.Solver(ctx=context), script, budget)
        shared = self._in_shared_context(script, max(1, budget // SHARED_PART))
        if shared == z3.unsat:
            return "unsat", None
        if shared == z3.sat:
            return NO_VALUES
        return self.check_afresh(script, budget)

    def check_afresh(self, script: Script, budget: int) -> Answer:
        """The answer to a question about integers in a context of its own."""
        z3 = _z3()
        answer = run(z3, lambda context: z3.SimpleSolver(ctx=context), script, budget)
        if answer[0] not in ("unsat", "sat"):  # this one is fast; the other one, which looks for a tactic, knows more
            answer = run(z3, lambda context: z3.Solver(ctx=context), script, budget)
        return answer

    def _in_shared_context(self, script: Script, budget: int) -> Any:
        """Z3's result where many questions were asked before; ``unknown`` there says nothing."""
        z3 = _z3()
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
            return shared.check()
        except z3.Z3Exception:
            return z3.unknown
        finally:
            shared.pop()


def run(z3: Any, make: Callable[[Any], Any], script: Script, budget: int) -> Answer:
    """Ask in a fresh context: ``unsat``, ``sat`` with values, ``unknown`` or ``failed`` with the reason."""
    try:
        solver = make(z3.Context())
        # an interrupt is Python's, not an "unknown"; it comes when the query ends
        solver.set(random_seed=0, rlimit=budget, ctrl_c=False)
        solver.from_string(script.text)
        result = solver.check()
        if result == z3.unsat:
            return "unsat", None
        if result == z3.sat:
            return "sat", ask("model values", solver.model(), script)
        reason = solver.reason_unknown()
        return "failed" if reason in _OF_THE_MACHINE else "unknown", reason
    except z3.Z3Exception as problem:
        return "failed", str(problem)
