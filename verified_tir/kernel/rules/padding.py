"""Padding that was free is declared to have a value.

    ρ: A[y] is anything, or untouched, where padding        ⟶        ρ′: A[y] == v there, before and after
                                                                      or: A[y] == v there, after (owed)

Theorem.  f ⊑ρ g, where ρ says nothing of what the padding holds.  Memories related by ρ′ are related by ρ: they are
those in which the padding holds v at entry.  So from each of them g does what f does.  If g, run from such a memory,
ends with A[y] == v wherever there is padding, it has kept ρ′ too, and f ⊑ρ′ g.  Where the padding is *untouched* in ρ,
g has a meaning only if it leaves it alone; so it holds at the end what it held, and that is v if v is what it was.

If it is *owed* only, ρ′ relates the memories that ρ relates, and says more of the end; the same proof, from less.  What
the padding held is then nothing that is known, so that it was left alone is not enough.

``v`` may read A: then it is the value that the elements read have at that moment, at entry and again at exit.  It may
not be read from padding whose value is read from A in turn, this one or another: ``A[y] == A[y] + 1`` is true of no
memory, and then ρ′ would relate none.  Where v is undefined nothing is said.  So what v reads is defined at exit, and
no padding that is undefined: a later step may define it, and then more would be said than was proved.

The program does not change.  The relation records this as a layout change that moves nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import final

from verified_tir import ir
from verified_tir.kernel.begin import begin
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import opaque_calls
from verified_tir.kernel.memory import Entry, Padding
from verified_tir.kernel.obligation import Misfit, ParameterMap, Question
from verified_tir.kernel.region import instance
from verified_tir.kernel.rules.common import safe_questions
from verified_tir.kernel.rules.layout import anywhere
from verified_tir.kernel.step import Rewrite
from verified_tir.logic import formula as f


@final
@dataclass(frozen=True, slots=True)
class PadValue:
    """Declare what the padding of the parameter ``buffer`` holds.

    :param position: which of its paddings, the latest first.
    :param value: over that padding's indices and the symbols; it may read ``buffer``.
    :param owed: whether it holds the value at exit only.
    """

    buffer: ir.Buffer
    position: int
    value: ir.Expr
    owed: bool = False

    def rewrite(self, before: ir.PrimFunc, entry: Entry) -> Rewrite:
        buffer, k = self.buffer, self.position
        declared = [p for p in entry.paddings if p.buffer is buffer]
        if not 0 <= k < len(declared):
            raise Misfit(f"{buffer.name} is not a parameter with that padding")
        was = declared[k].value
        if not (was is None or isinstance(was, ir.Undef)):
            raise Misfit(f"that padding of {buffer.name} holds a value already")
        declared[k] = replace(declared[k], value=self.value, owed=self.owed)
        same = declared[k].indices
        record = ParameterMap(buffer, buffer, same, same, same, same, tuple(declared))
        context = begin(before, replace(entry, paddings=record.declared(entry.paddings)))
        return Rewrite(before, holds(context, declared[k], untouched=was is None), record)


def holds(context: Context, p: Padding, untouched: bool) -> Iterator[Question]:
    """That padding, of which ``context`` knows at entry, holds its value then and at the end.

    :param untouched: whether the program has no meaning if it touches it.
    """
    value, body = p.value, context.func.body
    if value is None:
        return
    _check(context, p, value)
    ys, here = anywhere(context, p.indices, p.buffer.shape)
    here = here.bound(p.indices, ys)
    here.passed(here.encoder().encode(p.predicate))
    run = instance(here, ir.Evaluate(value))
    yield from safe_questions(run.context, (s for _, s in run.safety), (), ())
    for load in run.accesses:  # what the value reads is no padding that is undefined, or read from memory in turn
        for q in here.entry.paddings:
            if q.buffer is load.buffer and any(isinstance(n, (ir.Load, ir.Undef)) for n in ir.walk(q.at_entry)):
                inside = here.bound(q.indices, load.indices).encoder().value(q.predicate)
                claim = f"the padding of {p.buffer.name} is read from no padding that is undefined, or read itself"
                yield Question("padding", claim, run.context, load.given, f.not_(inside), (), "after")
    if not untouched or p.owed or opaque_calls(body) or ir.nodes_of(value, ir.Load):
        context.execute(body)
        yield holds_value(context, p, value)


def _check(context: Context, p: Padding, value: ir.Expr) -> None:
    """That a value may be said of the padding: one of its type, which depends on its place, sizes and its buffer.

    :raises Misfit: if not.
    """
    if value.dtype is not p.buffer.dtype:
        raise Misfit(f"the padding has type {value.dtype}, the elements of {p.buffer.name} {p.buffer.dtype}")
    known = {*p.indices, p.buffer, p.buffer.data, *(v for v in context.env if v.dtype.is_int)}
    known.difference_update(ir.bound_vars(value))  # it could capture an index, when the layout changes
    for n in ir.walk(value):
        if isinstance(n, (ir.Var, ir.Buffer)) and n not in known:
            raise Misfit(f"the padding's value mentions {n.name}")


def holds_value(context: Context, p: Padding, value: ir.Expr) -> Question:
    """The question whether the padding has its value here.

    The padding's own variables are not bound in the question's context: the program may bind those, too.
    """
    ys, here = anywhere(context, p.indices, p.buffer.shape)
    encoder = here.bound(p.indices, ys).encoder()
    lane = here.any_lane(value)
    found, wanted = encoder.encode(ir.Load(p.buffer, p.indices), lane), encoder.encode(value, lane)
    same, reads = f.and_(found.defined, f.eq(found.value, wanted.value)), ir.nodes_of(value, ir.Load)
    goal = f.and_(wanted.defined, same) if reads else f.implies(wanted.defined, same)
    claim = f"the padding of {p.buffer.name} holds its value at the end"
    return Question("padding", claim, here, (encoder.value(p.predicate),), goal, (), "after")
