"""What a statement that ran left in an element of memory.

Input: an element x of the block as it is after the statement, and the statement's stores that may touch it.  Each store
``b[a(j)] = v(j)`` gets a witness: an iteration h(x), guessed by solving a(j) = x.  P(x) says that it runs and stores to
x: ``h(x) ∈ D ∧ c(h(x)) ∧ a(h(x)) = x``.

*Contents.*  Where P(x) holds the element is ``v(h(x))``, provided that all instances of this store that touch x write
that value, and that every other store that touches x comes before h(x) in the order of execution.

*Frame.*  If P(x) holds whenever some instance of the store touches x, for each of the stores, then where no P(x) holds
the element is what it was before.

*Safety.*  The instance at h(x) ran, so what it evaluated was safe: no branch on undef, no division by zero.

P may not rest on what the statement itself writes, as loads of that differ from moment to moment.  v may, if what it
reads is not stored to again before the statement ends: then the load would give the same now.  Nothing is known of
stores in a ``while`` loop, whose iterations are told apart by no variable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from verified_tir.ir.expr import Binary, Expr, IfThenElse, Load
from verified_tir.ir.node import Node
from verified_tir.ir.stmt import If, LetStmt, Stmt, While
from verified_tir.ir.visit import walk
from verified_tir.kernel.access import Access, Instance
from verified_tir.kernel.context import Context
from verified_tir.kernel.memory import Element, Ran, element
from verified_tir.kernel.moments import happens_before
from verified_tir.kernel.region import instance
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.logic.guess import solve_address
from verified_tir.logic.verdict import Proved
from verified_tir.semantics.encode import in_range

if TYPE_CHECKING:
    from verified_tir.kernel.facts import Prover

MOST_STORES = 6
"""So many stores that may touch an element are compared with each other."""


@final
@dataclass(frozen=True, slots=True)
class Witness:
    """The instance of a store that may have stored to the element: ``values`` of its loops, ``loose`` the free ones."""

    access: Access
    values: dict[Term, Term]
    loose: set[Term]
    runs: tuple[Term, ...] | None
    """P(x): that the instance runs, and stores to the element; ``None`` if that cannot be told from outside."""


@final
@dataclass(frozen=True, slots=True)
class Asked:
    """The element that is asked about, and what is known where the question stands."""

    prover: Prover
    context: Context
    base: tuple[Term, ...]
    element: Element

    def holds(self, given: Sequence[Term], goal: Term, claim: str) -> bool:
        return self.prover.holds_plain(self.context, (*self.base, *given), goal, claim)

    def certain(self, goal: Term) -> bool:
        """Whether something holds, asked only to know what else is worth asking."""
        given = tuple(p for p in self.base if self.context.usable(p))
        return isinstance(self.prover.solver.prove(given, goal, quick=True), Proved)

    def touched(self, a: Access) -> Term:
        """That an instance of the access is one of the element."""
        return f.and_(*[f.eq(x, y) for x, y in zip(a.address, self.element.address, strict=True)])


def contents(
    asked: Asked,
    older: Element,
    before: Context,
    run: Instance,
    touching: Sequence[Access],
    stmt: Stmt,
    *,
    finished: bool,
) -> tuple[tuple[Term, ...], bool]:
    """What is known of the element, which was ``older`` before ``stmt`` ran, from ``before``, as ``run``; and whether
    that says which value it has.

    :param finished: whether ``stmt`` has ended.  An iteration still to come may never be reached.
    """
    if any(isinstance(n, While) for n in walk(stmt)) or len(touching) > MOST_STORES:
        return (), False
    context, e = asked.context, asked.element
    witnesses = [witness_of(asked, run, a) for a in touching]
    found: list[Term] = []
    certain = False
    for w in witnesses:
        value = _value(asked, run, w, stmt)
        others = [x for x in witnesses if x is not w]
        if value is None or w.runs is None or not _alone(asked, w):
            continue
        if not all(_precedes(asked, x, w, stmt) for x in others):
            continue
        register(context, run, *value, *w.runs)
        wrote = f.and_(f.eq(e.defined, value[1]), f.implies(value[1], f.eq(e.value, value[0])))
        found.append(f.implies(f.and_(*w.runs), wrote))
        certain = certain or asked.certain(f.and_(*w.runs))
        if finished:
            found.extend(_safe(context, before, e, w, stmt))
    return (*found, *(() if certain else _frame(asked, older, run, witnesses))), certain


def witness_of(asked: Asked, run: Instance, a: Access) -> Witness:
    """A guess which instance stores to the element."""
    solved = solve_address(a.address, asked.element.address, list(a.inner), a.given)
    if solved is None:
        return Witness(a, {}, set(a.inner), None)
    values, loose = solved
    memo: dict[Term, Term] = {}
    conditions = [f.replace(g, values, memo) for g in a.given if g not in _ranges(run)]
    address = [f.replace(x, values, memo) for x in a.address]
    reached = f.and_(*[f.eq(x, y) for x, y in zip(address, asked.element.address, strict=True)])
    runs = (*conditions, reached)
    return Witness(a, values, loose, None if _varies(run, a, *runs) else runs)


def _ranges(run: Instance) -> set[Term]:
    """What is true of any integer that was loaded or is stored, and so no condition."""
    found = [
        (x.value.value, x.buffer.dtype.scalar) for x in run.accesses if x.value is not None and x.buffer is not None
    ]
    return {in_range(value, scalar) for value, scalar in found if scalar.is_int}


def _alone(asked: Asked, w: Witness) -> bool:
    """Whether any instance that touches the element is the witness, or differs from it in free loops only."""
    a = w.access
    only = f.and_(*[f.eq(v, w.values[v]) for v in a.inner if v not in w.loose])
    return asked.holds((*a.given, asked.touched(a)), only, "all stores to the element write one value")


def _varies(run: Instance, a: Access, *terms: Term) -> bool:
    """Whether terms still mention one iteration's variables, or loads of what the statement writes."""
    return not {*a.inner, *run.unknown}.isdisjoint(f.subterms(*terms))


def _value(asked: Asked, run: Instance, w: Witness, stmt: Stmt) -> tuple[Term, Term] | None:
    """What the witness stored, and whether it was defined; ``None`` if that cannot be told from outside."""
    a, stored = w.access, w.access.value
    if w.runs is None or stored is None or not w.loose.isdisjoint(f.subterms(stored.value, stored.defined)):
        return None  # which of several instances wrote last would matter
    memo: dict[Term, Term] = {}
    # Of bits that a licence leaves open nothing is said; but they are defined, or not.
    was = asked.element.value if stored.value in run.held else stored.value
    value, defined = f.replace(was, w.values, memo), f.replace(stored.defined, w.values, memo)
    if _varies(run, a, value, defined):
        still = _still_there(asked, run, w, stmt, set(f.subterms(value, defined)))
        value, defined = f.replace(value, still), f.replace(defined, still)
    return None if _varies(run, a, value, defined) else (value, defined)


def _still_there(asked: Asked, run: Instance, w: Witness, stmt: Stmt, wanted: set[Term]) -> dict[Term, Term]:
    """Loads that the witness made of what the statement writes, and that would give the same when it has ended."""
    event = asked.element.version.event
    if not isinstance(event, Ran):
        return {}
    found: dict[Term, Term] = {}
    for x in run.accesses:
        if x.write or x.value is None or {x.value.value, x.value.defined}.isdisjoint(wanted):
            continue
        b = x.buffer
        if b is None or b.data not in event.after or not w.loose.isdisjoint(f.subterms(*x.address)):
            continue
        memo: dict[Term, Term] = {}
        address = tuple(f.replace(t, w.values, memo) for t in x.address)
        if _settles(asked, run, w, x, address, stmt):
            several = asked.context.several_views(b.data)
            now = asked.context.know(element(event.after[b.data], b, address, several))
            found |= {x.value.value: now.value, x.value.defined: now.defined}
    return found


def _settles(asked: Asked, run: Instance, w: Witness, load: Access, address: tuple[Term, ...], stmt: Stmt) -> bool:
    """Whether each store that touches an element comes before the witness loads it."""
    assert load.buffer is not None and w.runs is not None
    stores = [s for s in run.accesses if s.write and s.buffer is not None and s.buffer.data is load.buffer.data]
    claim = f"what is read of {load.buffer.name} at {load.place} is not stored to afterwards"
    for s in stores:
        assert s.buffer is not None
        if s.buffer.dtype.scalar is not load.buffer.dtype.scalar:
            return False
        touched = f.and_(*map(f.eq, s.address, address))
        if not asked.holds((*w.runs, *s.given, touched), _before(s, list(s.inner), load, w, stmt), claim):
            return False
    return True


def _precedes(asked: Asked, x: Witness, w: Witness, stmt: Stmt) -> bool:
    """Whether each instance of another store that touches the element comes before the witness ``w``."""
    assert w.runs is not None
    b = x.access
    given, inner = (*b.given, asked.touched(b)), list(b.inner)
    if _alone(asked, x):
        determined = {v: t for v, t in x.values.items() if v not in x.loose}
        memo: dict[Term, Term] = {}
        given = tuple(f.replace(g, determined, memo) for g in given)
        inner = [determined.get(v, v) for v in inner]
    claim = f"the store to the element at {b.place} comes before that at {w.access.place}, if it touches it at all"
    return asked.holds((*w.runs, *given), _before(b, inner, w.access, w, stmt), claim)


def _before(b: Access, inner: list[Term], a: Access, w: Witness, stmt: Stmt) -> Term:
    """The instance of ``b`` at ``inner`` comes before the access ``a`` in the iteration of the witness."""
    return happens_before(stmt, (b.place, inner), (a.place, [w.values.get(v, v) for v in a.inner]))


def _frame(asked: Asked, older: Element, run: Instance, witnesses: Sequence[Witness]) -> tuple[Term, ...]:
    """Where no witness stores to the element, it is what it was."""
    stores: list[Term] = []
    for w in witnesses:
        if w.runs is None:
            return ()
        stores.append(f.and_(*w.runs))
        if asked.certain(stores[-1]):
            return ()  # it was stored to, so nobody asks
    for w, stored in zip(witnesses, stores, strict=True):
        claim = f"where the store at {w.access.place} touches the element, its witness does"
        if not asked.holds((*w.access.given, asked.touched(w.access)), stored, claim):
            return ()
    register(asked.context, run, *stores)
    e = asked.element
    unchanged = f.and_(f.eq(e.value, older.value), f.eq(e.defined, older.defined))
    return (f.or_(*stores, unchanged),)


def _safe(context: Context, before: Context, e: Element, w: Witness, stmt: Stmt) -> tuple[Term, ...]:
    """What the witness evaluated on its way, and what that says of memory."""
    if not _asks_memory(stmt):
        return ()
    again = instance(before, stmt, with_safety=True)
    a = next(x for x in again.accesses if x.write and x.place == w.access.place)
    solved = solve_address(a.address, e.address, list(a.inner), a.given)
    if solved is None:
        return ()
    found: list[Term] = []
    memo: dict[Term, Term] = {}
    for place, s in again.safety:
        terms = [f.replace(t, solved[0], memo) for t in (*s.premises, s.condition)]
        if place == a.place[: len(place)] and any(t.op == "app" for t in f.subterms(terms[-1])):
            if not _varies(again, a, *terms):
                register(context, again, *terms)
                found.append(f.implies(f.and_(*terms[:-1]), terms[-1]))
    return tuple(dict.fromkeys(found))


def _asks_memory(stmt: Stmt) -> bool:
    """Whether something that was safe to evaluate says anything of what memory holds."""
    return any(_decides(n) for n in walk(stmt))


def _decides(n: Node) -> bool:
    match n:
        case LetStmt(value=e) | If(condition=e) | IfThenElse(condition=e):
            return _loads(e)
        case Load(indices=indices):
            return any(_loads(i) for i in indices)
        case Binary(op=op, b=b) if op in ("floordiv", "floormod", "truncdiv", "truncmod", "shl", "shr"):
            return b.dtype.is_int and _loads(b)
        case Binary(op="and" | "or", a=a):
            return _loads(a)
    return False


def _loads(e: Expr) -> bool:
    return any(isinstance(n, Load) for n in walk(e))


def register(context: Context, run: Instance, *terms: Term) -> None:
    """Loads whose address changed with a substitution are elements too."""
    by_function = {t.payload: e for t, e in run.context.elements.items()}
    for t in f.subterms(*terms):
        if t.op == "app" and t not in context.elements and t.payload in by_function:
            like = by_function[t.payload]
            context.know(element(like.version, like.buffer, t.args, context.several_views(like.buffer.data)))
