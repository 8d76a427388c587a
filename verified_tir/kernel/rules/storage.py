"""A local buffer's elements move.

    B = alloc(s); S[B[x]]        ⟶        B′ = alloc(s′); S[B′[φ(x)]]

Theorem.  φ is injective on the box of B and stays within that of B′.  Then B′ holds at φ(x) what B holds at x, at
every moment: true at allocation (undefined everywhere), kept by every store, since a store to x changes φ(x) and no
other φ(x′).  So every load reads what it read.  Elements of B′ that are no φ(x) are undefined and nobody reads them.

Buffers with other views on the same block are refused: a view would have to move with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import FALSE, Expr, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import Path, put
from verified_tir.ir.stmt import Allocate, Stmt
from verified_tir.kernel.access import conflicts
from verified_tir.kernel.begin import context_at
from verified_tir.kernel.context import Context
from verified_tir.kernel.memory import Allocated, Entry, Version
from verified_tir.kernel.obligation import NoMatch, Question
from verified_tir.kernel.region import instance
from verified_tir.kernel.rules.common import evaluated_safely, loads_in, statement_at
from verified_tir.kernel.rules.layout import LayoutMap, masked_lanes_safe
from verified_tir.kernel.rules.scope import extents_safe
from verified_tir.kernel.step import Rewrite
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import Encoded


@final
@dataclass(frozen=True, slots=True)
class Storage:
    """Move the buffer allocated at ``path`` by ``layout``."""

    path: Path
    layout: LayoutMap
    separators: tuple[int, ...] = ()

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        match statement_at(before, self.path):
            case NoMatch() as refusal:
                return refusal
            case Allocate(buffer=old, body=body, annotations=annotations):
                context = context_at(before, self.path, entry)
                if context.several_views(old.data) or old.strides:
                    return NoMatch(self.path, f"{old.name} has other views or strides; they would have to move with it")
                problem = self.layout.problem(old, set(context.env))
                if problem is not None:
                    return NoMatch(self.path, problem)
                new = Buffer.declare(
                    old.name, self.layout.shape, old.dtype, scope=old.scope, axis_separators=self.separators
                )
                try:
                    moved = self.layout.move(body, old, new)
                except IRError as reason:
                    return NoMatch(self.path, str(reason))
                allocated = Allocate(new, moved, annotations)
                questions = chain(
                    self.layout.questions(context, old, self.path),
                    masked_lanes_safe(context, allocated, new, self.path),
                )
                after = before.with_body(put(before.body, self.path, allocated))
                return Rewrite(after, questions, heirs=((new.data, old.data),))
        return NoMatch(self.path, "no buffer is allocated here")


@final
@dataclass(frozen=True, slots=True)
class Compact:
    """Move the elements that are touched, and only those, by ``outputs`` over ``inputs``; φ may mention outer
    variables.

        for i: B = alloc(100); … B[4 * i + j] …     ⟶     for i: B′ = alloc(4); … B′[j] …

    The same theorem, with φ injective and in bounds on the elements that some instance of the body touches: B′ holds at
    φ(x) what B holds at x, for every such x.  Owes: φ is safe and in bounds at each access; no two accesses, one of
    them
    writing, touch different elements with equal φ.
    """

    path: Path
    inputs: tuple[Var, ...]
    outputs: tuple[Expr, ...]
    shape: tuple[Expr, ...]

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        match statement_at(before, self.path):
            case NoMatch() as refusal:
                return refusal
            case Allocate(buffer=old, body=body, annotations=annotations):
                context = context_at(before, self.path, entry)
                if context.several_views(old.data) or old.strides:
                    return NoMatch(self.path, f"{old.name} has other views or strides; they would have to move with it")
                if len(self.inputs) != len(old.shape) or len(self.outputs) != len(self.shape):
                    return NoMatch(self.path, "the map does not fit the buffer's rank or the new shape's")
                if loads_in((*self.outputs, *self.shape)):
                    return NoMatch(self.path, "a layout may not depend on the contents of memory")
                new = Buffer.declare(old.name, self.shape, old.dtype, scope=old.scope)
                layout = LayoutMap(self.inputs, self.outputs, (), (), self.shape, FALSE)
                try:
                    moved = layout.move(body, old, new)
                except IRError as reason:
                    return NoMatch(self.path, str(reason))
                allocated = Allocate(new, moved, annotations)
                questions = chain(
                    masked_lanes_safe(context.fork(), allocated, new, self.path),
                    self._questions(context, old, new, body),
                )
                after = before.with_body(put(before.body, self.path, allocated))
                return Rewrite(after, questions, heirs=((new.data, old.data),))
        return NoMatch(self.path, "no buffer is allocated here")

    def _questions(self, context: Context, old: Buffer, new: Buffer, body: Stmt) -> Iterator[Question]:
        yield from extents_safe(context, new, self.path)
        extents = [context.encoder().value(e) for e in self.shape]
        context.memory[old.data] = Version(old.data, Allocated())
        runs = [[a for a in instance(context, body).accesses if a.buffer is old] for _ in range(2)]
        images: dict[int, list[Term]] = {}
        for a in (*runs[0], *runs[1]):
            here = context.fork()
            here.env.update({v: Encoded(x, f.TRUE, False) for v, x in zip(self.inputs, a.indices, strict=True)})
            images[id(a)] = [here.encoder().value(e) for e in self.outputs]
            place = (*self.path, 0, *a.place)
            if a in runs[0]:
                yield from evaluated_safely(here, self.outputs, a.given, place)
                inside = f.and_(*[f.between(f.integer(0), y, n) for y, n in zip(images[id(a)], extents, strict=True)])
                yield Question(
                    "layout", f"what is touched of {old.name} fits the new shape", context, a.given, inside, place
                )
        for a, b in conflicts(runs[0], runs[1]):
            meet = f.and_(*[f.eq(x, y) for x, y in zip(images[id(a)], images[id(b)], strict=True)])
            same = f.and_(*[f.eq(x, y) for x, y in zip(a.indices, b.indices, strict=True)])
            claim = f"no two touched elements of {old.name} share a place"
            given = (*a.given, *b.given, meet)
            yield Question("layout", claim, context, given, same, (*self.path, 0, *a.place))
