"""Reaching definitions: what a statement that ran left in an element of memory.

Input: an element x of the block as it is after the statement (or at the head of one of its iterations), and the
statement's stores that may write it.  Each store ``b[a(j)] = v(j)`` may have a witness: an iteration h(x), guessed by
solving a(j) = x.  P(x) says that it runs and stores to x: ``h(x) ∈ D ∧ c(h(x)) ∧ a(h(x)) = x``.

*Frame.*  If P(x) holds whenever some instance of the store writes x, for each of the stores, then where no P(x) holds
the element is what it was before.  In particular it is, if no store can write it.

*Reaching definition.*  Where P(x) holds the element is ``v(h(x))``, provided that all instances of this store to x
write that value, and that every other store to x comes before h(x) in the order of execution.

What is proved of stores is proved of arbitrary instances, renamed apart from the witness: h(x) mentions no variable of
an iteration, and nothing else that differs between instances.

P may not rest on what the statement itself writes, as loads of that differ from moment to moment, unless no store of it
writes what was loaded.  v may, if what it reads is not stored to again before the statement ends: then the load would
give the same now.  No store has a witness while it is not known which iterations have been, as in the middle of a
``while`` loop.  Iterations of such a loop are told apart by no variable; but if P is the same in all of them, so is the
loop's condition, which P contains: where P holds the loop never ends, and nothing comes after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

from verified_tir import ir
from verified_tir.kernel.access import Access, Instance, equal, happens_before
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import EVERYTHING, written_blocks
from verified_tir.kernel.memory import Element, Memory, Ran
from verified_tir.kernel.region import instance
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.logic.guess import solve_address

if TYPE_CHECKING:
    from verified_tir.kernel.facts import Known


@final
@dataclass(frozen=True, slots=True)
class Witness:
    """The instance of a store that may have stored to the element: ``values`` of its loops, ``loose`` the free ones.

    ``access`` is an arbitrary instance, ``there`` this one.
    """

    access: Access
    there: Access
    values: dict[Term, Term]
    loose: set[Term]
    runs: tuple[Term, ...]
    """P(x): that the instance runs, and stores to the element."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """What made an element's version: a statement ran ``before``, where the element was ``older``.

    ``instance`` is an arbitrary run of it, and ``aliasing`` those of its stores that may write the element where
    what is ``known`` holds.
    """

    known: Known
    element: Element
    event: Ran
    older: Element
    before: Context
    instance: Instance
    aliasing: tuple[Access, ...] = ()
    witnesses: tuple[Witness | None, ...] = ()
    """Those of the stores that may write the element, as far as that is known outside of the statement."""

    def aliases(self, a: Access) -> Term:
        """That an instance of the access is one to the element."""
        return equal(a.address, self.element.address)


def ran(known: Known, e: Element, event: Ran, older: Element) -> Run | None:
    """The run that made the element's version; ``None`` if it does not say which elements it stores to."""
    if EVERYTHING in written_blocks(event.stmt):
        return None
    before = known.context.at(event.memory, event.env)
    found = instance(before, event.stmt)
    stores = found.stores_to(e.version.block)
    if any(a.buffer.dtype.scalar is not e.buffer.dtype.scalar for a in stores):
        return None
    if event.reached is not None:  # the outermost of its loops runs in ascending order
        stores = [replace(a, given=(*a.given, f.lt(a.inner[0], event.reached))) for a in stores]
    run = Run(known, e, event, older, before, found)
    claim = f"no instance of the store to {e.buffer.name} writes the element"
    touching = [a for a in stores if not known.holds(a.given, f.not_(run.aliases(a)), claim)]
    aliasing = tuple([_settled(run, a) for a in touching])
    return replace(run, aliasing=aliasing, witnesses=tuple([_witness(run, a) for a in aliasing]))


def frame(run: Run) -> tuple[Term, ...]:
    """Where no witness stores to the element, it is what it was."""
    stores: list[Term] = []
    for w in run.witnesses:
        if w is None:
            return ()
        stores.append(f.and_(*w.runs))
        claim = f"where the store at {w.access.place} writes the element, its witness does"
        if not run.known.holds((*w.access.given, run.aliases(w.access)), stores[-1], claim):
            return ()
    e, older = run.element, run.older
    return (f.or_(*stores, f.and_(f.eq(e.value, older.value), f.eq(e.defined, older.defined))),)


def reaching_definition(run: Run, k: int) -> tuple[Term, ...]:
    """What the ``k``-th store that may write the element left there, if no other one wrote it afterwards."""
    w, e = run.witnesses[k], run.element
    if w is None:
        return ()
    value = _value(run, w)
    if value is None or not all(_precedes(run, a, w) for a in run.aliasing):
        return ()
    wrote = f.and_(f.eq(e.defined, value[1]), f.implies(value[1], f.eq(e.value, value[0])))
    return (f.implies(f.and_(*w.runs), wrote),)


# -- witnesses ---------------------------------------------------------------------------------------------------------


def _witness(run: Run, a: Access) -> Witness | None:
    """A guess which instance stores to the element."""
    solved = solve_address(a.address, run.element.address, list(a.inner), a.given)
    if solved is None or (run.event.after is None and run.event.reached is None):
        return None
    values, loose = solved
    there = a.at(values)
    conditions = [c for g, c in zip(a.given, there.given, strict=True) if g not in run.instance.typed]
    runs = (*conditions, run.aliases(there))
    return None if _varies(run, *runs, *values.values()) else Witness(a, there, values, loose, runs)


def _varies(run: Run, *terms: Term) -> bool:
    """Whether terms mention an iteration's variables, or loads of what the statement writes."""
    return not {*run.instance.inner, *run.instance.havoc}.isdisjoint(f.subterms(*terms))


def _settled(run: Run, a: Access) -> Access:
    """The store, resting on the memory before the statement where it reads what no iteration of it writes."""
    parts = (a.value.value, a.value.defined, *a.given, *a.address)
    return a.at(_still_there(run, parts, run.before.memory))


def _still_there(run: Run, terms: Sequence[Term], memory: Memory, w: Witness | None = None) -> dict[Term, Term]:
    """Loads of what the statement writes that give what is in ``memory``: before it ran, as no store touches what is
    loaded; or after it, of the witness ``w``, as each store that touches it comes before."""
    havoc = set(run.instance.havoc).intersection(f.subterms(*terms))
    found: dict[Term, Term] = {}
    for x in run.instance.accesses:
        b, loaded = x.buffer, x.value
        if x.write or havoc.isdisjoint((loaded.value, loaded.defined)):
            continue
        if b.data not in memory or (w is not None and not w.loose.isdisjoint(f.subterms(*x.address))):
            continue
        address = x.address if w is None else tuple([f.replace(t, w.values) for t in x.address])
        others = instance(run.before, run.event.stmt)
        if all(_apart(run, x, b, address, s, w) for s in others.stores_to(b.data)):
            now = run.before.element(memory[b.data], b, address)
            found |= {loaded.value: now.value, loaded.defined: now.defined}
    return found


def _apart(run: Run, x: Access, b: ir.Buffer, address: Sequence[Term], s: Access, w: Witness | None) -> bool:
    """Whether an instance of a store does not touch what is loaded, or comes before it is loaded by the witness."""
    if s.buffer.dtype.scalar is not b.dtype.scalar:
        return False
    touched = equal(s.address, address)
    if w is None:
        claim = f"what is read of {b.name} at {x.place} is not written meanwhile"
        return run.known.holds((*x.given, *s.given), f.not_(touched), claim)
    claim = f"what is read of {b.name} at {x.place} is not stored to afterwards"
    return run.known.holds((*w.runs, *s.given, touched), _before(run, s, x, w), claim)


# -- the last store ----------------------------------------------------------------------------------------------------


def _value(run: Run, w: Witness) -> tuple[Term, Term] | None:
    """What the witness stored, and whether it was defined; ``None`` if that cannot be told from outside."""
    stored, there = w.access.value, w.there.value
    if not w.loose.isdisjoint(f.subterms(stored.value, stored.defined)):
        return None  # which of several instances wrote last would matter
    # Of bits that a licence leaves open nothing is said; but they are defined, or not.
    value = run.element.value if stored.value in run.instance.held else there.value
    defined = there.defined
    if run.event.after is not None:
        still = _still_there(run, (value, defined), run.event.after, w)
        value, defined = f.replace(value, still), f.replace(defined, still)
    return None if _varies(run, value, defined) else (value, defined)


def _precedes(run: Run, a: Access, w: Witness) -> bool:
    """Whether each instance of a store that touches the element comes before the witness ``w``; or, of the store of
    which that is one, whether it is the witness, or differs from it in free loops only."""
    given = (*a.given, run.aliases(a))
    if a is w.access:
        only = f.and_(*[f.eq(v, t) for v, t in w.values.items() if v not in w.loose])
        return run.known.holds(given, only, "all stores to the element write one value")
    claim = f"the store to the element at {a.place} comes before that at {w.access.place}, if it writes it at all"
    return run.known.holds((*w.runs, *given), _before(run, a, w.access, w), claim)


def _before(run: Run, b: Access, a: Access, w: Witness) -> Term:
    """An instance of ``b`` comes before the access ``a`` in the iteration of the witness."""
    return happens_before(run.event.stmt, (b.place, b.inner), (a.place, [w.values.get(v, v) for v in a.inner]))
