"""Axiom: an assumption about the arguments is put in front of both programs.

    f ⊑ρ g        ⟶        (a; f) ⊑ρ (a∘φ; g)

Theorem.  Let ``a`` assume something and change nothing.  If ``a; f`` has no undefined behaviour on M, then a is true of
M, and f has none on M.  Let N be related to M by ρ.  At entry N holds at φ(x) what M holds at x, and φ(x) can be
evaluated wherever x is an element; so each load of a∘φ gives what the load of a gave, a∘φ is true of N, and it changes
nothing.  From there on f and g do what ``f ⊑ρ g`` says.

So nothing is owed for the theorem: it became weaker, by the user's word.  ``a`` is stated of the program as it was
written, whose parameters have no padding; what a reads of one that is written are the values at entry.  That a can be
evaluated on all arrays of definite values, where all that is assumed before it is true, is asked all the same, since a
program is not to lose its meaning that way.  That it mentions parameters only is well-formedness of the new program, at
the head of which nothing else is in scope.  Assumptions that leave no input at all are refused
(:func:`~verified_tir.kernel.entry.contradictory`).  The kinds of its loops mean nothing here, as everywhere (see
``same``); a∘φ of a vector's lanes is what ``relayout`` makes of it, where φ can be evaluated in masked lanes, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import final

from verified_tir import ir
from verified_tir.kernel.begin import begin
from verified_tir.kernel.effects import opaque_calls
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import Misfit
from verified_tir.kernel.refines import Statement
from verified_tir.kernel.region import instance
from verified_tir.kernel.rules.common import safe_questions
from verified_tir.kernel.rules.layout import LayoutMap, masked_lanes_safe
from verified_tir.kernel.step import Rewrite


@final
@dataclass(frozen=True, slots=True)
class Axiom:
    """Assume ``stmt`` of the arguments.

    :param stmt: ``T.assume`` under loops, conditions and lets, about the parameters of the program as it was written.
    """

    stmt: ir.Stmt

    def rewrite(self, before: ir.PrimFunc, entry: Entry) -> Rewrite:
        raise Misfit("an assumption about the arguments is made of both programs: it is a step of its own")

    def rewrite_both(self, theorem: Statement) -> Rewrite:
        """Both programs with the assumption in front; that of ``before`` stands behind the earlier ones."""
        if opaque_calls(self.stmt):
            raise Misfit("an assumption about the arguments cannot make an opaque call")
        for n in ir.nodes_of(self.stmt, ir.Stmt):
            if not isinstance(n, (ir.Assume, ir.If, ir.Seq, ir.LetStmt, ir.For, ir.Block)):
                raise Misfit(f"an assumption about the arguments cannot contain {type(n).__name__} statements")
        (written, _), (moved, _) = ir.refresh_binders(self.stmt), ir.refresh_binders(self.stmt)
        for m in theorem.relation:
            layout = LayoutMap(m.inputs, m.outputs, m.inverse_inputs, m.inverse, m.after.shape, ir.FALSE)
            moved = layout.move(moved, m.before, m.after)
        context = begin(theorem.start, Entry(definite=True))
        context.execute(ir.seq(*theorem.assumed))
        run = instance(context, written)
        owed = [s for _, s in run.safety if s.kind != "the assumption holds"]
        after = theorem.after.with_body(ir.seq(moved, theorem.after.body))
        there, new = begin(theorem.after, theorem.entry), {m.after for m in theorem.relation}
        questions = chain(
            safe_questions(run.context, owed, (), ()),
            *[masked_lanes_safe(there, moved, b, ()) for b in theorem.after.buffers if b in new],
        )
        return Rewrite(after, questions, assumed=written)
