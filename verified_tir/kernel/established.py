"""Elements that a statement initialised and then only updated: they are defined.

Input: an element x of a block as it is after a statement (or at the head of one of its iterations), and the statement's
stores that may touch it.  Some of them *set* x: whatever instance touches x, it writes a defined value.  The others
*keep* x: if what they load of x themselves is defined, they write a defined value.

Theorem.  If an instance of a store that sets x ran, x is defined.  Proof: by induction over the stores to x from that
one on, in the order in which they happen.  Each sets x, or loads x where it stands, hence after that instance, and
keeps it.

What was loaded of x by another statement (a ``let`` before the initialisation, a condition) may be older, and nothing
is supposed of it; nor of what a vector store loads, since its lanes are stored one after the other and loaded at once.

The reduction ``if k == 0: B[i] = 0`` then ``B[i] = B[i] + A[i, k]`` is the common case: what one may branch on
afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from verified_tir.ir.stmt import Stmt, While
from verified_tir.ir.visit import walk
from verified_tir.kernel.access import Access, Instance
from verified_tir.kernel.contents import MOST_STORES, register, witness_of
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term

if TYPE_CHECKING:
    from verified_tir.kernel.contents import Asked


def established(asked: Asked, run: Instance, touching: Sequence[Access], stmt: Stmt) -> tuple[Term, ...]:
    """That the element is defined, wherever the witness of a store that sets it ran.

    :param touching: all stores of ``run``, the run of ``stmt``, that may touch the element.
    """
    if not 1 < len(touching) <= MOST_STORES or any(a.value is None for a in touching):
        return ()
    if any(isinstance(n, While) for n in walk(stmt)):
        return ()
    setting = [a for a in touching if _writes_defined(asked, a, ())]
    if not setting:
        return ()
    if not all(_keeps(asked, run, a) for a in touching if a not in setting):
        return ()
    found: list[Term] = []
    for a in setting:
        witness = witness_of(asked, run, a)
        if witness.runs is not None:
            register(asked.context, run, *witness.runs)
            found.append(f.implies(f.and_(*witness.runs), asked.element.defined))
    return tuple(found)


def _writes_defined(asked: Asked, a: Access, given: Sequence[Term]) -> bool:
    """Whether any instance of the store that touches the element writes a defined value."""
    assert a.value is not None
    if a.value.defined is f.TRUE:
        return True
    claim = f"the store to {asked.element.buffer.name} at {a.place} writes a defined value"
    premises = (*a.given, asked.touched(a), *given)
    if asked.holds(premises, a.value.defined, claim):
        return True
    known = asked.prover.facts(asked.context, (*asked.base, *premises), (a.value.defined,))
    return bool(known) and asked.holds((*premises, *known), a.value.defined, claim)


def _keeps(asked: Asked, run: Instance, a: Access) -> bool:
    """Whether the store writes a defined value to the element if what it loads of the element itself is defined."""
    e = asked.element
    if a.lane is not None:
        return False
    own: list[Term] = []
    for load in run.accesses:
        if load.write or load.buffer is None or load.value is None or load.buffer.data is not e.buffer.data:
            continue
        if load.place != a.place or load.lane is not None or load.buffer.dtype.scalar is not e.buffer.dtype.scalar:
            continue
        own.append(f.implies(asked.touched(load), load.value.defined))
    return bool(own) and _writes_defined(asked, a, own)
