"""Change a loop's kind: serial, parallel, vectorized, unrolled, bound to a thread.

    for i in range(n): S    ⟷    for i in T.parallel(n): S

Theorem.  The meaning of a program is the serial one whatever the kinds say, so nothing changes.  What the new kind
permits an executor to do is proved separately: the licence, no conflict between two iterations
(``verified_tir.kernel.licences``), asked for this loop now and again after every later step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path, put
from verified_tir.ir.stmt import For, ForKind
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import NoMatch
from verified_tir.kernel.rules.common import kept, statement_at
from verified_tir.kernel.step import Rewrite


@final
@dataclass(frozen=True, slots=True)
class Kind:
    """Mark the loop at ``path``."""

    path: Path
    kind: ForKind
    thread: str = ""

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        target = statement_at(before, self.path)
        if isinstance(target, NoMatch):
            return target
        if not isinstance(target, For):
            return NoMatch(self.path, "not a loop")
        if (self.kind == "thread_binding") != bool(self.thread):
            return NoMatch(self.path, "a thread binding, and only one, names its thread")
        marked = For(target.var, target.min, target.extent, target.body, self.kind, self.thread, target.annotations)
        return Rewrite(before.with_body(put(before.body, self.path, marked)), (), kept=kept(before, self.path))
