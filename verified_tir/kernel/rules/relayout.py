"""A parameter's layout changes, and with it the function's interface.

    f(A): S[A[x]]        ⟶        f(A′): S[A′[φ(x)]]          ρ gains (φ, padding)

Theorem.  φ is injective on the box of A, stays within that of A′, and ``padding`` holds exactly where no element lives.
If at entry A′[φ(x)] is A[x] for all x, that stays so: a store to x changes φ(x) and no other φ(x′).  The program never
touches padding.  So padding that held a *value* at entry, as the relation assumes, holds it at exit, as the relation
owes; where it is *undef* nothing is known and nothing is owed; where it is *None* touching it has no meaning.  A value
that is itself read from a buffer that the program writes would not be kept; it is refused.

Padding declared earlier moves along: where A′'s element stands for an x in it, it keeps that declaration.

A symbol that the new shapes no longer show ([m, n] → [m, ⌈n/4⌉, 4] loses n) becomes an explicit parameter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Binary, Expr, Load, Not, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.visit import free_vars, rewrite, substitute, walk
from verified_tir.kernel.begin import begin
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import opaque_calls, written_blocks
from verified_tir.kernel.memory import Entry, Padding
from verified_tir.kernel.obligation import Misfit, ParameterMap, Question
from verified_tir.kernel.rules.common import safe_questions
from verified_tir.kernel.rules.layout import LayoutMap, anywhere, masked_lanes_safe
from verified_tir.kernel.rules.scope import extents_safe
from verified_tir.kernel.step import Rewrite
from verified_tir.semantics.encode import Safety


@final
@dataclass(frozen=True, slots=True)
class Relayout:
    """Move the parameter ``buffer`` by ``layout``.

    :param pad_value: over ``layout.inverse_inputs`` and the symbols; ``None`` forbids access, an ``Undef`` allows
        anything.  It may read ``buffer`` itself, at logical indices.
    """

    buffer: Buffer
    layout: LayoutMap
    pad_value: Expr | None
    separators: tuple[int, ...] = ()

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite:
        old = self.buffer
        if old not in before.buffers:
            raise Misfit(f"{old.name} is not a parameter")
        context = begin(before, entry)
        problem = self.layout.problem_of_all(old, context) or self._problem(before, old, context)
        if problem is not None:
            raise Misfit(problem)
        new = self.layout.moved(old, self.separators)
        body = self.layout.move(before.body, old, new)
        value = None if self.pad_value is None else self._moved(self.pad_value, new)
        after = _with_symbols(before, old, new, PrimFunc(
            before.name, before.params, tuple((p, new if b is old else b) for p, b in before.buffer_map), body,
            before.attrs, before.ret_type,
        ))  # fmt: skip
        padding = Padding(new, self.layout.inverse_inputs, self.layout.padding, value)
        record = ParameterMap(old, new, self.layout.inputs, self.layout.outputs, self.layout.inverse_inputs,
                              self.layout.inverse, (padding, *self._carried(entry, old, new)))  # fmt: skip
        inside = begin(after, Entry(shapes=(*entry.shapes, old)))
        questions = chain(self._questions(context, new), masked_lanes_safe(inside, after.body, new, ()))
        return Rewrite(after, questions, (record,), {old: new}, heirs=((new.data, old.data),))

    def _questions(self, context: Context, new: Buffer) -> Iterator[Question]:
        yield from extents_safe(context, new, ())
        yield from self.layout.whole(context, self.buffer, ())
        yield from self.layout.exact(context, self.buffer, ())
        if self.pad_value is not None:  # it has a meaning, and reads elements that were there before
            _, at_padding = anywhere(context, self.layout.inverse_inputs, self.layout.shape)
            at_padding.assume(self.layout.padding)
            safety: list[Safety] = []
            at_padding.encoder(safety).encode(self.pad_value)
            yield from safe_questions(at_padding, safety, (), ())

    def _problem(self, before: PrimFunc, old: Buffer, context: Context) -> str | None:
        if opaque_calls(before.body):
            return "an opaque call could see the parameter's layout"
        if self.pad_value is None:
            return None
        if self.pad_value.dtype is not old.dtype:
            return f"the padding has type {self.pad_value.dtype}, the elements of {old.name} {old.dtype}"
        allowed = {*self.layout.inverse_inputs, *(v for v in context.env if v.dtype.is_int)}
        for n in walk(self.pad_value):
            if isinstance(n, Load):
                if n.buffer is not old:
                    return "the padding's value may read no other buffer"
                if old.data in written_blocks(before.body):
                    return f"{old.name} is written, so a padding value read from it would not be kept"
            if isinstance(n, Var) and n not in allowed and n is not old.data:
                return f"the padding's value mentions {n.name}"
        return None

    def _moved(self, value: Expr, new: Buffer) -> Expr:
        """What a value of padding reads of the buffer, it reads where that is now."""
        old = self.buffer

        def visit(n: Node) -> Node | None:
            return Load(new, self.layout.apply(n.indices)) if isinstance(n, Load) and n.buffer is old else None

        return rewrite(value, visit)

    def _carried(self, entry: Entry, old: Buffer, new: Buffer) -> tuple[Padding, ...]:
        """Earlier padding of the parameter, seen through the inverse."""
        found = []
        for p in entry.paddings:
            if p.buffer is not old:
                continue
            mapping = dict(zip(p.indices, self.layout.inverse, strict=True))
            inside = Binary("and", Not(self.layout.padding), substitute(p.predicate, mapping))
            value = None if p.value is None else self._moved(substitute(p.value, mapping), new)
            found.append(Padding(new, self.layout.inverse_inputs, inside, value, p.owed))
        return tuple(found)


def _with_symbols(before: PrimFunc, old: Buffer, new: Buffer, after: PrimFunc) -> PrimFunc:
    """Symbols that no shape shows any longer become explicit parameters, be it that only the padding needs them."""
    shown = {e for b in after.buffers for e in b.shape}
    needed = [v for e in old.shape for v in free_vars(e)]
    lost = [v for v in dict.fromkeys(needed) if v not in shown and v not in after.params]
    if not lost:
        return after
    return PrimFunc(after.name, (*after.params, *lost), after.buffer_map, after.body, after.attrs, after.ret_type)
