"""Rules of the kernel without tactics: what is accepted, tried on small inputs."""

from __future__ import annotations

from typing import Final

from tests.rules.cases import RuleCase
from tests.rules.family import Chain, name_of, prover_for, taken
from tests.rules.inputs import Input, inputs_of
from verified_tir.fuzz.target import Disagreement, Observed
from verified_tir.ir import wellformed
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import script
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.obligation import NoMatch
from verified_tir.kernel.theorem import Refines, reflexive
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict import Unknown
from verified_tir.semantics.interpreter import StepLimit, UndefinedBehaviour
from verified_tir.testing.reference import Claim, End, Given, disagreement, ended

STEPS: Final = 400


def examine(case: RuleCase, observed: Observed, solver: Solver) -> None:
    """Try each chain of a case.

    :raises Disagreement: if one is accepted and changes something.
    """
    observed.count("programs")
    observed.count("rule programs")
    trial = _Trial(case.func, inputs_of(case.func, case.sizes), prover_for(solver))
    for chain in case.chains:
        trial.apply(chain, observed)


class _Trial:
    """One program; how it ends on the inputs is found once."""

    def __init__(self, func: PrimFunc, inputs: list[Input], prover: Prover) -> None:
        self.func, self.inputs, self.prover = func, inputs, prover
        self.ends: list[End] | None = None

    def apply(self, chain: Chain, observed: Observed) -> None:
        theorem = reflexive(self.func)
        for step in chain:
            observed.count("rules tried")
            result = taken(step, theorem, self.prover)
            if isinstance(result, NoMatch):
                return
            if not isinstance(result, Refines):
                observed.count("refused")
                observed.count("undecided" if isinstance(result.verdict, Unknown) else "rules refused")
                return
            theorem = result
            observed.count("accepted")
            observed.count("rules accepted")
            observed.cover("rule", name_of(step))
        self.tried(theorem, chain)

    def tried(self, theorem: Refines, chain: Chain) -> None:
        """:raises Disagreement: if the interpreter contradicts the theorem."""
        problem = wellformed.problem(theorem.after)
        if problem is not None:
            raise Disagreement("ill-formed", name_of(chain[-1]), self.described(theorem, problem))
        if self.ends is None:
            self.ends = [ended(self.func, Given(i.args, i.defined, {}), steps=STEPS) for i in self.inputs]
        claim = Claim.of(theorem)
        for given, end in zip(self.inputs, self.ends, strict=True):
            if isinstance(end, (UndefinedBehaviour, StepLimit)):
                continue
            found = disagreement(claim, given.args, defined=given.defined, first=end)
            if found is not None:
                shown = ", ".join(f"{k} = {v.tolist() if hasattr(v, 'tolist') else v}" for k, v in given.args.items())
                partly = ", ".join(f"{k} defined {v.tolist()}" for k, v in given.defined.items())
                where = name_of(chain[-1])
                raise Disagreement("rule-unsound", where, self.described(theorem, f"{found}\non {shown} {partly}"))

    def described(self, theorem: Refines, problem: str) -> str:
        """A disagreement with its programs."""
        rules = "\n".join(str(step.rule) for step in theorem.derivation)
        return f"{problem}\n{script(self.func)}\n--->\n{script(theorem.after)}\n{rules}"
