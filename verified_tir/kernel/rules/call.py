"""What a function does at a place is done by another one that refines it.

    f(a₁, …, aₙ)    ⟶    g(a₁, …, aₙ)              (Refine: f ⊑ g is a theorem)
    f(a₁, …, aₙ)    ⟶    g(a₁, …, aₙ)              (Implement: that g does what f does is an axiom; g is opaque)

A call *means* the function's body with buffers of the caller for its buffers, expressions for its scalars and symbols.
So the statement at the place must be that body, up to what means nothing (see ``same``) and the names of what it binds;
it is computed here.

Theorem.  Let the obligations hold.  The elements of the arguments are then memories on which the theorem ``f ⊑ g``
speaks: as many as the parameters declare, inside their blocks and accessible, each reached by one index only (where one
of the programs writes), and no two arguments having one in common (where one of them is written); symbols have values
that arrays can have.  The statement's run is a run of f on them: it leaves the arguments' shapes nowhere, for that is
undefined behaviour in views too.  If it has none, f has none, so g has none; and g leaves each element with the bits
that f leaves, or more defined.  Neither touches anything else.  The rest of the program, being monotone, refines what
it did.  What f assumes stands in the statement, so it is true there.

A parameter's strides and offset are what it declares; if it declares none, nobody can tell them, unless its block is
known by a pointer or seen through another view: then the argument is a whole block.  Not followed, and refused: lemmas
that change the layout of a parameter or the order of float sums, opaque calls, assertions and ``while`` loops in them.
A lemma that rests on an axiom is one with an opaque call; one that changes no layout (its relation is empty) ends with
the parameters that it began with.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import final

from verified_tir.ir.equal import structural_equal
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path, at, put
from verified_tir.ir.stmt import Assert, Assume, While
from verified_tir.ir.visit import walk
from verified_tir.kernel.begin import context_at
from verified_tir.kernel.calls import Arguments, instantiate
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import opaque_calls
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import Misfit
from verified_tir.kernel.refines import Refines
from verified_tir.kernel.rules.arguments import fits
from verified_tir.kernel.rules.same import bare
from verified_tir.kernel.step import Rewrite


@final
@dataclass(frozen=True, slots=True)
class Refine:
    """The statement at ``path`` is ``lemma.before`` on the arguments; it becomes ``lemma.after`` on them."""

    path: Path
    lemma: Refines
    arguments: Arguments

    def parameters_of(self, blocks: frozenset[Var]) -> frozenset[Var]:
        """The blocks of the lemma's own parameters for which some of ``blocks`` are passed."""
        pairs = zip(self.lemma.before.buffers, self.arguments.buffers, strict=True)
        return frozenset(p.data for p, a in pairs if a.data in blocks)

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite:
        lemma, func = self.lemma, self.lemma.before
        programs = (func, *(step.after for step in lemma.derivation))
        for excluded, why in (
            (lemma.definite, "is about arguments of definite values only"),
            (lemma.relation, "changes the layout of a parameter"),
            (lemma.reassociated, "sums in another order; reassociate at the place of the call"),
        ):
            if excluded:
                raise Misfit(f"the lemma about {func.name} {why}")
        for g in programs:
            _check_closed(g)
        context = _place(before, self.path, func, self.arguments, entry)
        if not self.parameters_of(entry.licensed) <= lemma.licensed:
            raise Misfit(f"the lemma about {func.name} was proved from bits that a licence leaves open")
        after = before.with_body(put(before.body, self.path, instantiate(lemma.after, self.arguments)))
        return Rewrite(after, fits(context, programs, self.arguments, self.path))


@final
@dataclass(frozen=True, slots=True)
class Implement:
    """The statement at ``path`` is ``description`` on the arguments; it becomes ``implementation``, an opaque call.

    That the implementation does what the description says is believed: an axiom of the theorem from then on.

    :param given: values for the implementation's own scalars and symbols; its buffers are the description's.
    """

    path: Path
    description: PrimFunc
    implementation: PrimFunc
    arguments: Arguments
    given: tuple[tuple[Var, Expr], ...]

    @property
    def axiom(self) -> str:
        """What is believed, as a sentence."""
        return f"{self.implementation.name} does what {self.description.name} describes"

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite:
        old, new = self.description, self.implementation
        given = Arguments(self.arguments.buffers, self.given)
        _check_closed(old)
        if not opaque_calls(new.body):
            raise Misfit(f"{new.name} makes no opaque call: that it does what {old.name} does can be proved")
        if any(isinstance(n, (Assume, Assert)) for n in walk(new.body)):
            raise Misfit(f"{new.name} assumes something; what a call needs stands in {old.name}")
        given.check(new)
        context = _place(before, self.path, old, self.arguments, entry)
        after = before.with_body(put(before.body, self.path, instantiate(new, given)))
        described = fits(context, (old,), self.arguments, self.path)
        return Rewrite(after, chain(described, fits(context, (new,), given, self.path)))


def _check_closed(func: PrimFunc) -> None:
    """A function does no more than run to its end on what it is given."""
    if opaque_calls(func.body):
        raise Misfit(f"{func.name} makes an opaque call")
    if any(isinstance(n, (Assert, While)) for n in walk(func.body)):
        raise Misfit(f"{func.name} may not run to its end (an assertion or a while loop)")


def _place(before: PrimFunc, path: Path, func: PrimFunc, arguments: Arguments, entry: Entry) -> Context:
    """The context of the place, where the statement is ``func`` on the arguments."""
    arguments.check(func)
    if not structural_equal(bare(at(before.body, path)), bare(instantiate(func, arguments))):
        raise Misfit(f"the statement is not {func.name} on the arguments")
    return context_at(before, path, entry)
