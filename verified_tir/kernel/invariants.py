"""Invariants of one element: a property that held before, and that every store to the element keeps, holds.

Input: an element of a block as it is after a statement, or at the head of one of its iterations, and the statement's
stores that may touch it.

Theorem.  Let a property speak of the element's value and of whether it is defined.  If it holds before the statement,
and each store that touches the element keeps it (supposing that all that was loaded of the element until then had it),
then it holds whenever the run of the statement is looked at.  Proof: by induction over the stores to the element, in
whatever order they happen.  The element is rigid, its address a term of the question, so this is a plain induction.

Which properties are worth trying is a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from verified_tir.kernel.access import Access, Instance
from verified_tir.kernel.contents import Asked
from verified_tir.kernel.memory import Element
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.logic.guess import properties
from verified_tir.semantics.encode import Encoded, fresh


def invariants(asked: Asked, older: Element, run: Instance, stores: Sequence[Access]) -> list[Term]:
    """Properties true of the element, which was ``older`` before, and kept by every store that may touch it."""
    prover, context, e = asked.prover, asked.context, asked.element
    known = prover.facts(context, asked.base, (older.value, older.defined))
    chosen = any(t.op == "ite" for a in stores if a.value is not None for t in f.subterms(a.value.value))
    value, defined = fresh("value", e.value.sort), fresh("defined", f.BOOL)
    found = []
    for name, holds in properties(value, defined, chosen and context.entry.thorough):

        def of(x: Encoded | Element, holds: Term = holds) -> Term:
            return f.replace(holds, {value: x.value, defined: x.defined})

        recorded = len(prover.lemmas)
        if not asked.holds(known, of(older), f"{e.buffer.name} {name} before the loop"):
            continue
        if all(_keeps(asked, run, a, name, of) for a in stores):
            found.append(of(e))
        else:  # nobody needs to know that it held before
            del prover.lemmas[recorded:]
    return found


def _keeps(asked: Asked, run: Instance, a: Access, name: str, of: Callable[[Encoded | Element], Term]) -> bool:
    """One arbitrary store to the element keeps the property, which all loads of the element have until then."""
    e = asked.element
    assert a.value is not None
    hypotheses = []
    for load in run.accesses:
        if load.write or load.buffer is None or load.buffer.data is not e.buffer.data or load.value is None:
            continue
        if load.buffer.dtype.scalar is not e.buffer.dtype.scalar:
            continue  # an address counts elements of its own view's type
        hypotheses.append(f.implies(asked.touched(load), of(load.value)))
    context = asked.context.supposing(e.version.block, hypotheses)
    given = (*asked.base, *a.given, asked.touched(a), *hypotheses)
    claim = f"the store to {e.buffer.name} at {a.place} keeps it {name}"
    if asked.prover.holds_plain(context, given, of(a.value), claim):
        return True
    facts = asked.prover.facts(context, given, (of(a.value),))
    return bool(facts) and asked.prover.holds_plain(context, (*given, *facts), of(a.value), claim)
