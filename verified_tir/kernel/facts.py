"""Facts about what memory holds at a place of a program, and the only rules by which they are derived.

A question mentions loads; each is an element of some version of a block.  :class:`Known` holds formulas about such
elements that are true wherever its premises are, at its place.  A formula gets in by one of these rules only:

* *event*: the block was allocated (undefined), came in (declared padding), or one element was stored (that value there,
  the older version elsewhere);
* *frame*: a statement ran, or some iterations of it, that may have written the block; where none of its stores wrote
  the element, it is as it was (``reaching_definitions``);
* *reaching definition*: what the last of its stores to the element wrote (``reaching_definitions``);
* *invariant*: what held before it, or since one of its stores, and is kept by every store (``induction``); that a
  block is initialised (all its elements are defined) is one;
* *instance*: what every instance of a statement that has ended found true, of one instance (:meth:`Known.instantiate`).

Which of them is tried for which element, with which property and in which order is search, which has no place here:
whoever searches (``logic.guess``) calls these methods, and gets nothing in otherwise.  He may not ask about memory that
a run which gets to the place has not been through (``Context.seen``): that a statement which did not run was safe is
no fact.  What he hands back is a choice among the formulas that are here.

The element is *rigid*: its address is a term of the question, the same throughout.  Every lemma used on the way is
itself an obligation, proved and recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from verified_tir import ir
from verified_tir.ir.outside import ask
from verified_tir.kernel.access import Instance, equal
from verified_tir.kernel.begin import entered
from verified_tir.kernel.context import Context
from verified_tir.kernel.induction import Invariant, Supposed, kept, speaks_of_one_element, state, uninitialised
from verified_tir.kernel.memory import Allocated, Element, Entered, Ran, Stored, Version
from verified_tir.kernel.reaching_definitions import Run, frame, ran, reaching_definition
from verified_tir.kernel.region import instance
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.logic.guess import values_of
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict import Discharged, Obligation, Proved, Unknown, Verdict
from verified_tir.semantics.encode import in_range


@final
@dataclass(slots=True)
class Prover:
    """Answers questions at a place, with the facts about memory that they need."""

    solver: Solver
    lemmas: list[Discharged] = field(init=False, default_factory=list)
    hasty: bool = False
    """Questions about floats that no lemma decides are left undecided, which saves much time where they are many."""
    _known: dict[tuple[Term, ...], Known] = field(init=False, default_factory=dict)
    """What is known at the place that was asked about last, by premises."""
    _place: tuple[Context | None, int] = field(init=False, default=(None, 0))

    def prove(self, context: Context, given: tuple[Term, ...], goal: Term) -> tuple[Verdict, tuple[Term, ...]]:
        """The verdict, and the givens (facts included) under which it was reached.

        With which facts it is tried, and how hard, is search (``search.facts.attempts``).
        """
        base = used = context.usable(*context.path, *given)
        known = self.known(context, base)
        verdict: Verdict = Unknown("nobody searches for a proof")
        for facts, *how in ask("attempts", known, goal, given, self.hasty) or ():
            used = (*base, *known.chosen(facts))
            verdict = self.solver.prove(used, goal, *how)
            if isinstance(verdict, Proved):
                break
        return verdict, used

    def known(self, context: Context, base: tuple[Term, ...]) -> Known:
        """What is known where ``base`` holds; facts that were found at the same place before are kept."""
        place = context, len(context.observed)
        if self._place != place:
            self._known, self._place = {}, place
        if base not in self._known:
            path = context.usable(*context.path)
            outer = None if base == path else self.known(context, path)
            self._known[base] = Known(self.solver, context, base, self.lemmas, outer)
        return self._known[base]


@final
@dataclass(slots=True, eq=False)
class Known:
    """Formulas that hold wherever ``base`` does, at the place of ``context``.

    ``outer`` has fewer premises, and is of the same place or of one that encloses it: what is known there is known
    here.  Of the place of a store in an induction, the formulas hold where what the induction supposes does; they are
    used for its obligations, and nowhere else.
    """

    solver: Solver
    context: Context
    base: tuple[Term, ...]
    lemmas: list[Discharged]
    outer: Known | None = None
    supposed: Supposed | None = None
    notes: dict[Any, Any] = field(init=False, default_factory=dict)
    """The search's own.  Nothing is read here."""
    _found: set[Term] = field(init=False, default_factory=set)
    _runs: dict[Element, Run | None] = field(init=False, default_factory=dict)
    _initialised: set[tuple[object, ...]] = field(init=False, default_factory=set)
    """States of blocks all of whose elements are defined."""
    _ended: dict[Element, tuple[Instance, ...]] = field(init=False, default_factory=dict)

    def look_up(self, roots: tuple[Term, ...]) -> tuple[Term, ...]:
        """The formulas that the search chooses for a question that mentions ``roots``."""
        return self.chosen(ask("facts", self, roots) or ())

    def chosen(self, formulas: Iterable[object]) -> tuple[Term, ...]:
        """Those of some formulas that are known here."""
        return tuple(dict.fromkeys(t for t in formulas if type(t) is Term and self._has(t)))

    def _has(self, formula: Term) -> bool:
        return formula in self._found or (self.outer is not None and self.outer._has(formula))

    def holds(self, given: Sequence[Term], goal: Term, claim: str, facts: Sequence[Term] = ()) -> bool:
        """Whether a lemma holds, with no other facts than these.  If it does, it is recorded."""
        given = (*self.base, *self.context.usable(*given), *facts)
        verdict = self.solver.prove(given, goal, quick=True)
        if isinstance(verdict, Proved):
            self.lemmas.append(Discharged(Obligation(claim, claim, given, goal), verdict))
        return isinstance(verdict, Proved)

    def follows(self, goal: Term, claim: str) -> bool:
        """Whether a goal holds, with the facts that are found about the elements that it mentions."""
        return goal is f.TRUE or self.holds((), goal, claim, self.look_up((goal,)))

    def _add(self, e: Element, *facts: Term) -> tuple[Term, ...]:
        facts = self.context.usable_facts(e.version.block, *facts)
        self._found.update(facts)
        return facts

    def _reached(self, e: Element) -> bool:
        """Whether this is an element of a version that exists in a run on its way here."""
        known = self.context.element_of(e.value) if type(e) is Element else None
        if known is None or not known.is_same(e) or known.version not in self.context.seen:
            return False
        return e.buffer in self.context.views.get(e.version.block, ())  # whoever named it first said through which view

    # -- rules ----------------------------------------------------------------------------------------------------

    def event(self, e: Element) -> tuple[Term, ...]:
        """What the event that made the version says of the element, and what its type says."""
        if not self._reached(e):
            return ()
        said: tuple[Term, ...] = ()
        match e.version.event:
            case Allocated():
                said = (f.not_(e.defined),)
            case Entered():
                said = entered(self.context, e)
            case Stored() as stored:
                said = self._stored(e, stored)
        scalar = e.buffer.dtype.scalar
        typed = (in_range(e.value, scalar),) if scalar.is_int else ()
        return self._add(e, *said, *typed)

    def older(self, e: Element) -> Element | None:
        """The same element before the event that made its version."""
        match e.version.event if self._reached(e) else None:
            case Stored(before=version):
                pass
            case Ran(memory=memory):
                version = memory[e.version.block]
            case _:
                return None
        return self.context.element(version, e.buffer, e.address)

    def _stored(self, e: Element, stored: Stored) -> tuple[Term, ...]:
        if stored.buffer.dtype.scalar is not e.buffer.dtype.scalar:
            return ()
        older = self.context.element(stored.before, e.buffer, e.address)
        value, here = stored.value, equal(stored.address, e.address)
        unchanged = f.and_(f.eq(e.value, older.value), f.eq(e.defined, older.defined))
        written = f.and_(f.eq(e.defined, value.defined), f.implies(value.defined, f.eq(e.value, value.value)))
        return tuple(t for t in (f.implies(here, written), f.implies(f.not_(here), unchanged)) if t is not f.TRUE)

    def run(self, e: Element) -> Run | None:
        """The statement that made the element's version, with its stores that may have written the element."""
        older = self.older(e)
        if older is None or not isinstance(e.version.event, Ran):
            return None
        if e not in self._runs:
            self._runs[e] = ran(self, e, e.version.event, older)
        return self._runs[e]

    def frame(self, e: Element, facts: Sequence[Term] = ()) -> tuple[Term, ...]:
        """Where no witness stored to the element, it is as it was.

        If no store can write it, it is the same one, however many statements ran: then ``facts`` about the older one
        are said of it by this name, too, since lemmas about floats do not look through equalities.
        """
        run = self.run(e)
        found = () if run is None else self._add(e, *frame(run))
        if run is None or run.aliasing:
            return found
        same = {run.older.value: e.value, run.older.defined: e.defined}
        renamed = tuple(f.replace(t, same) for t in self.chosen(facts))
        self._found.update(renamed)
        return found + renamed

    def reaching_definition(self, e: Element, k: int) -> tuple[Term, ...]:
        """What the ``k``-th store that may have written the element left there, if it is the reaching definition."""
        run = self.run(e)
        return () if run is None else self._add(e, *reaching_definition(run, k))

    def held(self, t: Term) -> tuple[Term, ...]:
        """What is known of what a store to a licensed block left there."""
        known = self.context.held_facts.get(t, ())
        self._found.update(known)
        return known

    def suppose(self, e: Element) -> tuple[Term, ...]:
        """What the induction supposes of the element, of whose obligations this is one."""
        return self._add(e, *self.supposed.of(e)) if self.supposed is not None and self._reached(e) else ()

    def invariant(self, e: Element, name: str, holds: Term, since: int | None = None) -> tuple[Term, ...]:
        """A property that every store which may have written the element keeps: the element has it if it had it before
        the run that made its version, or if one of these stores ran since which it has it."""
        run = self.run(e)
        if run is None or not speaks_of_one_element(holds, e.value.sort):
            return ()
        i = Invariant(str(name), holds, frozenset({e.version.block}), e)
        w = None if since is None else run.witnesses[since]
        if w is None and since is not None:
            return ()
        stores, place = [a.place for a in run.aliasing], w and w.access.place
        if not kept(self, run.before, run.event.stmt, i, stores, since=place, reached=run.event.reached):
            return ()
        return self._add(e, f.implies(f.and_(*(w.runs if w else (i.said(run.older),))), i.said(e)))

    def uninitialised(self, version: Version, blocks: frozenset[ir.Var] = frozenset()) -> frozenset[ir.Var]:
        """Show the initialised-memory invariant: every element of a block is defined, as :meth:`initialised` says from
        then on.

        After a statement it holds if it held of all ``blocks``, of which this is one, before, and every store to one of
        them stores a defined value.

        :return: the blocks of which it is not shown: none, or at least one.
        """
        blocks = frozenset([b for b in blocks if type(b) is ir.Var])
        if type(version) is not Version or version not in self.context.seen or not self.context.entry.definite:
            return blocks | {version.block}
        missing = uninitialised(self, version, blocks | {version.block})
        if not missing:
            self._initialised.update(state(version, data) for data in (*blocks, version.block))
        return missing

    def is_initialised(self, version: Version) -> bool:
        """Whether every element of the block is known to be defined."""
        known = state(version, version.block) in self._initialised
        return known or (self.outer is not None and self.outer.is_initialised(version))

    def initialised(self, e: Element) -> tuple[Term, ...]:
        """The fact that an element is defined, since all elements of its block are."""
        return self._add(e, e.defined) if self._reached(e) and self.is_initialised(e.version) else ()

    def ended(self, e: Element) -> tuple[Instance, ...]:
        """Instances of statements that have run to their end and assumed something, where the element was as it is; and
        of the one that left it so."""
        if not self._reached(e):
            return ()
        if e not in self._ended:
            seen = [r for r in self.context.observed if r.memory.get(e.version.block) is e.version]
            runs, run = [instance(self.context.at(r.memory, r.env), r.stmt) for r in seen], self.run(e)
            if run is not None and run.event.after is not None:
                runs.append(run.instance)
            self._ended[e] = tuple(runs)
        return self._ended[e]

    def instantiate(
        self, e: Element, ended: int, which: int, values: Mapping[Term, Term], load: Term | None = None
    ) -> tuple[Term, ...]:
        """What all instances of a statement found true (assumed it, or were safe to evaluate), of the one at some
        values of its loops: where it ran, it is true.  Whatever else differs between instances is unknown.

        :param ended: the number of the statement, and of ``which`` of the things that it ``found``.
        :param load: a load that is one of the element there, if the addresses are equal: it gets the element's name.
        """
        run = self.ended(e)[ended]
        found = [*run.assumed, *[s for _, s in run.safety]][which]
        witness = {**values_of(values, run.inner), **run.renamed_apart()}
        memo: dict[Term, Term] = {}
        premises = [f.replace(g, witness, memo) for g in found.premises]
        condition = f.replace(found.condition, witness, memo)
        if type(load) is Term and load.op == "app" and load.payload == e.value.payload:
            there = f.replace(load, witness, memo)
            premises.append(equal(there.args, e.address))
            x = self.context.element(e.version, e.buffer, there.args)
            condition = f.replace(condition, {x.value: e.value, x.defined: e.defined})
        facts = self.context.usable(f.implies(f.and_(*premises), condition))
        self._found.update(facts)
        return facts

    def inside(self, here: Context, given: Sequence[Term], supposed: Supposed, goal: Term, claim: str) -> bool:
        """Whether a goal holds at a place inside of a run, if the hypothesis of the induction is supposed."""
        mentioned = [e for t in f.subterms(goal, *given) if (e := here.element_of(t)) is not None]
        hypotheses = [t for e in mentioned for t in here.usable_facts(e.version.block, *supposed.of(e))]
        base = tuple(dict.fromkeys((*self.base, *here.usable(*given), *hypotheses)))
        there = Known(self.solver, here, base, [], self, supposed)
        proved = (bool(hypotheses) and there.holds((), goal, claim)) or there.follows(goal, claim)
        self.lemmas.extend(there.lemmas if proved else ())
        return proved
