"""An assumption about the arguments, in front of both programs.

    f ⊑ρ g        ⟶        (a; f) ⊑ρ (a∘φ; g)

Theorem.  Let ``a`` assume something and change nothing.  If ``a; f`` has no undefined behaviour on M, then a is true of
M, and f has none on M.  Let N be related to M by ρ.  At entry N holds at φ(x) what M holds at x, and φ(x) can be
evaluated wherever x is an element; so each load of a∘φ gives what the load of a gave, a∘φ is true of N, and it changes
nothing.  From there on f and g do what ``f ⊑ρ g`` says.

So nothing is owed for the theorem: it became weaker, by the user's word.  ``a`` is stated of the program as it was
written, whose parameters have no padding; what a reads of one that is written are the values at entry.  That a can be
evaluated on all arrays of definite values is asked all the same, since a program is not to lose its meaning that way.
Assumptions that leave no input at all are refused (:func:`~verified_tir.kernel.entry.contradictory`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from verified_tir.ir.calls import is_pure
from verified_tir.ir.expr import Call, Expr, Load
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import SKIP, Assume, Block, For, If, LetStmt, Seq, Stmt, seq
from verified_tir.ir.visit import refresh_binders, rewrite, substitute, walk
from verified_tir.kernel.begin import begin
from verified_tir.kernel.context import Context
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import Misfit, ParameterMap, Question
from verified_tir.kernel.refines import Refines
from verified_tir.kernel.region import instance
from verified_tir.kernel.rules.common import check_scope, safe_questions
from verified_tir.kernel.step import Rewrite


@final
@dataclass(frozen=True, slots=True)
class Axiom:
    """Assume ``stmt`` of the arguments.

    :param stmt: ``T.assume`` under loops, conditions and lets, about the parameters of the program as it was written.
    """

    stmt: Stmt

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite:
        del before, entry
        raise Misfit("an assumption about the arguments is made of both programs: it is a step of its own")

    def rewrite_both(self, theorem: Refines) -> Rewrite:
        """Both programs with the assumption in front; that of ``before`` stands behind the earlier ones."""
        earlier = axioms(theorem)
        written, _ = refresh_binders(self.stmt)
        context = begin(theorem.before, Entry(inputs_defined=True))
        problem = _problem(theorem.before, written)
        if problem is not None:
            raise Misfit(problem)
        check_scope(context, written)
        moved = translated(refresh_binders(self.stmt)[0], theorem.relation)
        try:
            check_scope(begin(theorem.after, theorem.entry), moved)
        except Misfit as lost:
            raise Misfit(f"{lost}, since the parameters are others now: assume this before they change") from None
        rest = without_axioms(theorem)
        first = theorem.before.with_body(seq(*earlier, written, rest))
        after = theorem.after.with_body(seq(moved, theorem.after.body))
        alone = isinstance(moved, Seq) or theorem.after.body is SKIP
        context.execute(seq(*earlier))
        return Rewrite(after, _evaluated(context, written, () if alone else (0,)), before=first)


def axioms(theorem: Refines) -> tuple[Stmt, ...]:
    """What was put in front of the program as it was written, in order."""
    count = sum(_length(step.rule.stmt) for step in theorem.derivation if isinstance(step.rule, Axiom))
    return _statements(theorem.before.body)[:count]


def without_axioms(theorem: Refines) -> Stmt:
    """The body of the program as it was written."""
    return seq(*_statements(theorem.before.body)[len(axioms(theorem)) :])


def translated(stmt: Stmt, relation: tuple[ParameterMap, ...]) -> Stmt:
    """``a∘φ``: each load of x becomes the load of φ(x), through all layout changes in their order."""
    for m in relation:

        def moved(n: object, m: ParameterMap = m) -> Load | None:
            if not (isinstance(n, Load) and n.buffer is m.before):
                return None
            at = dict(zip(m.inputs, n.indices, strict=True))
            return Load(m.after, tuple(substitute(e, at) for e in m.outputs))

        stmt = rewrite(stmt, moved)
    return stmt


def _statements(body: Stmt) -> tuple[Stmt, ...]:
    return body.stmts if isinstance(body, Seq) else (body,)


def _length(stmt: Stmt) -> int:
    return len(_statements(seq(stmt)))


def _evaluated(context: Context, stmt: Stmt, path: tuple[int, ...]) -> Iterator[Question]:
    """What is assumed can be evaluated: on definite values, and where all that is assumed before it is true."""
    run = instance(context, stmt, share_loads=True, with_safety=True)
    for place, safety in run.safety:
        if safety.kind != "the assumption holds":
            yield from safe_questions(run.context, (safety,), (), (*path, *place))


def _problem(func: PrimFunc, stmt: Stmt) -> str | None:
    """Why the statement is no assumption about the arguments."""
    buffers = set(func.buffers)
    if not any(isinstance(n, Assume) for n in walk(stmt)):
        return "nothing is assumed"
    for n in walk(stmt):
        match n:
            case Assume() | If() | Seq() | LetStmt() | Block(is_label=True):
                pass
            case For(kind=kind):
                if kind != "serial":
                    return "the loops of an assumption are serial"
            case Stmt():
                return f"an assumption about the arguments has no {type(n).__name__}"
            case Load(buffer=b) if b not in buffers:
                return f"{b.name} is no parameter of the program as it was written"
            case Call(op=op) if not is_pure(op):
                return f"{op} is an opaque call, which an assumption cannot make"
            case Expr() if n.dtype.lanes > 1:
                return "an assumption about the arguments is made element by element, not of vectors"
    return None
