"""Safety of the program that a theorem begins with: proved before the first step.

Before the first step the program itself is put to the proof: every access is in bounds, no index arithmetic overflows,
nothing divides by zero, no branch depends on undef (the arguments being arrays of definite values), every ``assume``
that is not an axiom holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from verified_tir import ir
from verified_tir.kernel.begin import begin
from verified_tir.kernel.exact import exact_prover
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import NoMatch, Question, Unproved, discharge
from verified_tir.kernel.region import evaluation
from verified_tir.kernel.rules.common import safe_questions
from verified_tir.logic.verdict import Discharged
from verified_tir.semantics.encode import Unencodable


def program_questions(func: ir.PrimFunc, entry: Entry) -> Iterator[Question]:
    """The questions whether every evaluation of a program is safe on arrays of definite values."""
    context = begin(func, replace(entry, definite=True))
    for path, stmt, here in context.places(func.body):
        run = evaluation(here, stmt)
        kept = [s for _, s in run.safety if s.kind != "the assumption holds"]
        yield from safe_questions(run.context, kept, (), path, "before")


def contradictory(func: ir.PrimFunc, prover: Prover, entry: Entry) -> bool:
    """Whether no input satisfies the assumptions of the function: then every claim about it would be true."""
    context = begin(func, Entry(entry.paddings, definite=True, shapes=entry.shapes))
    context.execute(func.body)
    facts = prover.known(context, tuple(context.path)).look_up(tuple(context.path))
    return prover.solver.contradictory((*context.path, *facts))


def prove_program(func: ir.PrimFunc, prover: Prover, entry: Entry) -> tuple[Discharged, ...] | NoMatch | Unproved:
    """Prove that the program is safe: the obligations that were discharged, or the first that could not be."""
    exact_prover(prover)
    if type(func) is not ir.PrimFunc:
        raise TypeError(f"a program is a PrimFunc, not a {type(func).__name__}")
    ill_formed = ir.problem(func)
    if ill_formed is not None:
        return NoMatch((), ill_formed)
    try:
        done, failed = discharge(prover, program_questions(func, entry))
        if failed is not None:
            return Unproved(*failed, func)
        if contradictory(func, prover, entry):
            return NoMatch((), "its assumptions contradict each other: no input satisfies them")
    except (Unencodable, ir.IRError) as refused:
        return NoMatch((), str(refused))
    return done
