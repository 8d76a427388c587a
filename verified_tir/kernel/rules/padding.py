"""Padding that was free holds a value.

    ρ: A[y] is anything, or untouched, where padding        ⟶        ρ′: A[y] == v there, before and after
                                                                      or: A[y] == v there, after (owed)

Theorem.  f ⊑ρ g, where ρ says nothing of what the padding holds.  Memories related by ρ′ are related by ρ: they are
those in which the padding holds v at entry.  So from each of them g does what f does.  If g, run from such a memory,
ends with A[y] == v wherever there is padding, it has kept ρ′ too, and f ⊑ρ′ g.

If it is *owed* only, ρ′ relates the memories that ρ relates, and says more of the end; the same proof, from less.

``v`` may read A: then it is the value that the elements read have at that moment, at entry and again at exit.  (As
``relayout`` it could not be said of an A that is written: the program has to write the padding first.)  It may not be
read from padding whose value is read from A in turn, this one or another: ``A[y] == A[y] + 1`` is true of no memory,
and then ρ′ would relate none.  Where v is undefined nothing is said.

The relation records this as a layout change that moves nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import FALSE, Expr, Load, Undef, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Allocate, AttrStmt, Block, DeclBuffer, Evaluate, LetStmt, Seq, Stmt
from verified_tir.ir.visit import rewrite, substitute, walk
from verified_tir.kernel.begin import begin
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import opaque_calls
from verified_tir.kernel.memory import Entry, Padding
from verified_tir.kernel.obligation import Misfit, ParameterMap, Question
from verified_tir.kernel.region import instance
from verified_tir.kernel.rules.common import safe_questions
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.step import Rewrite
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import Encoded, Safety, fresh


@final
@dataclass(frozen=True, slots=True)
class PadValue:
    """Declare what the padding of the parameter ``buffer`` holds.

    :param position: which of its paddings, the latest first.
    :param value: over that padding's indices and the symbols; it may read ``buffer``.
    :param owed: whether it holds the value at exit only.
    """

    buffer: Buffer
    position: int
    value: Expr
    owed: bool = False

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite:
        old = self.buffer
        declared = [p for p in entry.paddings if p.buffer is old]
        if old not in before.buffers or not 0 <= self.position < len(declared):
            raise Misfit(f"{old.name} is no parameter with that padding")
        problem = self._problem(before, entry, declared[self.position])
        if problem is not None:
            raise Misfit(problem)
        new = Buffer.fresh(old.name, old.dtype, old.shape, old.scope, old.axis_separators)
        index = tuple(Var.fresh(v.name, v.dtype) for v in declared[self.position].indices)
        layout = LayoutMap(index, index, index, index, old.shape, FALSE)
        body = layout.move(before.body, old, new)
        buffer_map = tuple((p, new if b is old else b) for p, b in before.buffer_map)
        after = PrimFunc(before.name, before.params, buffer_map, body, before.attrs, before.ret_type)
        stated = [
            Padding(old, p.indices, p.predicate, self.value, self.owed) if k == self.position else p
            for k, p in enumerate(declared)
        ]
        paddings = tuple(
            Padding(new, p.indices, p.predicate, None if p.value is None else _moved(p.value, old, new), p.owed)
            for p in stated
        )
        others = tuple(p for p in entry.paddings if p.buffer is not old)
        context = begin(after, replace(entry, paddings=(*others, *paddings), shapes=(*entry.shapes, old)))
        record = ParameterMap(old, new, index, index, index, index, paddings)
        turns = [q for q in paddings if q.value is not None and _reads(q.value)]
        questions = _questions(context, after.body, _named_apart(paddings[self.position]), turns)
        return Rewrite(after, questions, (record,), {old: new}, heirs=((new.data, old.data),))

    def _problem(self, before: PrimFunc, entry: Entry, p: Padding) -> str | None:
        old, value = self.buffer, self.value
        if not (p.value is None or isinstance(p.value, Undef)):
            return f"that padding of {old.name} holds a value already"
        context = begin(before, entry)
        symbols = {v for v in context.env if v.dtype.is_int}
        if context.several_views(old.data) or old.strides:
            return f"{old.name} has other views or strides"
        if opaque_calls(before.body):
            return "an opaque call could write the padding"
        if isinstance(value, Undef) or value.dtype is not old.dtype:
            return f"the padding has type {value.dtype}, the elements of {old.name} {old.dtype}"
        for n in walk(value):
            if isinstance(n, Load) and n.buffer is not old:
                return "the padding's value may read no other buffer"
            if isinstance(n, Var) and n not in p.indices and n not in symbols and n is not old.data:
                return f"the padding's value mentions {n.name}"
        return None


def _moved(value: Expr, old: Buffer, new: Buffer) -> Expr:
    return rewrite(value, lambda n: Load(new, n.indices) if isinstance(n, Load) and n.buffer is old else None)


def _named_apart(p: Padding) -> Padding:
    """The padding over variables that occur nowhere else: the program may bind those in which it was stated."""
    assert p.value is not None
    own = {v: Var.fresh(v.name, v.dtype) for v in p.indices}
    return Padding(p.buffer, tuple(own.values()), substitute(p.predicate, own), substitute(p.value, own))


def _reads(value: Expr) -> bool:
    return any(isinstance(n, Load) for n in walk(value))


def _questions(context: Context, body: Stmt, p: Padding, turns: Sequence[Padding]) -> Iterator[Question]:
    """The value can be evaluated at entry, rests on no padding of ``turns``, and stands in the padding at exit."""
    assert p.value is not None
    _anywhere(here := context.fork(), p)
    safety: list[Safety] = []
    here.encoder(safety).encode(p.value)
    yield from safe_questions(here, safety, (), ())
    for load in instance(here, Evaluate(p.value), written=()).accesses:
        for q in turns:
            at = here.fork()
            at.env.update({v: Encoded(x, f.TRUE, False) for v, x in zip(q.indices, load.indices, strict=True)})
            claim = f"the padding of {p.buffer.name} is not read from such padding itself"
            apart = f.not_(at.encoder().value(q.predicate))
            yield Question("padding", claim, here, load.given, apart, (), "after")
    end = at_exit(context, body)
    goal = holds_value(end, p)
    claim = f"the padding of {p.buffer.name} holds its value at the end"
    yield Question("padding", claim, end, (), goal, (), "after")


def at_exit(context: Context, stmt: Stmt) -> Context:
    """What is known when the program has run, inside of all that it declares around its last statements."""
    here = context.fork()
    while True:
        match stmt:
            case Allocate() | DeclBuffer() | AttrStmt() | LetStmt() | Block(is_label=True):
                stmt = here.enter(stmt, 0)
            case Seq(stmts=(*first, last)):
                for s in first:
                    here.execute(s)
                stmt = last
            case _:
                here.execute(stmt)
                return here


def holds_value(context: Context, p: Padding) -> Term:
    """That the padding holds its value, at an arbitrary place of it to which the context is put."""
    assert p.value is not None
    _anywhere(context, p)
    found, wanted = (context.encoder().encode(e) for e in (Load(p.buffer, p.indices), p.value))
    return f.implies(wanted.defined, f.and_(found.defined, f.eq(found.value, wanted.value)))


def _anywhere(context: Context, p: Padding) -> None:
    """Put the context at an arbitrary place of the padding."""
    for v, extent in zip(p.indices, p.buffer.shape, strict=True):
        t = fresh(v.name, f.INT)
        context.env[v] = Encoded(t, f.TRUE, False)
        context.names[str(t.payload)] = v.name
        context.path.append(f.between(f.integer(0), t, context.encoder().value(extent)))
    context.assume(p.predicate)
