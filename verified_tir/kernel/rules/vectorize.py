"""Vectorize: a loop over one store becomes one vector store.

    for i in [lo, lo + n): if c(i): B[a(i)] = v(i)        ⟶        B[a′] = v′ where c′        (n lanes)

Theorem.  Let lane k of a′, v′, c′ be a, v, c at i = lo + k, all of them as they are *before* the loop.  The vector
store evaluates all lanes first and then stores them in order, lanes without c′ excepted.  The loop stores the same
elements in the same order; and iteration k finds, in everything that it reads, what was there before the loop, provided
that no earlier iteration writes what it reads: by induction on k it stores the same value.  (That a later iteration
writes what an earlier one read does no harm: both read first.  Nor do two writes of one element: the order is kept.)

The lanes are given as witnesses (``indices``, ``value``, ``predicate``); the kernel asks whether they are the right
ones and safe in *every* lane, those included in which c is false.  That the loop evaluates its iterations safely may
be used.

A lane may store what its iteration did as another sum of the same value (``A[i] + C[i]`` for ``B[i] + C[i]`` where B[i]
is A[i]), so that under a licence the element has other terms then.  Nothing rests on them: no rule puts the terms of a
vector store into another order (``reduction_at``), or makes a loop of one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from verified_tir import ir
from verified_tir.kernel.begin import context_at
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import opaque_calls
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import Misfit, Question
from verified_tir.kernel.region import instance
from verified_tir.kernel.rules.common import no_dependence, safe_questions
from verified_tir.kernel.step import Rewrite
from verified_tir.logic import formula as f


@final
@dataclass(frozen=True, slots=True)
class Vectorize:
    """Replace the loop at ``path``, whose body is one store (under conditions), by a vector store.

    :param indices: the store's indices with the lanes of the loop in the last one.
    :param value: the value, element lanes × loop lanes.
    :param predicate: the conjunction of the conditions, lane by lane; ``None`` if there are none.
    """

    path: ir.Path
    indices: tuple[ir.Expr, ...]
    value: ir.Expr
    predicate: ir.Expr | None = None

    def rewrite(self, before: ir.PrimFunc, entry: Entry) -> Rewrite:
        loop = ir.at(before.body, self.path)
        if not isinstance(loop, ir.For) or not isinstance(loop.extent, ir.IntImm) or loop.extent.value < 2:
            raise Misfit("not a loop of a constant extent of at least 2")
        store = _only_store(loop)
        if store.value.dtype is not store.buffer.dtype:
            raise Misfit(f"the loop over {loop.var.name} contains a vector store already")
        new = ir.Store(store.buffer, self.value, self.indices, self.predicate)
        if new.value.dtype.lanes != loop.extent.value * new.buffer.dtype.lanes:
            raise Misfit(f"the last index needs {loop.extent.value} lanes")
        if opaque_calls(loop, new):
            raise Misfit("an opaque call stays in its place")
        context = context_at(before, self.path, entry)
        after = before.with_body(ir.put(before.body, self.path, ir.refresh_binders(new)[0]))
        return Rewrite(after, _questions(context, loop, new, self.path))


def _only_store(loop: ir.For) -> ir.Store:
    """The only store of a loop, which may stand under conditions."""
    body = loop.body
    while isinstance(body, ir.If) and body.else_body is None:
        body = body.then_body
    if not isinstance(body, ir.Store):
        raise Misfit(f"the body of the loop over {loop.var.name} is not one store: fission it, and remove labels")
    return body


def _questions(context: Context, loop: ir.For, new: ir.Store, path: ir.Path) -> Iterator[Question]:
    yield from _reads_before_writes(context, loop, path)
    name, var = new.buffer.name, loop.var.name
    k, low = context.bind_loop(loop), context.encoder().value(loop.min)
    iteration = instance(context, loop.body, written=())
    vector = instance(context, new, written=())
    (was,), (now,) = ([a for a in run.accesses if a.write] for run in (iteration, vector))
    # A lane of the vector store, and the iteration and the lane of its element that it stands for.
    (lane,), width = now.inner, f.integer(new.buffer.dtype.lanes)
    given = [f.between(f.integer(0), lane, f.integer(new.value.dtype.lanes))]
    given.append(f.eq(k, f.add(low, f.floordiv(lane, width))))
    given.extend(f.eq(element, f.floormod(lane, width)) for element in was.inner)
    masked, stores = f.and_(*now.given), f.and_(*was.given)
    given.extend(f.implies(f.and_(*s.premises), s.condition) for _, s in iteration.safety)
    yield from safe_questions(context, (s for _, s in vector.safety), tuple(given), path)
    claim = f"a lane of the store to {name} is masked exactly where an iteration over {var} stores nothing"
    yield Question("vectorize", claim, context, tuple(given), f.eq(masked, stores), path)
    same_place = f.and_(*[f.eq(x, y) for x, y in zip(now.address, was.address, strict=True)])
    claim = f"each lane stores to {name} where its iteration of the loop over {var} does"
    yield Question("vectorize", claim, context, (*given, stores), same_place, path)
    same = f.and_(f.eq(was.written.value, now.written.value), now.written.defined)
    claim = f"each lane stores to {name} what its iteration of the loop over {var} does"
    yield Question("vectorize", claim, context, (*given, stores, was.written.defined), same, path)


def _reads_before_writes(context: Context, loop: ir.For, path: ir.Path) -> Iterator[Question]:
    """Questions whether no iteration reads what an earlier one wrote."""
    first, second = context.bind_loop(loop), context.bind_loop(loop)
    runs = [instance(context.bound([loop.var], [v]), loop.body) for v in (first, second)]
    reads = [a for a in runs[1].accesses if not a.write]
    why = f"no iteration of the loop over {loop.var.name} reads what an earlier one wrote"
    yield from no_dependence(context, runs[0].accesses, reads, (f.lt(first, second),), why, (*path, 0))
