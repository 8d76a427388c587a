"""Change the layout of a parameter, and with it the interface of the function.

    f(A): S[A[x]]        ⟶        f(A′): S[A′[φ(x)]]          ρ gains (φ, padding)

Theorem.  φ is injective on the box of A, stays within that of A′, and ``padding`` holds exactly where no element is
mapped. If at entry A′[φ(x)] is A[x] for all x, that stays so: a store to x changes φ(x) and no other φ(x′).  The
program never touches padding.  So padding that held a *value* at entry, as the relation assumes, holds it at exit, as
the relation owes; where it is *undef* nothing is known and nothing is owed; where it is *None* touching it has no
meaning.  A value that is itself read from a buffer that the program writes need not be the same at exit; then that is
owed (``padding``).

Padding declared earlier moves along: where A′'s element stands for an x in it, it keeps that declaration.

A symbol that the new shapes no longer show ([m, n] → [m, ⌈n/4⌉, 4] loses n) becomes an explicit parameter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import final

from verified_tir import ir
from verified_tir.kernel.begin import begin
from verified_tir.kernel.effects import opaque_calls
from verified_tir.kernel.memory import Entry, Padding
from verified_tir.kernel.obligation import Misfit, ParameterMap
from verified_tir.kernel.rules.layout import LayoutMap, masked_lanes_safe
from verified_tir.kernel.rules.padding import holds
from verified_tir.kernel.rules.scope import extents_safe
from verified_tir.kernel.step import Rewrite


@final
@dataclass(frozen=True, slots=True)
class Relayout:
    """Move the parameter ``buffer`` by ``layout``.

    :param pad_value: over ``layout.inverse_inputs`` and the symbols; ``None`` forbids access, an ``Undef`` allows
        anything.  It may read ``buffer`` itself, at its indices before the step.
    """

    buffer: ir.Buffer
    layout: LayoutMap
    pad_value: ir.Expr | None
    separators: tuple[int, ...] = ()

    def rewrite(self, before: ir.PrimFunc, entry: Entry) -> Rewrite:
        old, layout = self.buffer, self.layout
        if old not in before.buffers:
            raise Misfit(f"{old.name} is not a parameter")
        if opaque_calls(before.body):
            raise Misfit("an opaque call could see the parameter's layout")
        context = begin(before, entry)
        new = layout.successor(old, context, self.separators)
        value = None if self.pad_value is None else layout.move(self.pad_value, old, new)
        padding = Padding(new, layout.inverse_inputs, layout.padding, value)
        carried = [self._carried(p, new) for p in entry.paddings if p.buffer is old]
        record = ParameterMap(
            old, new, layout.inputs, layout.outputs, layout.inverse_inputs, layout.inverse, (padding, *carried)
        )
        after = _moved(before, old, new, layout.move(before.body, old, new))
        inside = begin(after, replace(entry, paddings=record.declared(entry.paddings)))
        questions = chain(
            extents_safe(context, new, ()),
            layout.whole(context, old, ()),
            [layout.exact(context, old, ())],
            masked_lanes_safe(inside, after.body, new, ()),
            holds(inside, padding, untouched=True),
        )
        return Rewrite(after, questions, record, heirs=((new.data, old.data),))

    def _carried(self, p: Padding, new: ir.Buffer) -> Padding:
        """Earlier padding of the parameter, seen through the inverse."""
        layout, at = self.layout, dict(zip(p.indices, self.layout.inverse, strict=True))
        inside = ir.Binary("and", ir.Not(layout.padding), ir.substitute(p.predicate, at))
        value = None if p.value is None else layout.move(ir.substitute(p.value, at), self.buffer, new)
        return Padding(new, layout.inverse_inputs, inside, value, p.owed)


def _moved(before: ir.PrimFunc, old: ir.Buffer, new: ir.Buffer, body: ir.Stmt) -> ir.PrimFunc:
    """The function with another parameter and body; symbols that no shape shows any longer become explicit
    parameters."""
    buffer_map = tuple((p, new if b is old else b) for p, b in before.buffer_map)
    known = {*before.params, *(e for _, b in buffer_map for e in b.shape)}
    lost = dict.fromkeys(v for e in old.shape for v in ir.free_vars(e) if v not in known)
    return replace(before, params=(*before.params, *lost), buffer_map=buffer_map, body=body)
