"""Find the assumption that a refused step lacks.

A step about floats is often refused for the sake of a NaN or an infinity: 0.0 times infinity is NaN, and a maximum may
lose a NaN.  One about symbolic sizes is often refused for the sake of an empty loop: a sum of no terms is not even
initialised.  Whether one of these is all that is in the way is tried: the assumption is put in front of the program
(:mod:`axiom <verified_tir.kernel.rules.axiom>`), and the step is taken again.  So an assumption that is named is
enough.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Binary, Expr, Load, Var
from verified_tir.ir.float_bits import largest
from verified_tir.ir.script import script
from verified_tir.ir.stmt import Assume, For, Stmt, seq
from verified_tir.ir.sugar import all_of, const
from verified_tir.ir.visit import free_vars, nodes_of
from verified_tir.kernel.effects import written_blocks
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.obligation import Refusal, Unproved
from verified_tir.kernel.rules.axiom import Axiom
from verified_tir.kernel.theorem import Refines
from verified_tir.logic.names import has_floats
from verified_tir.schedule.session import Session, TacticFailed

Claim: TypeAlias = Callable[[Load], Expr]

MOST = 4
"""How many parameters are considered."""


def about_floats(refusal: Refusal) -> bool:
    """Whether something was refused for the values of floats."""
    return isinstance(refusal, Unproved) and has_floats(refusal.obligation.goal)


def about_sizes(refusal: Refusal, theorem: Refines) -> bool:
    """Whether something that has nothing to do with floats was refused in a program of unknown sizes."""
    return isinstance(refusal, Unproved) and not has_floats(refusal.obligation.goal) and bool(sizes_of(theorem))


def missing_size(theorem: Refines, prover: Prover, tactic: Callable[[Session], object]) -> str | None:
    """Which sizes must be at least 1 so that ``tactic`` succeeds, as a sentence; ``None`` if that does not help."""

    def enough(sizes: list[Var]) -> bool:
        return succeeds(theorem, prover, tactic, seq(*[Assume(v >= 1) for v in sizes]))

    needed = sizes_of(theorem)
    if not enough(needed):
        return None
    for v in list(needed):
        fewer = [w for w in needed if w is not v]
        if fewer and enough(fewer):
            needed = fewer
    return "it would be proved if the program began with " + " and ".join(f"T.assume({script(v >= 1)})" for v in needed)


def sizes_of(theorem: Refines) -> list[Var]:
    """The symbols in the shapes of parameters, a few of them."""
    found = [v for b in theorem.before.buffers for e in b.shape for v in free_vars(e)]
    return list(dict.fromkeys(found))[:MOST]


def succeeds(theorem: Refines, prover: Prover, tactic: Callable[[Session], object], assumed: Stmt) -> bool:
    """Whether the step can be taken in the program that begins with an assumption."""
    session = Session(theorem, prover)
    try:
        session.apply(Axiom(assumed))
        tactic(session)
    except TacticFailed:
        return False
    return True


def missing_assumption(theorem: Refines, prover: Prover, tactic: Callable[[Session], object]) -> str | None:
    """What must be assumed of the arguments so that ``tactic`` succeeds, as a sentence; ``None`` if nothing is found.

    First everything is assumed at once; only if that helps, what of it is needed is looked for.
    """

    def enough(buffers: tuple[Buffer, ...], claim: Claim) -> bool:
        return succeeds(theorem, prover, tactic, seq(*[_of_all(b, claim) for b in buffers]))

    inputs = _inputs(theorem)
    if not inputs or not enough(inputs, _is_finite):
        return None
    needed = next(((b,) for b in inputs if len(inputs) > 1 and enough((b,), _is_finite)), inputs)
    claim, why = (_is_number, "no NaN") if enough(needed, _is_number) else (_is_finite, "no NaN and no infinity")
    claims = " and ".join(f"T.assume({script(claim(_element(b)))})" for b in needed)
    names = ", ".join(b.name for b in needed)
    return f"it would be proved if the program began with {claims} for all elements ({names}: {why})"


def _inputs(theorem: Refines) -> tuple[Buffer, ...]:
    """The parameters of floats that are only read."""
    func = theorem.before
    read = {n.buffer.data for n in nodes_of(func.body, Load)} - written_blocks(func.body)
    return tuple(b for b in func.buffers if b.data in read and b.dtype.is_float and b.dtype.lanes == 1)[:MOST]


def _is_number(element: Load) -> Expr:
    return Binary("eq", element, element)


def _is_finite(element: Load) -> Expr:
    most = largest(element.dtype.scalar)
    return all_of([const(-most, element.dtype) <= element, element <= const(most, element.dtype)])


def _element(buffer: Buffer) -> Load:
    names = [f"i{k}" if len(buffer.shape) > 1 else "i" for k in range(len(buffer.shape))]
    return Load(buffer, tuple(Var.fresh(n, e.dtype) for n, e in zip(names, buffer.shape, strict=True)))


def _of_all(buffer: Buffer, claim: Claim) -> Stmt:
    """The assumption of every element of a buffer."""
    element = _element(buffer)
    stmt: Stmt = Assume(claim(element))
    for index, extent in reversed(list(zip(element.indices, buffer.shape, strict=True))):
        assert isinstance(index, Var)
        stmt = For(index, const(0, index.dtype), extent, stmt)
    return stmt
