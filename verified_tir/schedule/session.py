"""The thread from a schedule to the kernel: applying rules, keeping the theorem and the record.

Tactics are untrusted.  They see a :class:`Session`, look at the current program, and ask for rules; what they return is
handles.  Whatever they get wrong ends in a refusal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path, loop_path, places
from verified_tir.ir.stmt import For, Stmt
from verified_tir.kernel.context import Context, context_at
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.obligation import NoMatch, Refusal
from verified_tir.kernel.theorem import Refines, Rule, apply
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict import Proved


class TacticFailed(Exception):
    """A tactic cannot go on: the kernel refused, or the tactic found nothing to do.  The façade turns it into a
    report."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal


def fail(reason: str, path: Path = ()) -> TacticFailed:
    """A refusal by the tactic itself."""
    return TacticFailed(NoMatch(path, reason))


@final
@dataclass(slots=True)
class Session:
    """The current theorem and the means to extend it."""

    theorem: Refines
    prover: Prover
    renamed: dict[Var, Var] = field(default_factory=dict)
    """Loops that a step rebuilt: old variable to new one, so that handles stay good."""

    @property
    def func(self) -> PrimFunc:
        """The program as it is now."""
        return self.theorem.after

    @property
    def solver(self) -> Solver:
        return self.prover.solver

    def apply(self, rule: Rule) -> None:
        """Take one step.

        :raises TacticFailed: if the kernel refuses; the theorem is then unchanged.
        """
        result = apply(rule, self.theorem, self.prover)
        if isinstance(result, Refines):
            self.theorem = result
        else:
            raise TacticFailed(result)

    def attempt(self, *rules: Rule) -> bool:
        """Take the steps if the kernel allows them all."""
        before = self.theorem
        try:
            for rule in rules:
                self.apply(rule)
        except TacticFailed:
            self.theorem = before
            return False
        return True

    # -- looking at the program ------------------------------------------------------------------------------------

    def context(self, path: Path) -> Context:
        return context_at(self.func, path, self.theorem.entry)

    def current(self, var: Var) -> Var:
        """The variable that a handle stands for now."""
        while var in self.renamed:
            var = self.renamed[var]
        return var

    def loop(self, handle: Var | str) -> tuple[Path, For]:
        """The loop that a handle or a name means.

        :raises TacticFailed: if there is none, or several of that name.
        """
        if isinstance(handle, str):
            found = list(places(self.func.body, lambda s: isinstance(s, For) and s.var.name == handle))
            if len(found) != 1:
                names = list(dict.fromkeys(s.var.name for _, s in places(self.func.body, lambda s: isinstance(s, For))
                                           if isinstance(s, For)))  # fmt: skip
                what = "there is no loop" if not found else f"there are {len(found)} loops"
                raise fail(f"{what} called {handle!r}; the loops are {', '.join(names)}")
            path, stmt = found[0]
        else:
            place = loop_path(self.func, self.current(handle))
            if place is None:
                raise fail(f"the loop over {handle.name} is no longer there")
            path, stmt = place, self.stmt(place)
        assert isinstance(stmt, For)
        return path, stmt

    def stmt(self, path: Path) -> Stmt:
        from verified_tir.ir.paths import at

        return at(self.func.body, path)

    def knows(self, path: Path, condition: Expr) -> bool:
        """Whether a condition is provably true at a place (a tactic's question; nothing rests on the answer)."""
        context = self.context(path)
        encoded = context.encoder().encode(condition)
        verdict, _ = self.prover.prove(context, (encoded.defined,), encoded.value)
        return isinstance(verdict, Proved)
