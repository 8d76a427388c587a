"""Races: conflicts between iterations of a ``parallel``, thread-bound or ``vectorized`` loop.

The meaning of such a loop is the serial one.  A finding says that two *different* iterations accessed one byte of one
block, one of them writing: executed as the loop's kind permits, the program may mean something else.  Findings are
values; they never stop a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, final

from verified_tir.ir.expr import Var
from verified_tir.ir.stmt import ForKind
from verified_tir.semantics.memory import View

FindingKind = Literal["race", "lane-conflict"]
WATCHED: dict[ForKind, FindingKind] = {
    "parallel": "race",
    "thread_binding": "race",
    "vectorized": "lane-conflict",
}


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """Two ``iterations`` of the loop over ``var`` conflict at ``buffer[indices]`` (as the later one names it)."""

    kind: FindingKind
    var: Var
    buffer: str
    indices: tuple[int, ...]
    iterations: tuple[int, int]

    def __str__(self) -> str:
        element = f"{self.buffer}[{', '.join(map(str, self.indices))}]"
        return f"{self.kind} at {element} between {self.var.name} = {self.iterations[0]} and {self.iterations[1]}"


@final
@dataclass(slots=True)
class _Accessed:
    """The first iteration that read a byte, and the first that wrote it.

    Iterations run in order, so if an access conflicts with any earlier iteration, it conflicts with one of these.
    """

    reader: int | None = None
    writer: int | None = None

    def conflict(self, iteration: int, write: bool) -> int | None:
        """Note an access; an earlier iteration that it conflicts with, if there is one."""
        earlier = (self.writer, self.reader) if write else (self.writer,)
        if write and self.writer is None:
            self.writer = iteration
        if not write and self.reader is None:
            self.reader = iteration
        return next((other for other in earlier if other is not None and other != iteration), None)


@final
@dataclass(slots=True)
class _Loop:
    """One execution of a watched loop, at its current iteration.

    Bytes are told apart by the number of their block, so what an iteration allocates for itself is shared by none.
    """

    kind: FindingKind
    var: Var
    iteration: int = 0
    touched: dict[tuple[int, int], _Accessed] = field(default_factory=dict)


@final
class Watch:
    """Keeps, for each watched loop in execution, who touched what.

    Of each loop and block only the first finding is kept.
    """

    def __init__(self) -> None:
        self.loops: list[_Loop] = []
        self.found: dict[tuple[Var, str], Finding] = {}

    def enter(self, kind: FindingKind, var: Var) -> None:
        """A watched loop begins."""
        self.loops.append(_Loop(kind, var))

    def iterate(self, iteration: int) -> None:
        """The innermost watched loop begins an iteration."""
        self.loops[-1].iteration = iteration

    def leave(self) -> None:
        """The innermost watched loop ends."""
        self.loops.pop()

    def access(self, view: View, indices: Sequence[int], *, write: bool) -> None:
        """An element is read or written; the access is known to be in bounds."""
        block = view.block
        start = view.locate(indices)
        for loop in self.loops:
            if (loop.var, block.name) in self.found:
                continue
            for byte in range(start, start + view.nbytes):
                touched = loop.touched.setdefault((block.number, byte), _Accessed())
                other = touched.conflict(loop.iteration, write)
                if other is not None:
                    self.found[loop.var, block.name] = Finding(
                        loop.kind, loop.var, view.name, tuple(indices), (other, loop.iteration)
                    )
                    break

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was found, in the order in which it was."""
        return tuple(self.found.values())
