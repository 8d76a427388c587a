"""A loop of one store becomes one vector store.

    for i in [lo, lo + n): if c(i): B[a(i)] = v(i)        ⟶        B[a′] = v′ where c′        (n lanes)

Theorem.  Let lane k of a′, v′, c′ be a, v, c at i = lo + k, all of them as they are *before* the loop.  The vector
store evaluates all lanes first and then stores them in order, lanes without c′ excepted.  The loop stores the same
elements in the same order; and iteration k finds, in everything that it reads, what was there before the loop, provided
that no earlier iteration writes what it reads: by induction on k it stores the same value.  (That a later iteration
writes what an earlier one read does no harm: both read first.  Nor do two writes of one element: the order is kept.)

The lanes are given as witnesses (``indices``, ``value``, ``predicate``); the kernel asks whether they are the right
ones and safe in *every* lane, those included in which c is false.  That the loop evaluates its iterations safely may
be used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from verified_tir.ir.expr import Expr, IntImm, Load
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path, at, put
from verified_tir.ir.stmt import Block, For, If, Stmt, Store
from verified_tir.ir.visit import refresh_binders
from verified_tir.kernel.access import conflicts, overlap
from verified_tir.kernel.begin import context_at
from verified_tir.kernel.context import Context
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import Misfit, Question
from verified_tir.kernel.region import instance
from verified_tir.kernel.rules.common import check_scope, has_effect, safe_questions
from verified_tir.kernel.step import Rewrite
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import Encoded, Encoder, Safety, fresh


@final
@dataclass(frozen=True, slots=True)
class Lanes:
    """Replace the loop at ``path``, whose body is one store (under conditions), by a vector store.

    :param indices: the store's indices with the lanes of the loop in the last one.
    :param value: the value, element lanes × loop lanes.
    :param predicate: the conjunction of the conditions, lane by lane; ``None`` if there are none.
    """

    path: Path
    indices: tuple[Expr, ...]
    value: Expr
    predicate: Expr | None = None

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite:
        loop = at(before.body, self.path)
        if not isinstance(loop, For) or not isinstance(loop.extent, IntImm) or loop.extent.value < 2:
            raise Misfit("no loop of a constant extent of at least 2")
        found = _only_store(loop.body)
        if found is None:
            raise Misfit(f"the body of the loop over {loop.var.name} is not one store: distribute it first")
        labels, conditions, store = found
        if store.predicate is not None or (store.indices and store.indices[-1].dtype.lanes > 1):
            raise Misfit(f"the loop over {loop.var.name} holds a vector store already")
        new = Store(store.buffer, self.value, self.indices, self.predicate)
        if (new.indices[-1].dtype.lanes if new.indices else 1) != loop.extent.value:
            raise Misfit(f"the last index needs {loop.extent.value} lanes")
        if has_effect((*conditions, store.value, *store.indices, *_parts(new))):
            raise Misfit("an opaque call stays in its place")
        context = context_at(before, self.path, entry)
        check_scope(context, new)
        result: Stmt = refresh_binders(new)[0]
        for label in reversed(labels):
            result = Block.label(label.name, result, label.annotations)
        after = before.with_body(put(before.body, self.path, result))
        return Rewrite(after, _questions(context, loop, conditions, store, new, self.path))


def _only_store(body: Stmt) -> tuple[list[Block], list[Expr], Store] | None:
    """The labels and conditions around the only store of a body, outermost first."""
    labels: list[Block] = []
    conditions: list[Expr] = []
    while True:
        match body:
            case Store():
                return labels, conditions, body
            case If(condition=c, then_body=inner, else_body=None):
                conditions.append(c)
                body = inner
            case Block(is_label=True, body=inner):
                labels.append(body)
                body = inner
            case _:
                return None


def _parts(store: Store) -> tuple[Expr, ...]:
    return (store.value, *store.indices) if store.predicate is None else (store.value, *store.indices, store.predicate)


def _questions(
    context: Context, loop: For, conditions: list[Expr], old: Store, new: Store, path: Path
) -> Iterator[Question]:
    yield from _reads_before_writes(context, loop, path)
    lane, k = fresh("lane", f.INT), fresh(loop.var.name, f.INT)
    n, width = loop.extent, old.buffer.dtype.lanes
    assert isinstance(n, IntImm)
    in_lanes = f.between(f.integer(0), lane, f.integer(n.value * width))
    at_lane = context.fork()
    low = context.encoder().value(loop.min)
    at_lane.env[loop.var] = Encoded(k, f.TRUE, False)
    at_lane.names[str(k.payload)] = loop.var.name
    element = None if width == 1 else f.floormod(lane, f.integer(width))
    index = lane if width == 1 else f.floordiv(lane, f.integer(width))
    given = (in_lanes, f.eq(k, f.add(low, index)))

    was = _Iteration(at_lane, conditions, old, element)
    safety: list[Safety] = []
    now = _Lane(at_lane.encoder(safety), new, lane)
    yield from safe_questions(at_lane, safety, (*given, *was.known), path)
    name, var = old.buffer.name, loop.var.name
    claim = f"a lane of the store to {name} is masked exactly where an iteration of the loop over {var} stores nothing"
    if now.mask is not f.TRUE or was.condition is not f.TRUE:
        yield Question("lanes", claim, at_lane, (*given, *was.known), f.eq(now.mask, was.condition), path)
    runs = (*given, *was.known, was.condition)
    same_place = f.and_(*[f.eq(x, y) for x, y in zip(now.indices, was.indices, strict=True)])
    claim = f"each lane stores to {name} where its iteration of the loop over {var} does"
    yield Question("lanes", claim, at_lane, runs, same_place, path)
    same = f.and_(f.eq(was.value.value, now.value.value), now.value.defined)
    claim = f"each lane stores to {name} what its iteration of the loop over {var} does"
    yield Question("lanes", claim, at_lane, (*runs, was.value.defined), same, path)


class _Lane:
    """One lane of the vector store, encoded."""

    def __init__(self, encoder: Encoder, new: Store, lane: Term) -> None:
        self.value = encoder.encode(new.value, lane)
        self.mask = f.TRUE
        target = Load(new.buffer, new.indices, new.predicate)
        if new.predicate is not None:
            self.mask = encoder.mask(target, new.buffer, new.predicate, lane)
            encoder.premises = (self.mask,)
        self.indices, _ = encoder.address(target, new.buffer, new.indices, lane, ())


class _Iteration:
    """One iteration of the loop, encoded; ``known`` holds since the old program evaluates it safely."""

    def __init__(self, context: Context, conditions: list[Expr], old: Store, element: Term | None) -> None:
        safety: list[Safety] = []
        encoder = context.encoder(safety)
        found: list[Term] = []
        for c in conditions:
            e = encoder.encode(c)
            encoder.require("a branch on undef", c, e.defined)
            found.append(e.value)
            encoder.premises = (*encoder.premises, e.value)
        self.condition = f.and_(*found)
        self.value = encoder.encode(old.value, element)
        self.indices = tuple(encoder.encode(i).value for i in old.indices)
        self.known = tuple(f.implies(f.and_(*s.premises), s.condition) for s in safety)


def _reads_before_writes(context: Context, loop: For, path: Path) -> Iterator[Question]:
    """No iteration writes what a later one reads."""
    encoder = context.encoder()
    low, extent = encoder.value(loop.min), encoder.value(loop.extent)
    first, second = fresh(loop.var.name, f.INT), fresh(loop.var.name, f.INT)
    here = context.fork()
    here.names[str(first.payload)], here.names[str(second.payload)] = loop.var.name, f"{loop.var.name}'"
    runs = [instance(context, loop.body, env={loop.var: Encoded(v, f.TRUE, False)}) for v in (first, second)]
    ordered = (f.le(low, first), f.lt(first, second), f.lt(second, f.add(low, extent)))
    for a, b in conflicts(runs[0].accesses, (x for x in runs[1].accesses if not x.write)):
        assert a.buffer is not None
        claim = f"no iteration of the loop over {loop.var.name} reads what an earlier one wrote to {a.buffer.name}"
        given = (*ordered, *a.given, *b.given)
        yield Question("lanes", claim, here, given, f.not_(overlap(context, a, b)), (*path, 0, *a.place))
