"""Which facts about memory a question needs.

A question mentions loads, each of which is an element of some version of a block.  Of each the kernel is asked what is
known of it; what it says mentions other elements, which are looked up in turn, to bounded depth.  Nothing here is
trusted: what is returned is a choice of formulas that the kernel has shown (:class:`verified_tir.kernel.facts.Known`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from verified_tir.ir.expr import Binary, Expr, IfThenElse, Load, Var
from verified_tir.ir.node import Node
from verified_tir.ir.stmt import If, LetStmt, Stmt
from verified_tir.ir.visit import walk
from verified_tir.kernel.access import Instance
from verified_tir.kernel.begin import scalars_of
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import EVERYTHING, written_blocks
from verified_tir.kernel.facts import Known
from verified_tir.kernel.induction import DEFINED, value_of
from verified_tir.kernel.memory import Allocated, Element, Entered, Ran, Stored, Version
from verified_tir.kernel.reaching_definitions import Witness
from verified_tir.logic import formula as f
from verified_tir.logic.addresses import solve_address
from verified_tir.logic.formula import Term
from verified_tir.logic.names import has_floats
from verified_tir.logic.properties import properties
from verified_tir.logic.verdict import Proved
from verified_tir.semantics.encode import Safety

DEPTH = 4
"""How many generations of loads are looked up: those of the question, those their facts mention, and so on."""

MOST_STORES = 6
"""So many stores that may touch an element are compared with each other."""

MOST_ELEMENTS = 100
"""So many elements are looked up for one question, those that inductions ask about among them."""

WORK = "work"
"""The note how many there were."""

THOROUGH = "thorough"
"""The note how hard to try."""

PENDING: frozenset[Var] = frozenset()
"""That a set of blocks is being looked for."""

T = TypeVar("T")


def once(known: Known, key: tuple[object, ...], busy: T, find: Callable[[], T]) -> T:
    """What was found out before; ``busy`` while it is being found out, so that nobody asks for ever."""
    if key not in known.notes:
        known.notes[key] = busy
        known.notes[key] = find()
    found: T = known.notes[key]
    return found


def enclosing(known: Known | None) -> Iterator[Known]:
    """The place itself, and those in which it is looked at."""
    while known is not None:
        yield known
        known = known.outer


def is_thorough(known: Known) -> bool:
    """Whether facts are looked for thoroughly."""
    return any(k.notes.get(THOROUGH) for k in enclosing(known))


def sizes(context: Context) -> tuple[Term, ...]:
    """The integers that the program is passed, and the symbols of its shapes: people like them small."""
    integers = [v for v in scalars_of(context.func) if v.dtype.is_int]
    return tuple(context.env[v].value for v in integers)


def attempts(
    known: Known, goal: Term, given: tuple[Term, ...], hasty: bool
) -> Iterator[tuple[tuple[Term, ...], tuple[Term, ...], bool]]:
    """With which facts a question is tried, which terms are to be small in a refutation, and whether quickly.

    More and more facts are looked up: of what the question mentions, of what is mentioned on the way to its place
    (loops whose bounds are loaded, as the rows of a sparse matrix are, need them), and thoroughly.

    :param hasty: leave questions about floats that no lemma decides undecided.
    """
    yield (), (), True
    path = tuple(known.context.path)
    used = dict.fromkeys(known.base)
    if known.solver.statistics.only_verdicts:  # if all that is found at last is not enough, less was not either
        more = tuple([t for t in _looked_up(known, (goal, *given, *path), True) if t not in used])
        if more or any(has_floats(t) for t in (goal, *used)):
            yield more, (), hasty
        return
    found: dict[Term, None] = {}
    for thorough, roots in ((False, (goal, *given)), (False, path), (True, (goal, *given)), (True, path)):
        more = _looked_up(known, roots, thorough)
        if not used.keys() >= set(more) or (thorough and roots is not path):
            found |= dict.fromkeys(t for t in more if t not in used)
            used |= found
            yield tuple(found), sizes(known.context) if thorough else (), hasty or not thorough


def _looked_up(known: Known, roots: tuple[Term, ...], thorough: bool) -> tuple[Term, ...]:
    *_, outermost = enclosing(known)
    begins = WORK not in outermost.notes
    outermost.notes.setdefault(WORK, 0)
    for k in enclosing(known):
        k.notes[THOROUGH] = thorough
    try:
        return known.look_up(roots)
    finally:
        for k in enclosing(known):
            k.notes[THOROUGH] = False
        if begins:
            del outermost.notes[WORK]


def facts(known: Known, roots: tuple[Term, ...]) -> tuple[Term, ...]:
    """What is known of the elements that the roots mention, to bounded depth."""
    context = known.context
    found: dict[Term, None] = {}
    seen: set[Term] = set()
    frontier = roots
    for _ in range(DEPTH):
        fresh_facts: list[Term] = []
        elements = []
        for t in f.subterms(*frontier):
            e = context.element_of(t)
            if e is not None and e.value not in seen:
                elements.append(e)
            fresh_facts.extend(p for p in known.held(t) if p not in found)
        if not elements and not fresh_facts:
            break
        for e in elements:
            if e.value not in seen:
                seen.add(e.value)
                fresh_facts.extend(about(known, e))
        found.update(dict.fromkeys(fresh_facts))
        frontier = tuple(fresh_facts)
    return tuple(found)


def about(known: Known, e: Element) -> tuple[Term, ...]:
    """Facts about one element; none, once too many were looked up."""
    *_, outermost = enclosing(known)
    if outermost.notes.get(WORK, 0) >= MOST_ELEMENTS:
        return ()
    if WORK in outermost.notes and ("about", e.value, is_thorough(known)) not in known.notes:
        outermost.notes[WORK] += 1
    return once(known, ("about", e.value, is_thorough(known)), (), lambda: _about(known, e))


def _about(known: Known, e: Element) -> tuple[Term, ...]:
    supposed = known.suppose(e)
    if supposed:
        return (*supposed, *known.event(e))
    if meanwhile(known, e.version) and isinstance(e.version.event, Ran):
        run = known.run(e)
        return (*(known.frame(e) if run is not None and not run.aliasing else ()), *known.event(e))
    is_initialised(known, e.version)
    found = [*known.initialised(e)]
    if isinstance(e.version.event, Ran):
        found.extend(after_run(known, e))
    found.extend(known.event(e))
    found.extend(assumed(known, e))
    return tuple(found)


def meanwhile(known: Known, version: Version) -> bool:
    """Whether a version was made on the way to a store of an induction about one element, which others need not be.

    An element of another block is looked at all the same, if only one induction is under way: what is stored may be
    computed from it, as the place of a maximum is from the maximum.
    """
    under_way = [k.supposed.invariant for k in enclosing(known) if k.supposed is not None]
    return (len(under_way) > 1 or any(version.block in i.blocks for i in under_way)) and any(
        k.supposed is not None and k.supposed.invariant.element is not None
        and k.outer is not None and version not in k.outer.context.seen
        for k in enclosing(known)
    )  # fmt: skip


# -- statements that ran -----------------------------------------------------------------------------------------------


def after_run(known: Known, e: Element) -> Iterator[Term]:
    """What a statement that ran, or some of its iterations, left in an element."""
    run = known.run(e)
    if run is None:
        return
    if not run.aliasing:
        yield from known.frame(e, about(known, run.older))
        return
    count, havoc = len(run.aliasing), set(run.instance.havoc)
    known_order = run.event.after is not None or run.event.reached is not None
    if known_order and count <= MOST_STORES:
        certain = False
        for k in range(count):
            left = known.reaching_definition(e, k)
            yield from left
            if left:
                certain = certain or _certain(known, run.witnesses[k])
                yield from safe(known, e, k)
        if certain:
            return
        if not any(_certain(known, w) for w in run.witnesses):
            yield from known.frame(e)
        if count > 1:
            for k, a in enumerate(run.aliasing):
                sets = a.value is not None and havoc.isdisjoint(f.subterms(a.value.defined))
                if sets:  # whatever was there before
                    yield from known.invariant(e, "is defined", DEFINED, k)
    chosen = any(t.op == "ite" for a in run.aliasing if a.value is not None for t in f.subterms(a.value.value))
    tried = properties(value_of(e.value.sort), DEFINED, chosen and is_thorough(known))
    for name, holds in tried:
        if _may_have_been(run.older, holds) or _held_before(known, run.older, name, holds):
            yield from known.invariant(e, name, holds)


def _may_have_been(older: Element, holds: Term) -> bool:
    """Whether it is worth asking for an invariant though it is not known to hold before: other iterations of a loop
    further out may have initialised the element, which one says more of."""
    return holds is DEFINED and isinstance(older.version.event, Ran) and older.version.event.reached is not None


def _held_before(known: Known, older: Element, name: str, holds: Term) -> bool:
    """Whether an element had a property; what is none is left to the kernel."""
    if not isinstance(holds, Term):
        return True
    said = f.replace(holds, {value_of(older.value.sort): older.value, DEFINED: older.defined})
    return known.follows(said, f"{older.buffer.name} {name} before the loop")


def _certain(known: Known, w: Witness | None) -> bool:
    """Whether a witness runs in any case, asked only to know what else is worth asking."""
    return w is not None and isinstance(known.solver.prove(known.base, f.and_(*w.runs), quick=True), Proved)


# -- what instances found true -----------------------------------------------------------------------------------------


def assumed(known: Known, e: Element) -> Iterator[Term]:
    """What loops that have finished assumed of this element, in the version that they saw."""
    if not known.context.observed:
        return
    for j, run in enumerate(known.ended(e)):
        for k, a in enumerate(run.assumed):
            for load in (t for t in f.subterms(a.condition) if t.op == "app" and t.payload == e.value.payload):
                solved = solve_address(load.args, e.address, _inner(run, a), a.premises)
                if solved is not None:
                    yield from known.instantiate(e, j, k, solved[0], load)


def _inner(run: Instance, a: Safety) -> list[Term]:
    """The variables of a run that what is assumed there speaks of."""
    return [v for v in run.inner if v in set(f.subterms(*a.premises, a.condition))]


def safe(known: Known, e: Element, k: int) -> Iterator[Term]:
    """What the witness of a store evaluated on its way, and what that says of memory."""
    run = known.run(e)
    if run is None or run.event.after is None or not _asks_memory(run.event.stmt):
        return
    place = run.aliasing[k].place
    again = known.ended(e)[-1]
    a = next(x for x in again.accesses if x.write and x.place == place)
    solved = solve_address(a.address, e.address, list(a.inner), a.given)
    if solved is None:
        return
    havoc = {*a.inner, *again.havoc}
    for number, (where, s) in enumerate(again.safety, len(again.assumed)):
        if where == place[: len(where)] and any(t.op == "app" for t in f.subterms(s.condition)):
            terms = [f.replace(t, solved[0]) for t in (*s.premises, s.condition)]
            if havoc.isdisjoint(f.subterms(*terms)):
                yield from known.instantiate(e, -1, number, solved[0])


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


# -- the initialised-memory invariant ----------------------------------------------------------------------------------


def is_initialised(known: Known, version: Version) -> bool:
    """Whether every element of the block, in this version, is defined: asked with as few premises as will do."""
    if not known.context.entry.definite:
        return False
    while known.outer is not None and version in known.outer.context.seen:
        known = known.outer
    if known.is_initialised(version):
        return True
    match version.event:
        case Allocated():
            return False
        case Entered():
            return not known.uninitialised(version)
        case Stored(before=before):
            return is_initialised(known, before) and not known.uninitialised(version)
        case Ran(memory=memory, stmt=stmt):
            place = ("kept", stmt, is_thorough(known), *(v.serial for v in memory.values()))
            if any(k.notes.get(place) is PENDING for k in enclosing(known)):
                return False
            return version.block in once(known, place, PENDING, lambda: _kept(known, version))


def _kept(known: Known, version: Version) -> frozenset[Var]:
    """The blocks that a statement writes, and that are initialised before, meanwhile and after: the largest such
    set is found by leaving out, again and again, those of which some store cannot be shown to be defined."""
    event = version.event
    assert isinstance(event, Ran)
    written = written_blocks(event.stmt)
    if EVERYTHING in written:
        return frozenset()
    blocks = frozenset(data for data in event.memory if data in written and is_initialised(known, event.memory[data]))
    while version.block in blocks:
        lost = known.uninitialised(version, blocks)
        if not lost:
            return blocks
        blocks -= lost
    return frozenset()
