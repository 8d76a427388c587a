"""The terms of a reduction are summed in groups, or in another order.

                                                P = alloc(s);  for j: P[j] = identity
    for k…: if c: B[x] = B[x] ⊕ e        ⟶      for k…: if c: P[p] = P[p] ⊕ e               (partial results)
                                                for j: B[y(j)] = B[y(j)] ⊕ P[j]

    for k…: if c: B[x] = B[x] ⊕ e        ⟶      for l…: if c′: B[x] = B[x] ⊕ e              (another order)

Theorem.  Nothing in the nest but the update itself touches B.  So the nest leaves B[x] ⊕ e₁ ⊕ … ⊕ eₙ in each element,
of the terms whose x it is.  ⊕ is exact (see ``reduction``): the terms may be summed in groups, empty ones too, and in
any order.  *Partial results*: p says to which group a term goes, and y to which element a group belongs.  A term's
group must belong to the term's element: y(p) = x.  Groups that no term meets leave B[y(j)] as it is, which may then be
touched though it was not before.  *Another order*: the iterations are the same (see ``reorder``); only their order
changes.

If one of the terms is undefined, both results are.

Floats are not associative.  If the block of B is licensed, the theorem is: the bits are those of some tree over the
same terms.  The partial results are licensed then, too.  The identity is -0.0 for a sum and 1.0 for a product, which
change nothing, zeros, infinities and NaN included.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Binary, Expr, IntImm, Load, Var, const
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path, put
from verified_tir.ir.stmt import SKIP, Allocate, For, LetStmt, Stmt, Store, seq
from verified_tir.ir.visit import free_vars, substitute, walk
from verified_tir.kernel.context import Context
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import Misfit, Question
from verified_tir.kernel.rules.common import check_scope, evaluated_safely, has_effect, loads_in, safe_questions
from verified_tir.kernel.rules.reduction import Reduction, reduction_at
from verified_tir.kernel.rules.reorder import Reorder
from verified_tir.kernel.rules.scope import extents_safe
from verified_tir.kernel.step import Rewrite
from verified_tir.logic import formula as f
from verified_tir.semantics.encode import Encoded, Safety


@final
@dataclass(frozen=True, slots=True)
class Reassociate:
    """Split the reduction at ``path``, a nest of loops around one update.

    :param partial: the fresh buffer of partial results, of the reduction's type.
    :param index: p: which partial result a term goes to, over the variables of the nest.
    :param inputs: variables that stand for the indices of ``partial``, and
    :param element: y: over these, the element of B that a partial result belongs to; without them, it is the one
        element that the nest updates.
    """

    path: Path
    partial: Buffer
    index: tuple[Expr, ...]
    inputs: tuple[Var, ...] = ()
    element: tuple[Expr, ...] = ()

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite:
        found = reduction_at(before, self.path, entry)
        start, inside = found.enter(before, entry)
        problem = self._problem(before, found)
        if problem is not None:
            raise Misfit(problem)
        check_scope(start, self._last(found))
        after = before.with_body(put(before.body, self.path, self._split(found)))
        questions = chain(found.any_order(start, inside), self._questions(found, start, inside))
        heirs = ((self.partial.data, found.buffer.data),)
        return Rewrite(after, questions, reassociated=found.reassociated, heirs=heirs)

    def _problem(self, before: PrimFunc, found: Reduction) -> str | None:
        old, new = found.buffer, self.partial
        if any(n is new.data for n in walk(before)):
            return f"{new.name} is not fresh"
        plain = not new.strides and isinstance(new.elem_offset, IntImm) and new.elem_offset.value == 0
        if not plain or new.dtype is not old.dtype:
            return f"{new.name} must have the type of {old.name}, no strides and no offset"
        if len(self.index) != len(new.shape) or (self.inputs and len(self.inputs) != len(new.shape)):
            return f"{new.name} has {len(new.shape)} dimensions"
        bound = {n.var for n in walk(found.nest) if isinstance(n, (For, LetStmt))}
        if not self.inputs and any(v in bound for e in found.store.indices for v in free_vars(e)):
            return f"the element of {old.name} that is updated changes in the nest"
        if self.inputs and (len(self.element) != len(old.shape) or loads_in(self.element)):
            return f"the element of {old.name} that a partial result belongs to is given by its indices, from no memory"
        if old.data in loads_in(self.index) or loads_in(new.shape):
            return f"where a term goes may not depend on {old.name}, nor the shape of {new.name} on memory"
        if has_effect((*self.index, *new.shape, *self.element)):
            return "an opaque call stays in its place"
        return None

    def _target(self, found: Reduction, j: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """y(j)."""
        if not self.inputs:
            return found.store.indices
        return tuple(substitute(e, dict(zip(self.inputs, j, strict=True))) for e in self.element)

    def _last(self, found: Reduction) -> Stmt:
        """The allocation, around the nest that adds the partial results up."""
        new = self.partial
        last = _indices(new)
        target = self._target(found, last)
        whole, part = Load(found.buffer, target), Load(new, last)
        a, b = (part, whole) if found.identity_on_the_left else (whole, part)
        return Allocate(new, _nest(last, new, Store(found.buffer, Binary(found.op, a, b), target)))  # type: ignore[arg-type]

    def _split(self, found: Reduction) -> Stmt:
        new = self.partial
        update = Store(new, Binary(found.op, Load(new, self.index), found.term), self.index)  # type: ignore[arg-type]
        first = _indices(new)
        last = self._last(found)
        assert isinstance(last, Allocate)
        initial = _nest(first, new, Store(new, found.identity, first))
        return Allocate(new, seq(initial, put(found.nest, found.inner, update), last.body))

    def _questions(self, found: Reduction, start: Context, inside: Context) -> Iterator[Question]:
        place, ran = (*found.path, *found.inner), found.ran(inside)
        yield from extents_safe(start, self.partial, found.path)
        yield from evaluated_safely(inside, self.index, ran, place)
        encoder = inside.encoder()
        where = [encoder.encode(e) for e in self.index]
        extents = [encoder.value(e) for e in self.partial.shape]
        name = self.partial.name
        fits = [f.between(f.integer(0), w.value, n) for w, n in zip(where, extents, strict=True)]
        claim = f"every term goes to one of the partial results of {name}"
        yield Question("partial", claim, inside, ran, f.and_(*fits), place)
        if self.inputs:
            there = inside.fork()
            there.env.update({v: Encoded(w.value, f.TRUE, False) for v, w in zip(self.inputs, where, strict=True)})
            target = [there.encoder().value(e) for e in self.element]
            same = [f.eq(y, encoder.value(x)) for y, x in zip(target, found.store.indices, strict=True)]
            claim = f"a term's partial result in {name} belongs to the term's element of {found.buffer.name}"
            yield Question("partial", claim, inside, ran, f.and_(*same), place)
        yield from self._touched(found, start.fork())

    def _touched(self, found: Reduction, context: Context) -> Iterator[Question]:
        """The elements of B that partial results belong to may be touched, also those that no term meets."""
        indices = _indices(self.partial)
        for v, extent in zip(indices, self.partial.shape, strict=True):
            context.bind_loop(For(v, const(0, v.dtype), extent, SKIP))
        target = self._target(found, indices)
        safety: list[Safety] = []
        context.encoder(safety).address(Load(found.buffer, target), found.buffer, target, None)
        yield from safe_questions(context, safety, (), found.path)


@final
@dataclass(frozen=True, slots=True)
class Reordered:
    """Run the reduction that ``reorder`` speaks of, and nothing else, in whatever order of its terms that is.

    Owes what ``reorder`` owes, but for the order.
    """

    reorder: Reorder

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite:
        found = reduction_at(before, self.reorder.path, entry)
        if self.reorder.count != 1:
            raise Misfit("more than the reduction is put into another order")
        new = self.reorder.rewrite(before, entry)
        others = (q for q in new.questions if q.name != "order")
        questions = chain(others, found.any_order(*found.enter(before, entry)))
        return Rewrite(new.after, questions, reassociated=found.reassociated)


def _indices(buffer: Buffer) -> tuple[Var, ...]:
    return tuple(Var.fresh(f"j{k}", e.dtype) for k, e in enumerate(buffer.shape))


def _nest(variables: tuple[Var, ...], buffer: Buffer, body: Stmt) -> Stmt:
    for v, extent in reversed(list(zip(variables, buffer.shape, strict=True))):
        body = For(v, const(0, v.dtype), extent, body)
    return body
