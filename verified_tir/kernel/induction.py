"""Induction over the stores of a run: what held before, and is kept by every store, holds.

Let S be a set of blocks, and I a formula about an element of one of them: its address, its value and whether it is
defined.  Nothing else that differs from moment to moment occurs in I, nor anything that is fresh in some instance: the
address of the one element of which it says something, perhaps, which is a term of the question.

Theorem.  Let a statement run.  Suppose that I is true of all elements of S

* *before* the run, or
* right *after* one of its stores, in an instance that ran, whatever was there before,

and that each store to a block in S leaves I true of the element it stores to, supposing that I is true of all elements
of S at every moment since the beginning of the run (at the moment of the store itself, if it is after an instance that
I is true).  Then I is true of S whenever the run is looked at from then on.

Proof: by induction over the stores in the order in which they happen.  A store changes one element (that of a vector
one element for each lane, all of which it computes before it stores the first).  What is supposed is what was shown of
the stores before; of what was loaded since the beginning, into a ``let`` for instance, as well.  But if I is true only
since some store, then what was loaded may be older than that: only the memory in which the store itself runs is not.

The obligation of a store is asked at its place in an arbitrary iteration, where memory is that of an arbitrary moment
of the run (``Context.enter``).  Supposed is I of the versions of blocks that the walk to that place has made, and of no
others: what a later walk makes, of another statement's run, may be from before this one.

Two kinds of I are asked for: a property of one element (is it ever -0.0?), and that all elements of all blocks in S
are defined, for a program that starts on arrays of definite values.  A block with views of several types is never among
the latter: a NaN has no bits, so what is defined at one type need not be at another.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from verified_tir import ir
from verified_tir.kernel.access import equal
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import EVERYTHING, written_blocks
from verified_tir.kernel.memory import Element, Entered, Ran, Stored, Version, moment
from verified_tir.kernel.region import instance
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import Encoded, Unencodable

if TYPE_CHECKING:
    from verified_tir.kernel.facts import Known

DEFINED = f.var("defined", f.BOOL)
"""Stands for an element's definedness in a property, as ``value_of`` does for its value."""


def value_of(sort: str) -> Term:
    return f.var("value", sort)


def speaks_of_one_element(holds: object, sort: str) -> bool:
    """Whether this is a formula whose only variables are an element's value, if it is defined, and its definedness bit.

    (A formula that spoke of an iteration's variable as well would be proved of this iteration's store, and believed of
    all others; one of an undefined value would be proved of the term that was stored, which the element need not be.)
    """
    if type(holds) is not Term or holds.sort != f.BOOL:
        return False
    value = (value_of(sort),) if holds.op == "=>" and holds.args[0] is DEFINED else ()
    return all(t in (DEFINED, *value) for t in f.subterms(holds) if t.op in ("var", "app"))


@final
@dataclass(frozen=True, slots=True, eq=False)
class Invariant:
    """I: ``holds`` is true of the one ``element``; or, if that is ``None``, of all elements of ``blocks``."""

    name: str
    holds: Term
    blocks: frozenset[ir.Var]
    element: Element | None = None

    def said(self, x: Encoded | Element) -> Term:
        """The property, stated of this value."""
        return f.replace(self.holds, {value_of(x.value.sort): x.value, DEFINED: x.defined})


@final
@dataclass(frozen=True, slots=True, eq=False)
class Supposed:
    """The hypothesis: ``invariant`` holds of versions that were made ``after`` one moment, ``until`` another."""

    invariant: Invariant
    after: int
    until: int

    def of(self, e: Element) -> tuple[Term, ...]:
        """What is supposed of an element."""
        one = self.invariant.element
        if e.version.block not in self.invariant.blocks or not self.after < e.version.serial <= self.until:
            return ()
        if one is None:
            return (self.invariant.said(e),)
        if e.buffer.dtype.scalar is not one.buffer.dtype.scalar:
            return ()  # an address counts elements of its own view's type
        return (f.implies(equal(e.address, one.address), self.invariant.said(e)),)


def kept(
    known: Known, before: Context, stmt: ir.Stmt, invariant: Invariant, stores: Iterable[ir.Path], *,
    since: ir.Path | None = None, reached: Term | None = None,
) -> bool:  # fmt: skip
    """Whether each of some stores preserves an invariant.

    :param before: the place where ``stmt`` begins to run.
    :param since: the store since which it holds; from the beginning, unless given.
    :param reached: the loop ``stmt`` has run to here.
    """
    for path in stores:
        here, begun, store = before.fork(), moment(), stmt
        try:
            for step in path:
                store = here.enter(store, step)
            (a,) = [x for x in instance(here, store, written=()).accesses if x.write]
        except Unencodable:
            return False
        now = here.memory[a.buffer.data].serial
        interval = (begun, moment()) if since is None else (now - 1, now) if path != since else (now, now)
        given = [*here.path, *a.given]
        if invariant.element is not None:
            given.append(equal(a.address, invariant.element.address))
        if reached is not None:
            assert isinstance(stmt, ir.For)
            given.append(f.lt(here.env[stmt.var].value, reached))
        claim = f"the store to {a.buffer.name} at {path} keeps the invariant: it {invariant.name}"
        if not known.inside(here, given, Supposed(invariant, *interval), invariant.said(a.value), claim):
            return False
    return True


# -- the initialised-memory invariant ----------------------------------------------------------------------------------


def uninitialised(known: Known, version: Version, blocks: frozenset[ir.Var]) -> frozenset[ir.Var]:
    """Some of ``blocks`` if it is not shown that, in this version, all their elements are defined."""
    context = known.context
    if any(map(context.several_types, blocks)):
        return blocks
    match version.event:
        case Entered() if not context.entry.paddings_of(version.block):
            return frozenset()
        case Stored(before=before, value=value) if known.is_initialised(before):
            claim = f"what is stored to {version.block.name} is defined"
            return frozenset() if known.follows(value.defined, claim) else blocks
        case Ran(memory=memory, env=env, stmt=stmt) if EVERYTHING not in written_blocks(stmt) and all(
            data in memory and known.is_initialised(memory[data]) for data in blocks
        ):
            invariant = Invariant("is defined, if all blocks it is computed from are initialised", DEFINED, blocks)
            for path, s in ir.places(stmt, lambda s: isinstance(s, ir.Store)):
                if isinstance(s, ir.Store) and s.buffer.data in blocks:
                    if not kept(known, context.at(memory, env), stmt, invariant, [path]):
                        return frozenset({s.buffer.data})
            return frozenset()
    return blocks


def state(version: Version, block: ir.Var) -> tuple[object, ...]:
    """A key for the state of a block: all blocks that a run writes share one, during the run and at its end."""
    match version.event:
        case Ran(memory=memory, stmt=stmt):
            return (block, stmt, *memory.values())
    return (version,)
