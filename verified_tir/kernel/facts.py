"""Facts about the contents of memory, found when a question needs them.

A question mentions loads; each is an element of some version of a block.  :class:`Prover` asks of each what is known:

* the block was allocated: undefined;  it came in with declared padding: the padding's value;
* one element was stored: that value there, the older version elsewhere;
* a statement ran that may have written the block.  If no store in it can touch the element (proved, for arbitrary
  instances, renamed apart), the element is the older version's.  Else what the stores left there is looked at (see
  ``contents``), and a property that held before and that every store to this element keeps still holds;
* it is the head of an arbitrary iteration: as before, without the second case.

The element is *rigid*: its address is a term of the question, the same throughout.  That is what makes the induction
behind the last case a plain one: "b[x], if defined, is not -0.0" is a statement about one element, true at the start,
kept by each store in any order of execution, hence true whenever the region's run is looked at.

Every lemma used this way is itself an obligation, proved and recorded.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import final

from verified_tir.ir.stmt import Stmt
from verified_tir.kernel.access import Access, Instance
from verified_tir.kernel.begin import entered
from verified_tir.kernel.contents import Asked, contents, register
from verified_tir.kernel.context import Context
from verified_tir.kernel.defined import Throughout
from verified_tir.kernel.effects import EVERYTHING, written_blocks
from verified_tir.kernel.established import established
from verified_tir.kernel.invariants import invariants
from verified_tir.kernel.memory import (
    Allocated,
    Element,
    Entered,
    Memory,
    Ran,
    Repeating,
    Stored,
    Version,
    element,
)  # fmt: skip
from verified_tir.kernel.region import instance
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.logic.guess import solve_address
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict import Obligation, Proved, Refuted, Verdict
from verified_tir.semantics.encode import Encoded, in_range

DEPTH = 4
"""How many generations of loads are looked up: those of the question, those their facts mention, and so on."""


@final
@dataclass(frozen=True, slots=True)
class Lemma:
    """A side question that was proved on the way, and its verdict."""

    obligation: Obligation
    verdict: Verdict


@final
@dataclass(slots=True)
class Prover:
    """Answers questions at a place, with the facts about memory that they need."""

    solver: Solver
    lemmas: list[Lemma] = field(init=False, default_factory=list)
    hasty: bool = False
    """Questions about floats that no lemma decides are left undecided, which saves much time where they are many."""
    _memo: dict[tuple[object, ...], tuple[Term, ...]] = field(init=False, default_factory=dict)
    _busy: set[tuple[object, ...]] = field(init=False, default_factory=set)
    throughout: Throughout = field(init=False)

    def __post_init__(self) -> None:
        self.throughout = Throughout(self)

    def prove(
        self, context: Context, given: tuple[Term, ...], goal: Term, *,
        small: tuple[Term, ...] = (), quick: bool = False,
    ) -> tuple[Verdict, tuple[Term, ...]]:  # fmt: skip
        """The verdict, and the givens (facts included) under which it was reached.

        ``quick`` is the solver's.
        """
        base = usable(context, (*context.path, *given))
        used = base
        verdict = self.solver.prove(base, goal, quick=True)
        if not isinstance(verdict, Proved):
            facts = usable(context, self.facts(context, base, (goal, *given)))
            used = (*base, *facts)
            if facts or small or not isinstance(verdict, Refuted):
                verdict = self.solver.prove(used, goal, small, quick=quick)
            if not isinstance(verdict, Proved):
                # Loops whose bounds are loaded (the rows of a sparse matrix) need what is known of these loads, too.
                more = usable(context, self.facts(context, base, tuple(context.path)))
                if not set(more) <= set(facts):
                    used = tuple(dict.fromkeys((*used, *more)))
                    verdict = self.solver.prove(used, goal, small, quick=quick)
        return verdict, used

    # -- looking up -----------------------------------------------------------------------------------------------

    def facts(self, context: Context, base: tuple[Term, ...], roots: tuple[Term, ...]) -> tuple[Term, ...]:
        """What is known of the elements that the roots mention, to bounded depth."""
        found: dict[Term, None] = {}
        seen: set[Term] = set()
        frontier = roots
        for _ in range(DEPTH):
            fresh_facts: list[Term] = []
            elements = []
            for t in f.subterms(*frontier):
                e = context.elements.get(t)
                if e is not None and e.value not in seen:
                    elements.append(e)
                fresh_facts.extend(p for p in context.held_facts.get(t, ()) if p not in found)
            if not elements and not fresh_facts:
                break
            for e in elements:
                if e.value not in seen:
                    seen.add(e.value)
                    fresh_facts.extend(self.about(context, base, e))
            found.update(dict.fromkeys(fresh_facts))
            frontier = tuple(fresh_facts)
        return tuple(found)

    def about(self, context: Context, base: tuple[Term, ...], e: Element) -> tuple[Term, ...]:
        """Facts about one element; each holds wherever ``base`` does."""
        entry = context.entry
        key = (e.value, base, entry.inputs_defined, entry.thorough, *(stmt for _, stmt in context.observed))
        if key in self._memo:
            return self._memo[key]
        if key in self._busy:
            return ()
        self._busy.add(key)
        try:
            facts: tuple[Term, ...] = (e.defined,) if self.throughout.holds(context, e.version) else ()
            if not self.throughout.assumed(e.version):
                own = self._about(context, base, e)
                context.tell(e.version.block, own)
                facts = (*facts, *own, *self._assumed(context, e))
        finally:
            self._busy.discard(key)
        scalar = e.buffer.dtype.scalar
        if scalar.is_int:
            facts = (*facts, in_range(e.value, scalar))
        self._memo[key] = facts
        return facts

    def _about(self, context: Context, base: tuple[Term, ...], e: Element) -> tuple[Term, ...]:
        match e.version.event:
            case Allocated():
                return (f.not_(e.defined),)
            case Entered(paddings=paddings):
                return entered(context, e, paddings)
            case Stored(before=before, buffer=buffer, address=address, value=value):
                return self._stored(context, e, before, buffer is e.buffer, address, value)
            case Ran(memory=memory, stmt=stmt):
                return self._ran(context, base, e, memory, stmt)
            case Repeating(memory=memory, loop=loop, reached=reached):
                return self._ran(context, base, e, memory, loop, finished=False, reached=reached)

    def _assumed(self, context: Context, e: Element) -> tuple[Term, ...]:
        """What loops that have finished assumed of this element, in the version that they saw."""
        found: list[Term] = []
        for memory, stmt in context.observed:
            if memory.get(e.buffer.data) is not e.version:
                continue
            before = context.fork()
            before.memory = memory
            run = instance(before, stmt)
            for a in run.assumed:
                for load in (t for t in f.subterms(a.condition) if t.op == "app" and t.payload == e.value.payload):
                    solved = solve_address(load.args, e.address, list(a.inner), a.given)
                    if solved is None:
                        continue
                    witness = {**solved[0], **run.renamed_apart()}
                    memo: dict[Term, Term] = {}
                    reached = [f.eq(f.replace(x, witness, memo), y) for x, y in zip(load.args, e.address, strict=True)]
                    premises = [f.replace(g, witness, memo) for g in a.given]
                    # Where it was reached, the element is this one: by its own name, nothing is left to compute.
                    there = f.replace(load, witness, memo)
                    own = {there: e.value, f.app(str(e.defined.payload), there.args, f.BOOL): e.defined}
                    condition = f.replace(f.replace(a.condition, witness, memo), own)
                    register(context, run, condition, *premises)
                    found.append(f.implies(f.and_(*premises, *reached), condition))
        return tuple(found)

    def _older(self, context: Context, e: Element, version: Version) -> Element:
        return context.know(element(version, e.buffer, e.address, context.several_views(e.buffer.data)))

    def _stored(
        self, context: Context, e: Element, before: Version, same_view: bool, address: tuple[Term, ...], value: Encoded
    ) -> tuple[Term, ...]:
        stored = e.version.event
        assert isinstance(stored, Stored)
        same_type = stored.buffer.dtype is e.buffer.dtype
        if not (same_view or same_type):
            return ()
        here = f.and_(*[f.eq(a, b) for a, b in zip(address, e.address, strict=True)])
        older = self._older(context, e, before)
        unchanged = f.and_(f.eq(e.value, older.value), f.eq(e.defined, older.defined))
        written = f.and_(f.eq(e.defined, value.defined), f.implies(value.defined, f.eq(e.value, value.value)))
        if here is f.TRUE:
            return (written,)
        if here is f.FALSE:
            return (unchanged,)
        return f.implies(here, written), f.implies(f.not_(here), unchanged)

    # -- statements that ran --------------------------------------------------------------------------------------

    def _ran(
        self, context: Context, base: tuple[Term, ...], e: Element, memory: Memory, stmt: Stmt,
        *, finished: bool = True, reached: Term | None = None,
    ) -> tuple[Term, ...]:  # fmt: skip
        data = e.buffer.data
        if EVERYTHING in written_blocks(stmt):
            return ()
        older = self._older(context, e, memory[data])
        before = context.fork()
        before.memory = memory
        run = instance(before, stmt)
        stores = [a for a in run.accesses if a.write and a.buffer is not None and a.buffer.data is data]
        if any(a.buffer is not None and a.buffer.dtype.scalar is not e.buffer.dtype.scalar for a in stores):
            return ()
        if reached is not None:  # the outermost of its loops is ``stmt``, which runs in ascending order
            stores = [replace(a, given=(*a.given, f.lt(a.inner[0], reached))) for a in stores]
        touching = [a for a in stores if not self._misses(context, base, e, a)]
        if not touching:
            unchanged = f.and_(f.eq(e.value, older.value), f.eq(e.defined, older.defined))
            # However deep the nest, it is the same element.  What is known of it is said of it by this name, since
            # lemmas about floats do not look through equalities.
            renamed = {older.value: e.value, older.defined: e.defined}
            return (unchanged, *[f.replace(fact, renamed) for fact in self.about(context, base, older)])
        found: list[Term] = []
        if finished or reached is not None:
            settled = [self._settled(context, base, before, run, a, stmt) for a in touching]
            asked = Asked(self, context, base, e)
            left, certain = contents(asked, older, before, run, settled, stmt, finished=finished)
            found.extend(left)
            if certain:
                return tuple(found)
            found.extend(established(asked, run, settled, stmt))
        found.extend(invariants(Asked(self, context, base, e), older, run, touching))
        return tuple(found)

    def _misses(self, context: Context, base: tuple[Term, ...], e: Element, a: Access) -> bool:
        """No instance of this store touches the element."""
        same = f.and_(*[f.eq(x, y) for x, y in zip(a.address, e.address, strict=True)])
        claim = f"no instance of the store to {e.buffer.name} at {a.place} touches the element"
        return self.holds_plain(context, (*base, *a.given), f.not_(same), claim)

    def holds_plain(self, context: Context, given: tuple[Term, ...], goal: Term, claim: str) -> bool:
        """Whether a lemma holds, without looking up facts (so that it cannot recur).  If it does, it is recorded."""
        given = usable(context, given)
        verdict = self.solver.prove(given, goal, quick=True)
        if isinstance(verdict, Proved):
            self.lemmas.append(Lemma(Obligation(claim, claim, given, goal), verdict))
            return True
        return False

    def _settled(
        self, context: Context, base: tuple[Term, ...], before: Context, run: Instance, a: Access, stmt: Stmt
    ) -> Access:
        """The store, resting on the memory before the statement where it reads what no iteration of it writes."""
        assert a.value is not None
        parts = (a.value.value, a.value.defined, *a.given, *a.address)
        unknown = set(run.unknown).intersection(f.subterms(*parts))
        loads = [x for x in run.accesses if not x.write and x.value is not None and x.value.value in unknown]
        if not loads:
            return a
        stores = [s for s in instance(before, stmt).accesses if s.write]
        same: dict[Term, Term] = {}
        for x in loads:
            assert x.buffer is not None and x.value is not None
            others = [s for s in stores if s.buffer is not None and s.buffer.data is x.buffer.data]
            if x.buffer.data in run.local or any(s.buffer is not x.buffer for s in others):
                continue
            claim = f"what is read of {x.buffer.name} at {x.place} is not written meanwhile"
            apart = [f.not_(f.and_(*map(f.eq, x.address, s.address))) for s in others]
            if all(self.holds_plain(context, (*base, *x.given, *s.given), goal, claim)
                   for s, goal in zip(others, apart, strict=True)):  # fmt: skip
                old = context.load_from(before.memory, x.buffer, x.indices, x.lane)
                same |= {x.value.value: old.value, x.value.defined: old.defined}
        memo: dict[Term, Term] = {}
        value, defined, *rest = [f.replace(t, same, memo) for t in parts]
        given, address = tuple(rest[: len(a.given)]), tuple(rest[len(a.given) :])
        return replace(a, value=Encoded(value, defined, a.value.data), given=given, address=address)


def usable(context: Context, premises: tuple[Term, ...]) -> tuple[Term, ...]:
    """The premises that may be used, whatever bits a licence leaves open."""
    return tuple(p for p in premises if context.usable(p)) if context.entry.licensed else premises
