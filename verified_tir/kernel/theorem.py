"""Construction of theorems: the only functions that make one.

:func:`reflexive` gives ``p ⊑ p``; :func:`apply` extends a theorem by one rule, whose program it computes and whose
obligations it has proved first; :func:`licensed` proves a theorem again for a program with a licence, and
:func:`without_licence` gives one up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from verified_tir import ir
from verified_tir.ir.outside import shown
from verified_tir.kernel import assumed
from verified_tir.kernel.begin import begin, shape_bounds
from verified_tir.kernel.context import NOT_EXPANDED
from verified_tir.kernel.effects import written_blocks
from verified_tir.kernel.entry import contradictory, prove_program
from verified_tir.kernel.exact import exact_prover, exact_rule
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import Misfit, NoMatch, Question, Refusal, Unproved, discharge
from verified_tir.kernel.refines import Refines, Statement, Step, _made, statement_of
from verified_tir.kernel.rules.axiom import Axiom
from verified_tir.kernel.rules.call import Refine
from verified_tir.kernel.step import Rewrite, Rule
from verified_tir.logic.verdict_store import how_asked
from verified_tir.semantics.encode import Unencodable

__all__ = ["Refines", "Rewrite", "Rule", "Step", "apply", "licensed", "reflexive", "without_licence"]


def reflexive(func: ir.PrimFunc, *, definite: bool = False) -> Refines:
    """``func ⊑ func``; with ``definite``, the first of a chain of theorems about arguments of definite values.

    Such theorems compose: a layout change keeps elements definite, and what it adds is declared.

    :raises Misfit: for a function that is not well-formed; each step of the rules is a step between such as are.
    """
    if type(func) is not ir.PrimFunc:
        raise TypeError(f"a theorem is about a PrimFunc, not about a {type(func).__name__}")
    if (ill_formed := ir.problem(func)) is not None:
        raise Misfit(f"there is no theorem about {func.name}: {ill_formed}")
    return _made(Statement(func, func, bool(definite)))


def apply(rule: Rule, theorem: Refines, prover: Prover) -> Refines | Refusal:
    """Extend a theorem by one rule, after proving every obligation of the rule.

    :raises TypeError: for what is not a theorem, or not a prover of the kernel's.
    """
    return _apply(rule, statement_of(theorem), exact_prover(prover))


def _apply(rule: Rule, theorem: Statement, prover: Prover, again: Step | None = None) -> Refines | Refusal:
    """:param again: what the rule gave when it was applied to the same program before: names of bound variables are
    taken from there."""
    place: ir.Path = ()
    try:
        rule = exact_rule(rule)
        place = getattr(rule, "path", ())
        made = rule.rewrite_both(theorem) if type(rule) is Axiom else rule.rewrite(theorem.after, theorem.entry)
        made = made if again is None else _same(made, again)
        _check(theorem, made)
        new = _extended(theorem, made)
        discharged, failed = discharge(prover, _questions(theorem, new, made))
        if failed is not None:
            return Unproved(*failed, new.after, new.paddings, made.moved, made.reassociated)
        if made.assumed is not ir.SKIP and contradictory(new.before, prover, Entry()):
            raise Misfit("with this, the assumptions contradict each other: no input satisfies them")
    except (Unencodable, ir.IRError) as refused:
        return NoMatch(place, str(refused))
    step = Step(rule, made.after, discharged, replace(made, questions=()))
    lemmas = rule.lemma.proved_by if type(rule) is Refine else ()
    asked = theorem.proved_by.union(lemmas, [how_asked()], ["kept verdicts"] if prover.solver.store.kept else [])
    return _made(replace(new, derivation=(*theorem.derivation, step), proved_by=asked))


def _check(theorem: Statement, made: Rewrite) -> None:
    """Check that a theorem can be about what a rule computed, as far as no proof is needed: that it is well-formed, for
    instance."""
    expanded = all(b.is_label for b in ir.nodes_of(made.after.body, ir.Block))
    ill_formed = ir.problem(made.after) if expanded else NOT_EXPANDED
    if ill_formed is not None:
        raise Misfit(f"there is no theorem about the result: {ill_formed}")
    # Parameters that are only read may coincide, and a written one may not: the new program would have less memories.
    # What counts is what the program stores itself; that is what is looked for at entry.
    was, now = written_blocks(theorem.after.body), written_blocks(made.after.body)
    for old, new in zip(theorem.after.buffers, made.after.buffers, strict=True):
        if new.data in now and old.data not in was and len(made.after.buffers) > 1:
            raise Misfit(f"{new.name} would be written, which was only read: then no other argument may share it")
    if not made.reassociated <= theorem.licensed:
        raise Misfit("floats are summed in another order without a licence")


def _same(made: Rewrite, again: Step) -> Rewrite:
    """What a rule computes, if it computed the same before: with the names that it gave then."""
    if not ir.structural_equal(made.after, again.after):
        raise Misfit("the rule does not give the program that it gave before")
    return replace(again.made, questions=made.questions, reassociated=made.reassociated)


def _extended(theorem: Statement, made: Rewrite) -> Statement:
    """The statement of the theorem after a step, without its derivation."""
    assumed = () if made.assumed is ir.SKIP else (made.assumed,)
    relation, paddings = theorem.relation, theorem.paddings
    if made.moved is not None:
        relation, paddings = (*relation, made.moved), made.moved.declared(paddings)
    return replace(
        theorem, assumed=(*theorem.assumed, *assumed), after=made.after, relation=relation,
        paddings=paddings, licences=_inherited(theorem.licences, made),
        reassociated=theorem.reassociated.union(*(theorem.licences[b] for b in made.reassociated)),
    )  # fmt: skip


def _inherited(licences: Mapping[ir.Var, frozenset[ir.Var]], made: Rewrite) -> dict[ir.Var, frozenset[ir.Var]]:
    """The licensed blocks after a step: a new one is if all that it stands for are."""
    found = dict(licences)
    for new in dict.fromkeys(new for new, _ in made.heirs):
        olds = [old for n, old in made.heirs if n is new]
        if all(old in licences for old in olds):
            found[new] = frozenset().union(*(licences[old] for old in olds))
        else:  # it may be one of them (see ``merge_allocations``)
            found.pop(new, None)
    return found


def _questions(theorem: Statement, new: Statement, made: Rewrite) -> Iterator[Question]:
    """The questions of a rule; and, for a layout in the middle, which no call checks, whether it is one of an array."""
    yield from made.questions
    if made.moved is not None and made.moved.before not in theorem.start.buffers:
        b, context = made.moved.before, begin(new.after, new.entry)
        claim = f"the layout that {b.name} had is that of an array: its extents and their product are not too large"
        for bound in shape_bounds(context, b):
            yield Question("layout", claim, context, (), bound, (), "after")


# -- licences to reassociate -------------------------------------------------------------------------------------------


def licensed(theorem: Refines, blocks: frozenset[ir.Var], prover: Prover) -> Refines | tuple[int, Refusal]:
    """The theorem with a licence to sum floats into ``blocks``, of its first program, in any order.

    Every step is proved again, whatever the bits of these blocks are.  Gives the number of the first step that needs
    them, and why, if one does (-1: the program as it was written).
    """
    said, prover = statement_of(theorem), exact_prover(prover)
    start = said.start
    own = {b.data for b in (*start.buffers, *(n.buffer for n in ir.nodes_of(start.body, ir.Allocate)))}
    if type(blocks) is not frozenset or any(type(b) is not ir.Var for b in blocks) or not blocks <= own:
        raise TypeError("a licence is about blocks of the program that the theorem begins with")
    relied = assumed.of_results(start)
    if relied is not None:
        return -1, NoMatch((), shown(("T.assume(", relied, ") may be false of a sum in another order")))
    checked = prove_program(start, prover, Entry(licensed=blocks))
    if not isinstance(checked, tuple):
        return -1, checked
    now = Statement(start, start, said.definite, licences={b: frozenset({b}) for b in blocks})
    for k, step in enumerate(said.derivation):
        rule = step.rule
        if type(rule) is Refine:
            needed = rule.parameters_of(now.licensed) - rule.lemma.licensed
            lemma = licensed(rule.lemma, needed | rule.lemma.licensed, prover) if needed else rule.lemma
            if isinstance(lemma, tuple):
                return k, lemma[1]
            rule = replace(rule, lemma=lemma)
        made = _apply(rule, now, prover, step)
        if not isinstance(made, Refines):
            return k, made
        now = statement_of(made)
    return _made(now)


def without_licence(theorem: Refines) -> Refines:
    """The theorem with its licences given up: what was reassociated remains so, and nothing more may be."""
    return _made(replace(statement_of(theorem), licences={}))
