"""Reassociation: the terms of a reduction are summed into partial results (rfactor).

                                                P = alloc(s);  for j: P[j] = identity
    for k…: if c: B[x] = B[x] ⊕ e        ⟶      for k…: if c: P[p] = P[p] ⊕ e               (partial results)
                                                for j: B[y(j)] = B[y(j)] ⊕ P[j]

Theorem.  Nothing in the nest but the update itself touches B.  So the nest leaves B[x] ⊕ e₁ ⊕ … ⊕ eₙ in each element,
of the terms whose x it is.  ⊕ is exact (see ``reduction``): the terms may be summed in groups, empty ones too, and in
any order.  The index p says to which group a term goes, and y to which element a group belongs.  A term's group must
belong to the term's element: y(p) = x.  Groups that no term meets leave B[y(j)] as it is, which may then be touched
though it was not before (so B's block has one type: at another, bits are lost where B[y(j)] is NaN or undef).  p and y
may read memory, but not B: nothing else changes on the way.  (That the terms come in another order is ``reorder``'s.)

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

from verified_tir import ir
from verified_tir.kernel.access import equal
from verified_tir.kernel.effects import read_blocks
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import Misfit, Question
from verified_tir.kernel.region import instance
from verified_tir.kernel.rules.common import evaluated_safely, safe_questions
from verified_tir.kernel.rules.layout import in_box, over_box, values
from verified_tir.kernel.rules.reduction import Reduction, reduction_at
from verified_tir.kernel.rules.scope import extents_safe
from verified_tir.kernel.step import Rewrite
from verified_tir.logic import formula as f
from verified_tir.semantics.encode import Safety


@final
@dataclass(frozen=True, slots=True)
class Reassociate:
    """Split the reduction at ``path``, a nest of loops around one update.

    :param partial: the fresh buffer of partial results, of the reduction's type.
    :param index: p: which partial result a term goes to, over the variables of the nest.
    :param inputs: variables that stand for the indices of ``partial``, and
    :param element: y: over these, the element of B that a partial result belongs to; without it, it is the one element
        that the nest updates.
    """

    path: ir.Path
    partial: ir.Buffer
    index: tuple[ir.Expr, ...]
    inputs: tuple[ir.Var, ...] = ()
    element: tuple[ir.Expr, ...] = ()

    def rewrite(self, before: ir.PrimFunc, entry: Entry) -> Rewrite:
        found = reduction_at(before, self.path, entry)
        old, new, op = found.store.buffer, self.partial, found.op
        element = self.element or found.store.indices
        self._check(found, element)
        first, last = _indices(new), _indices(new)
        y = tuple(ir.substitute(e, dict(zip(self.inputs, last, strict=False))) for e in element)
        operands = (ir.Load(old, y), ir.Load(new, last))
        if op in ("and", "or") or (old.dtype.is_float and op in ("min", "max")):
            operands = operands[::-1]  # the identity changes nothing as the left operand only
        last_nest = over_box(last, new.shape, ir.Store(old, ir.Binary(op, *operands), y))  # type: ignore[arg-type]
        update = ir.Store(new, ir.Binary(op, ir.Load(new, self.index), found.term), self.index)  # type: ignore[arg-type]
        first_nest = over_box(first, new.shape, ir.Store(new, found.identity, first))
        body = ir.seq(first_nest, ir.put(found.nest, found.inner, update), last_nest)
        touched = over_box(last, new.shape, ir.Store(old, found.identity, y))
        questions = chain(found.any_order(), self._questions(found, element, touched))
        after = before.with_body(ir.put(before.body, self.path, ir.Allocate(new, body)))
        return Rewrite(after, questions, reassociated=found.reassociated, heirs=((new.data, old.data),))

    def _check(self, found: Reduction, element: tuple[ir.Expr, ...]) -> None:
        old, new = found.store.buffer, self.partial
        plain = not new.strides and isinstance(new.elem_offset, ir.IntImm) and new.elem_offset.value == 0
        if not plain or new.dtype is not old.dtype:
            raise Misfit(f"{new.name} must have the type of {old.name}, no strides and no offset")
        if len(self.inputs) not in (0, len(new.shape)):
            raise Misfit(f"{new.name} has {len(new.shape)} dimensions")
        if any(v.dtype is not n.dtype for v, n in zip(self.inputs, new.shape, strict=False)):
            raise Misfit(f"an index of {new.name} has another type than the extent")
        if old.data in read_blocks(*self.index, *element):
            raise Misfit(f"where a term goes may not depend on {old.name}")
        if found.start.several_types(old.data):
            raise Misfit(f"the block of {old.name} has views of several types, at which bits may be lost")

    def _questions(self, found: Reduction, element: tuple[ir.Expr, ...], touched: ir.Stmt) -> Iterator[Question]:
        """
        :param touched: the elements of B that partial results belong to, also those that no term meets.
        """
        inside, name = found.inside, self.partial.name
        place = (*found.path, *found.inner)
        safety: list[Safety] = []  # the update was run, so its own indices could be evaluated, in bounds
        x, _, _ = inside.encoder(safety).access(ir.Load(found.store.buffer, found.store.indices), None)
        ran = tuple(f.implies(f.and_(*s.premises), s.condition) for s in safety)
        yield from extents_safe(found.start, self.partial, found.path)
        yield from evaluated_safely(inside, self.index, ran, place)
        where = values(inside, self.index)
        claim = f"every term goes to one of the partial results of {name}"
        yield Question("partial", claim, inside, ran, in_box(inside, where, self.partial.shape), place)
        y = values(inside.bound(self.inputs, where) if self.inputs else inside, element)
        claim = f"a term's partial result in {name} belongs to the term's element of {found.store.buffer.name}"
        yield Question("partial", claim, inside, ran, equal(y, x), place)
        run = instance(found.start, touched)
        yield from safe_questions(run.context, (s for _, s in run.safety), (), found.path)


def _indices(buffer: ir.Buffer) -> tuple[ir.Var, ...]:
    return tuple(ir.Var.fresh(f"j{k}", e.dtype) for k, e in enumerate(buffer.shape))
