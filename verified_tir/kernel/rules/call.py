"""What a function does at a place is done by another one that refines it.

    f(a₁, …, aₙ)    ⟶    g(a₁, …, aₙ)              (Refine: f ⊑ g is a theorem)
    f(a₁, …, aₙ)    ⟶    g(a₁, …, aₙ)              (Implement: that g does what f does is an axiom; g is opaque)

A call *means* the function's body with buffers of the caller for its buffers, expressions for its scalars and symbols.
So the statement at the place must be that body, up to labels and the names of what it binds; it is computed here.

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
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path, at, put
from verified_tir.ir.stmt import Assert, Assume, While
from verified_tir.ir.visit import walk
from verified_tir.kernel.begin import context_at
from verified_tir.kernel.calls import Arguments, instantiate, is_instance
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import opaque_calls
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import Misfit, Question
from verified_tir.kernel.refines import Refines
from verified_tir.kernel.rules.arguments import argument_problem, fits
from verified_tir.kernel.rules.common import check_scope
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
        old, new = self.lemma.before, self.lemma.after
        programs = (old, *(step.after for step in self.lemma.derivation))
        problem = _lemma_problem(self.lemma) or next((p for g in programs if (p := _closed(g)) is not None), None)
        if problem is not None:
            raise Misfit(problem)
        if len(old.buffers) == len(self.arguments.buffers) and not (
            self.parameters_of(entry.licensed) <= self.lemma.licensed
        ):
            raise Misfit(f"the lemma about {old.name} was proved from bits that a licence leaves open")
        context = _place(before, self.path, old, self.arguments, entry)
        problem = argument_problem(context, programs, self.arguments)
        if problem is not None:
            raise Misfit(problem)
        made = instantiate(new, self.arguments)
        after = before.with_body(put(before.body, self.path, made))
        return Rewrite(after, (*fits(context, programs, self.arguments, self.path), *self._proved()))

    def _proved(self) -> Iterator[Question]:
        """What was proved for the lemma: it is asked again, and so stands in this step's record."""
        old = self.lemma.before
        for step in self.lemma.derivation:
            for d in step.obligations:
                for o in (*(lemma.obligation for lemma in d.lemmas), d.obligation):
                    nothing = Context(old, Entry(), [], {}, {}, {}, {}, dict(o.names))
                    yield Question("call", f"{old.name}: {o.claim}", nothing, o.given, o.goal, self.path)


@final
@dataclass(frozen=True, slots=True)
class Implement:
    """The statement at ``path`` is ``description`` on the arguments; it becomes ``implementation``, an opaque call.

    That the implementation does what the description says is believed: an axiom of the theorem from then on.

    :param given: the implementation's arguments: the same buffers, and values for its own scalars and symbols.
    """

    path: Path
    description: PrimFunc
    implementation: PrimFunc
    arguments: Arguments
    given: Arguments

    @property
    def axiom(self) -> str:
        """What is believed, as a sentence."""
        return f"{self.implementation.name} does what {self.description.name} describes"

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite:
        new = self.implementation
        problem = _closed(self.description)
        if problem is None and not opaque_calls(new.body):
            problem = f"{new.name} makes no opaque call: that it does what {self.description.name} does can be proved"
        if problem is None and any(isinstance(n, (Assume, Assert)) for n in walk(new.body)):
            problem = f"{new.name} assumes something; what a call needs stands in {self.description.name}"
        if problem is None and self.arguments.buffers != self.given.buffers:
            problem = f"{new.name} gets other buffers than {self.description.name}"
        if problem is not None:
            raise Misfit(problem)
        context = _place(before, self.path, self.description, self.arguments, entry)
        pairs = ((self.description, self.arguments), (new, self.given))
        for func, arguments in pairs:
            problem = argument_problem(context, (func,), arguments)
            if problem is not None:
                raise Misfit(problem)
        made = instantiate(new, self.given)
        after = before.with_body(put(before.body, self.path, made))
        return Rewrite(after, [q for func, given in pairs for q in fits(context, (func,), given, self.path)])


# -- what can be said without a proof ----------------------------------------------------------------------------------


def _lemma_problem(lemma: Refines) -> str | None:
    if not isinstance(lemma, Refines):
        return "a lemma is a theorem"
    if lemma.definite:
        return f"the lemma about {lemma.before.name} is about arguments of definite values only"
    same = lemma.before.params == lemma.after.params and lemma.before.buffer_map == lemma.after.buffer_map
    if lemma.relation or lemma.paddings or not same:
        return f"the lemma about {lemma.before.name} changes the layout of a parameter"
    if lemma.reassociated:
        return f"the lemma about {lemma.before.name} sums in another order; reassociate at the place of the call"
    if any(getattr(step.rule, "axiom", None) is not None for step in lemma.derivation):
        return f"the lemma about {lemma.before.name} rests on an axiom; use it at the place of the call"
    return None


def _closed(func: PrimFunc) -> str | None:
    """Why a function does more than run to its end on what it is given."""
    if opaque_calls(func.body):
        return f"{func.name} makes an opaque call"
    if any(isinstance(n, (Assert, While)) for n in walk(func.body)):
        return f"{func.name} may not run to its end (an assertion or a while loop)"
    return None


def _place(before: PrimFunc, path: Path, func: PrimFunc, arguments: Arguments, entry: Entry) -> Context:
    """The context of the place, where the statement is ``func`` on the arguments."""
    target = at(before.body, path)
    context = context_at(before, path, entry)
    problem = arguments.problem(func)
    if problem is not None:
        raise Misfit(problem)
    instance = instantiate(func, arguments)
    check_scope(context, instance)
    if not is_instance(target, instance):
        raise Misfit(f"the statement is not {func.name} on the arguments")
    return context
