"""What a refused program does at the place that is to blame, as advice and plain claims speak of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Load
from verified_tir.ir.find import local_buffers, writes_of
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import at, loops_around
from verified_tir.ir.stmt import Allocate, Block, DeclBuffer, For, Stmt, Store
from verified_tir.ir.visit import free_vars, nodes_of

if TYPE_CHECKING:
    from verified_tir.schedule.errors import ScheduleError


@final
@dataclass(frozen=True)
class Seen:
    """A refusal and what its program does at the place."""

    refused: ScheduleError

    @cached_property
    def primitive(self) -> str:
        return self.refused.step.partition("(")[0]

    @property
    def claim(self) -> str:
        return self.refused.reason

    @cached_property
    def first(self) -> str:
        """The first argument of the step, as text: mostly a loop, a block or a buffer."""
        found = re.match(r"\w+\((\w+)", self.refused.step)
        return found[1] if found else ""

    @cached_property
    def stmt(self) -> Stmt:
        try:
            return at(self.refused.program.body, self.refused.place)
        except IRError:
            return self.refused.program.body

    @cached_property
    def buffers(self) -> dict[str, Buffer]:
        """All buffers of the program by name."""
        body = self.refused.program.body
        views = [s.buffer for s in nodes_of(body, DeclBuffer)]
        blocks = [b for s in nodes_of(body, Block) for b in s.alloc_buffers]
        return {b.name: b for b in (*views, *blocks, *local_buffers(body), *self.refused.program.buffers)}

    @cached_property
    def buffer(self) -> str:
        """The buffer that the claim is about: the one after ``of``, ``to`` or ``into``, or the first one."""
        _, equals, right = self.claim.partition(" equals ")
        words = re.findall(r"[A-Za-z_]\w*", right) if equals else []
        words += re.findall(r"\b(?:of|to|into) ([A-Za-z_]\w*)", self.claim) + re.findall(r"[A-Za-z_]\w*", self.claim)
        named = next((w for w in words if w in self.buffers), "")
        stores = writes_of(self.stmt)
        return named or (stores[0].buffer.name if stores else next(iter(self.buffers), "the buffer"))

    @property
    def is_local(self) -> bool:
        return any(s.buffer.name == self.buffer for s in nodes_of(self.refused.program.body, Allocate))

    @cached_property
    def update(self) -> Store | None:
        """A store at the place that adds to, or otherwise updates, the buffer of the claim."""
        for s in writes_of(self.stmt):
            reads = [n for n in nodes_of(s.value, Load) if n.buffer is s.buffer]
            if s.buffer.name == self.buffer and reads and all(n.indices == s.indices for n in reads):
                return s
        return None

    @cached_property
    def around(self) -> list[For]:
        """The loops around the place and at it."""
        try:
            loops = loops_around(self.refused.program.body, self.refused.place)
        except IRError:
            loops = []
        return [*loops, *([self.stmt] if isinstance(self.stmt, For) else [])]

    @property
    def loop(self) -> str:
        """The innermost loop around the place."""
        return self.around[-1].var.name if self.around else "the loop"

    @property
    def symbols(self) -> list[str]:
        shapes = [v.name for b in self.refused.program.buffers for e in b.shape for v in free_vars(e)]
        return list(dict.fromkeys(shapes))

    @cached_property
    def what(self) -> str:
        """What the claim says it about: the text before the kind of a safety condition."""
        return self.claim.rpartition(": ")[0] or self.claim
