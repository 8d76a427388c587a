"""A local buffer's elements move.

    B = alloc(s); S[B[x]]        ⟶        B′ = alloc(s′); S[B′[φ(x)]]

Theorem.  φ is injective on the box of B and stays within that of B′.  Then B′ holds at φ(x) what B holds at x, at
every moment: true at allocation (undefined everywhere), kept by every store, since a store to x changes φ(x) and no
other φ(x′).  So every load reads what it read.  Elements of B′ that are no φ(x) are undefined and nobody reads them.

Buffers with other views on the same block are refused: a view would have to move with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import Path, put
from verified_tir.ir.stmt import Allocate
from verified_tir.kernel.context import Entry, context_at
from verified_tir.kernel.obligation import NoMatch
from verified_tir.kernel.rules.common import statement_at
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.theorem import Rewrite


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
                after = before.with_body(put(before.body, self.path, Allocate(new, moved, annotations)))
                return Rewrite(after, self.layout.questions(context, old, self.path))
        return NoMatch(self.path, "no buffer is allocated here")
