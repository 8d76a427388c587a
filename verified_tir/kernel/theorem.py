"""The only way to a theorem.

:func:`reflexive` gives ``p ⊑ p``; :func:`apply` extends a theorem by one rule, whose program it computes and whose
obligations it has proved first; :func:`licensed` proves a theorem again for a program with a licence, and
:func:`without_licence` gives one up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Allocate
from verified_tir.ir.visit import walk
from verified_tir.kernel import admissible, assumed
from verified_tir.kernel.begin import begin, shape_bounds
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import written_blocks
from verified_tir.kernel.entry import contradictory, prove_program
from verified_tir.kernel.exact import Inexact, exact_prover, exact_rule
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.memory import Entry, Padding
from verified_tir.kernel.obligation import NoMatch, Question, Refusal, Unproved, discharge_all
from verified_tir.kernel.refines import Refines, Statement, Step, _made, statement_of
from verified_tir.kernel.rules.axiom import Axiom
from verified_tir.kernel.rules.call import Refine
from verified_tir.kernel.step import Rewrite, Rule
from verified_tir.logic.verdict import in_words
from verified_tir.logic.verdict_store import VerdictStore
from verified_tir.logic.z3_query import version
from verified_tir.semantics.encode import Unencodable

__all__ = ["Refines", "Rewrite", "Rule", "Step", "apply", "licensed", "reflexive", "without_licence"]


def reflexive(func: PrimFunc, *, definite: bool = False) -> Refines:
    """``func ⊑ func``; with ``definite``, the first of a chain of theorems about arguments of definite values.

    Such theorems compose: a layout change keeps elements definite, and what it adds is declared.
    """
    if type(func) is not PrimFunc:
        raise TypeError(f"a theorem is about a PrimFunc, not about a {type(func).__name__}")
    return _made(Statement(func, func, func, definite=bool(definite)))


def apply(rule: Rule, theorem: Refines, prover: Prover) -> Refines | Refusal:
    """Extend a theorem by one rule, after proving every obligation of the rule.

    :raises TypeError: for what is not a theorem, or not a prover of the kernel's.
    """
    return _apply(rule, statement_of(theorem), exact_prover(prover), None)


def _apply(rule: Rule, theorem: Statement, prover: Prover, again: Step | None) -> Refines | Refusal:
    """:param again: what the rule gave when it was applied to the same program before: the result, names of bound
    variables included."""
    entry = theorem.entry
    stored = prover.solver.statistics.stored
    place: Path = ()
    try:
        rule = exact_rule(rule)
        place = getattr(rule, "path", ())
        rewrite = rule.rewrite_both(_made(theorem)) if type(rule) is Axiom else rule.rewrite(theorem.after, entry)
        problem = _problem(theorem, rewrite, entry)
        if problem is not None:
            return NoMatch((), problem)
        paddings = _renamed(theorem.paddings, rewrite)
        discharged, failed = discharge_all(prover, _questions(theorem, rewrite, paddings))
        if failed is not None:
            return Unproved(*failed, rewrite.after, paddings, rewrite.maps, rewrite.reassociated)
        if rewrite.before is not None and contradictory(rewrite.before, prover, Entry()):
            return NoMatch((), "with this, what is assumed of the arguments contradicts itself: no input is left")
        made = replace(rewrite, questions=()) if again is None else _same(rewrite, again)
    except (Unencodable, IRError, Inexact) as refused:
        return NoMatch(place, str(refused))
    step = Step(rule, made.after, discharged, made)
    kept = prover.solver.statistics.stored > stored and type(prover.solver.store) is VerdictStore
    asked = {f"z3 {version()}", *(["kept verdicts"] if kept else [])}
    return _made(replace(
        theorem, before=made.before or theorem.before, after=made.after, relation=(*theorem.relation, *made.maps),
        paddings=_renamed(theorem.paddings, made), derivation=(*theorem.derivation, step),
        licences=_inherited(theorem.licences, made), proved_by=theorem.proved_by | asked,
        reassociated=theorem.reassociated.union(*(theorem.licences[b] for b in made.reassociated)),
    ))  # fmt: skip


def _problem(theorem: Statement, rewrite: Rewrite, entry: Entry) -> str | None:
    """Why no theorem is about what a rule computed, as far as no proof is needed."""
    inadmissible = admissible.problem(rewrite.after)
    if inadmissible is not None:
        return f"no theorem is about the result: {inadmissible}"
    written = _newly_written(theorem.after, rewrite.after)
    if written is not None:
        return f"{written} would be written, which was only read: then no other argument may share it"
    if not rewrite.reassociated <= entry.licensed:
        return "floats are summed in another order without a licence"
    return None


def _same(rewrite: Rewrite, again: Step) -> Rewrite:
    """What a rule computed before, if it computes the same now."""
    if not structural_equal(rewrite.after, again.made.after):
        raise IRError("the rule does not give the program that it gave before")
    return replace(again.made, reassociated=rewrite.reassociated)


def _inherited(licences: Mapping[Var, frozenset[Var]], rewrite: Rewrite) -> dict[Var, frozenset[Var]]:
    """The licensed blocks after a step: a new one is if all that it stands for are."""
    found = dict(licences)
    for new in dict.fromkeys(new for new, _ in rewrite.heirs):
        olds = [old for n, old in rewrite.heirs if n is new]
        if all(old in licences for old in olds):
            found[new] = frozenset().union(*(licences[old] for old in olds))
    return found


def _newly_written(before: PrimFunc, after: PrimFunc) -> str | None:
    """A parameter that only the second program writes.

    Parameters that are only read may coincide, and a written one may not; so the second would have less memories.  What
    counts is what the program stores itself: that is what is looked for at entry.
    """
    if len(before.buffers) == 1:
        return None
    old, new = written_blocks(before.body), written_blocks(after.body)
    pairs = zip(before.buffers, after.buffers, strict=False)
    return next((b.name for a, b in pairs if b.data in new and a.data not in old), None)


def _renamed(paddings: tuple[Padding, ...], rewrite: Rewrite) -> tuple[Padding, ...]:
    kept = tuple(p for p in paddings if p.buffer not in rewrite.rename)
    return (*kept, *(p for m in rewrite.maps for p in m.paddings))


def _questions(theorem: Statement, rewrite: Rewrite, paddings: tuple[Padding, ...]) -> Iterable[Question]:
    yield from rewrite.questions
    entry = theorem.entry_of(paddings, _inherited(theorem.licences, rewrite))
    for m in rewrite.maps:
        if m.before not in theorem.start.buffers:
            yield from _was_an_array(begin(rewrite.after, entry), m.before)


def _was_an_array(context: Context, buffer: Buffer) -> Iterable[Question]:
    """A layout in the middle had the extents of an array: that is not checked at a call, so it is owed."""
    claim = f"the layout that {buffer.name} had is that of an array: its extents and their product are not too large"
    for bound in shape_bounds(context, buffer):
        yield Question("layout", claim, context, (), bound, (), "after")


# -- licences to reassociate -------------------------------------------------------------------------------------------


def licensed(theorem: Refines, blocks: frozenset[Var], prover: Prover) -> Refines | tuple[int, Refusal]:
    """The theorem with a licence to sum floats into ``blocks``, of its first program, in any order.

    Every step is proved again, whatever the bits of these blocks are.  Gives the number of the first step that needs
    them, and why, if one does (-1: the program as it was written).
    """
    said, prover = statement_of(theorem), exact_prover(prover)
    start = said.start
    mine = {b.data for b in (*start.buffers, *_allocated(start))}
    if not blocks <= mine:
        raise TypeError("a licence is about blocks of the program that the theorem begins with")
    relied = assumed.of_results(start)
    if relied is not None:
        return -1, NoMatch((), in_words(("T.assume(", relied, ") may be false of a sum in another order")))
    checked = prove_program(start, prover, Entry(licensed=blocks))
    if not isinstance(checked, tuple):
        return -1, checked
    now = Statement(start, start, start, said.definite, licences={b: frozenset({b}) for b in blocks})
    for k, step in enumerate(said.derivation):
        rule = step.rule
        if type(rule) is Refine:
            needed = rule.parameters_of(frozenset(now.licences)) - rule.lemma.licensed
            lemma = licensed(rule.lemma, needed | rule.lemma.licensed, prover) if needed else rule.lemma
            if isinstance(lemma, tuple):
                return k, lemma[1]
            rule = replace(rule, lemma=lemma)
        made = _apply(rule, now, prover, step)
        if not isinstance(made, Refines):
            return k, made
        now = statement_of(made)
    relied = assumed.of_results(now.after)
    if relied is not None:
        return -1, NoMatch((), in_words(("T.assume(", relied, ") may be false of a sum in another order")))
    return _made(now)


def without_licence(theorem: Refines) -> Refines:
    """The theorem with its licences given up: what was reassociated remains so, and nothing more may be."""
    return _made(replace(statement_of(theorem), licences={}))


def _allocated(func: PrimFunc) -> list[Buffer]:
    return [n.buffer for n in walk(func.body) if isinstance(n, Allocate)]
