"""Replace a call of a function by one of a function that refines it, or of an opaque implementation.

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
known by a pointer or seen through another view: then the argument is a whole block.  What a licence leaves open is not
passed as a scalar: a sum that goes on from it in f would begin anew there.  Not followed, and refused: lemmas
that change the layout of a parameter or the order of float sums, opaque calls, assertions and ``while`` loops in them.
A lemma that rests on an axiom is one with an opaque call; one that changes no layout (its relation is empty) ends with
the parameters that it began with.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import final

from verified_tir import ir
from verified_tir.kernel.begin import context_at, shape_bounds
from verified_tir.kernel.calls import Arguments, instantiate
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import address_taken, opaque_calls, written_blocks
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import Misfit, Question
from verified_tir.kernel.refines import Refines
from verified_tir.kernel.rules.common import evaluated_safely
from verified_tir.kernel.rules.last_write import may_not_pass
from verified_tir.kernel.rules.layout import in_box
from verified_tir.kernel.rules.same import bare
from verified_tir.kernel.step import Rewrite
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import Encoded, fresh


@final
@dataclass(frozen=True, slots=True)
class Refine:
    """The statement at ``path`` is ``lemma.before`` on the arguments; it becomes ``lemma.after`` on them."""

    path: ir.Path
    lemma: Refines
    arguments: Arguments

    def parameters_of(self, blocks: frozenset[ir.Var]) -> frozenset[ir.Var]:
        """The blocks of the lemma's own parameters for which some of ``blocks`` are passed."""
        pairs = zip(self.lemma.before.buffers, self.arguments.buffers, strict=True)
        return frozenset(p.data for p, a in pairs if a.data in blocks)

    def rewrite(self, before: ir.PrimFunc, entry: Entry) -> Rewrite:
        lemma, func = self.lemma, self.lemma.before
        programs = (func, *(step.after for step in lemma.derivation))
        if lemma.definite or lemma.relation or lemma.reassociated:
            what = "is about arguments of definite values only, changes the layout of a parameter, or "
            raise Misfit(
                f"the lemma about {func.name} {what}sums in another order; reassociate at the place of the call"
            )
        made = _called(before, entry, self.path, (programs, self.arguments))
        if not self.parameters_of(entry.licensed) <= lemma.licensed:
            raise Misfit(f"the lemma about {func.name} was proved from bits that a licence leaves open")
        return made


@final
@dataclass(frozen=True, slots=True)
class Implement:
    """The statement at ``path`` is ``description`` on the arguments; it becomes ``implementation``, an opaque call.

    That the implementation does what the description says is believed: an axiom of the theorem from then on.

    :param given: values for the implementation's own scalars and symbols; its buffers are the description's.
    """

    path: ir.Path
    description: ir.PrimFunc
    implementation: ir.PrimFunc
    arguments: Arguments
    given: tuple[tuple[ir.Var, ir.Expr], ...]

    def rewrite(self, before: ir.PrimFunc, entry: Entry) -> Rewrite:
        old, new = self.description, self.implementation
        given = Arguments(self.arguments.buffers, self.given)
        if not opaque_calls(new.body):
            raise Misfit(f"{new.name} makes no opaque call: that it does what {old.name} does can be proved")
        if any(isinstance(n, (ir.Assume, ir.Assert)) for n in ir.walk(new.body)):
            raise Misfit(f"{new.name} assumes something; what a call needs stands in {old.name}")
        return _called(before, entry, self.path, ((old,), self.arguments), ((new,), given))


def _called(
    before: ir.PrimFunc, entry: Entry, path: ir.Path, *calls: tuple[tuple[ir.PrimFunc, ...], Arguments]
) -> Rewrite:
    """The statement at ``path`` is the first function on its arguments; it becomes the last one on its own.

    :param calls: functions that do the same on their arguments, each with those that refine it.  The first ones do no
        more than run to their end on what they are given.
    """
    for (func, *_), arguments in calls:
        arguments.check(func)
        if (ill_formed := ir.problem(func)) is not None:  # a view that it does not declare might be one of the caller's
            raise Misfit(f"{func.name} is not a program: {ill_formed}")
    (described, *others), passed = calls[0]
    for g in (described, *others):
        if may_not_pass(g.body):
            raise Misfit(f"{g.name} makes an opaque call or may not run to its end (an assertion or a while loop)")
    if not ir.structural_equal(bare(ir.at(before.body, path)), bare(instantiate(described, passed))):
        raise Misfit(f"the statement is not {described.name} on the arguments")
    (*_, made), given = calls[-1]
    after = before.with_body(ir.put(before.body, path, instantiate(made, given)))
    context = context_at(before, path, entry)
    return Rewrite(after, (q for call in calls for q in _fits(context, *call, path)))


# -- what a function may be called with --------------------------------------------------------------------------------
# The elements of the argument buffers are memories of the function's own, on which all is true that its theorems take
# for granted (``kernel.begin``): what its programs do is then what its theorems say.


def _fits(
    context: Context, programs: tuple[ir.PrimFunc, ...], arguments: Arguments, path: ir.Path
) -> Iterator[Question]:
    """Questions whether a function and those that refine it (``programs``) may be called with the arguments.

    :raises Misfit: if they are not, as far as no proof is needed.
    """
    func, there = programs[0], context.fork()
    there.env.update({v: _constant(context, func, v, e) for v, e in arguments.values})
    yield from evaluated_safely(context, (e for _, e in arguments.values), (), path)
    pairs = [(p, a, _written(programs, p)) for p, a in zip(func.buffers, arguments.buffers, strict=True)]
    encoder = context.encoder()
    for p, a, written in pairs:
        views = context.views.get(a.data, ())  # that it is alive where it is used is well-formedness of the new program
        if written and len({view.dtype for view in views}) > 1:  # a NaN that is stored has no bits at another type
            raise Misfit(f"the block of {a.name} has views of several types")
        if _address_taken(programs, p) and not (_whole(p) and _whole(a) and a in views[:1]):
            raise Misfit(f"{p.name} of {func.name} is known by its pointer, and {a.name} is not a whole block")
        passed = f"{a.name}, passed for {p.name} of {func.name}"
        for claim, goal in _same_layout(context, there, p, a, opaque_calls(func.body)):
            yield Question("call", f"{passed}: {claim}", context, (), goal, path)
        x, inside = _any_element(context, a)
        reach = context.accessible(a, x)
        yield Question("call", f"every element of {passed}, may be accessed", context, (inside,), reach, path)
    for (p, a, one), (q, b, other) in combinations_with_replacement(pairs, 2):
        if a.data is b.data and (one or other):
            (x, inside), (y, also) = _any_element(context, a), _any_element(context, b)
            apart = f.ne(encoder.flat_address(a, x), encoder.flat_address(b, y))
            claim = f"{a.name} and {b.name}, for {p.name} and {q.name} of {func.name}, do not overlap"
            if p is q:
                apart = f.or_(apart, f.and_(*[f.eq(i, j) for i, j in zip(x, y, strict=True)]))
                claim = f"no two indices of {a.name}, passed for {p.name} of {func.name}, address the same element"
            yield Question("call", claim, context, (inside, also), apart, path)


def _constant(context: Context, func: ir.PrimFunc, v: ir.Var, e: ir.Expr) -> Encoded:
    """The value that is passed for a scalar or a symbol: it must be the same wherever the function's body
    mentions it."""
    if any(isinstance(n, (ir.Load, ir.Call, ir.Undef, ir.LetExpr)) for n in ir.walk(e)):
        raise Misfit(f"{v.name} of {func.name} would be computed from memory; bind it by a let first")
    value = context.encoder().encode(e)
    if not context.usable(value.value) or (value.data and not v.dtype.is_float):
        what = "data, which wraps where a parameter may not overflow, or a sum whose order is open"
        raise Misfit(f"{v.name} of {func.name} would be {what}")
    return value


def _written(programs: tuple[ir.PrimFunc, ...], parameter: ir.Buffer) -> bool:
    return any(parameter.data in written_blocks(g.body) or opaque_calls(g.body) for g in programs)


def _address_taken(programs: tuple[ir.PrimFunc, ...], parameter: ir.Buffer) -> bool:
    """Whether a program sees the parameter's block other than through the parameter, whose strides and offset would
    then be seen; unless the parameter declares its offset (an opaque call sees the declared strides, or those of a
    whole block)."""
    bodies = [g.body for g in programs]
    if any(n.buffer.data is parameter.data for body in bodies for n in ir.nodes_of(body, ir.DeclBuffer)):
        return True
    return isinstance(parameter.elem_offset, ir.IntImm) and address_taken(parameter.data, *bodies)


def _whole(buffer: ir.Buffer) -> bool:
    """Whether a buffer's elements are laid out from the start of its block, one after the other."""
    return not buffer.strides and isinstance(buffer.elem_offset, ir.IntImm) and buffer.elem_offset.value == 0


def _same_layout(
    context: Context, there: Context, p: ir.Buffer, a: ir.Buffer, opaque: bool
) -> Iterator[tuple[str, Term]]:
    """The argument has the shape of the parameter, which is that of an array; and the strides and the offset, if the
    parameter declares any.  An opaque call sees the strides, declared or not.

    :param there: where the function's symbols have the values that are passed.
    """
    mine, theirs = context.encoder(), there.encoder()
    for k, (e, wanted) in enumerate(zip(a.shape, p.shape, strict=True)):
        yield f"dimension {k} is the parameter's", f.eq(mine.value(e), theirs.value(wanted))
    for bound in shape_bounds(there, p):
        yield "it is no larger than an array", bound
    first, other = mine.value(a.elem_offset), theirs.value(p.elem_offset)
    if not isinstance(p.elem_offset, ir.IntImm):
        yield "it starts where the parameter does", f.eq(first, other)
    if p.strides or opaque:
        x, inside = _any_element(context, a)
        apart = f.eq(f.sub(mine.flat_address(a, x), first), f.sub(theirs.flat_address(p, x), other))
        yield "its strides are the parameter's", f.implies(inside, apart)


def _any_element(context: Context, buffer: ir.Buffer) -> tuple[tuple[Term, ...], Term]:
    """The indices of an arbitrary element, and that they lie in the shape."""
    x = tuple(fresh("x", f.INT) for _ in buffer.shape)
    return x, in_box(context, x, buffer.shape)
