"""Loops over the threads of a thread block, and what stands for a thread in them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Final, TypeAlias, final

from verified_tir.ir.dtype import INT32
from verified_tir.ir.expr import Binary, Call, Cast, Expr, IntImm, Load, Var
from verified_tir.ir.stmt import DeclBuffer, For, If, LetStmt, Stmt
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import walk
from verified_tir.validate.calls import needs_order
from verified_tir.validate.memory import Refused


def is_thread(tag: str) -> bool:
    """Whether a loop bound to ``tag`` is over the threads of a thread block."""
    return tag.startswith("threadIdx")


SHARED: Final = ("shared", "warp")


def is_shared(scope: str) -> bool:
    """Whether memory of this scope belongs to a thread block."""
    return scope.startswith(SHARED)


Header: TypeAlias = "For | LetStmt | DeclBuffer | If"  # of which only what it binds or asks counts, not its body


@final
@dataclass(frozen=True, slots=True)
class Threads:
    """The loops over threads around a place, and what each thread binds there, outermost first.

    ``private`` are the variables whose values differ between threads; ``room`` pairs each block that got room for
    every thread with the number of bytes for one.
    """

    headers: tuple[Header, ...] = ()
    private: frozenset[Var] = frozenset()
    room: tuple[tuple[Var, int], ...] = ()

    @property
    def partial(self) -> bool:
        """Whether only some threads are here: those for which a condition holds."""
        return any(isinstance(h, If) for h in self.headers)

    @property
    def loops(self) -> tuple[For, ...]:
        return tuple([h for h in self.headers if isinstance(h, For)])

    def around(self, stmt: Stmt) -> Stmt:
        """One phase: every thread runs the statement."""
        for header in reversed(self.headers):
            match header:
                case For():
                    stmt = replace(header, body=stmt, annotations=())
                case LetStmt() | DeclBuffer():
                    stmt = replace(header, body=stmt)
                case If(condition=c):
                    stmt = If(c, stmt)
        return stmt

    def binding(self, header: Header, *, private: Var | None = None) -> Threads:
        more = self.private if private is None else self.private | {private}
        return Threads((*self.headers, header), more, self.room)

    def extent(self, loop: For) -> int:
        """How many threads there are along a coordinate."""
        return fixed(loop.extent, f"the extent of {loop.thread}")

    def number(self) -> Expr:
        """The number of a thread among those of its thread block."""
        found: Expr = const(0, INT32)
        for loop in self.loops:
            extent = self.extent(loop)
            at: Expr = Binary("sub", loop.var, loop.min)
            at = at if at.dtype is INT32 else Cast(INT32, at)
            found = Binary("add", Binary("mul", found, const(extent, INT32)), at)
        return found

    def count(self) -> int:
        return prod([self.extent(loop) for loop in self.loops])

    def alike(self, *exprs: Expr) -> bool:
        """Whether expressions surely have the same value in all threads."""
        return not any(
            isinstance(n, Load) or n in self.private or (isinstance(n, Call) and needs_order(n))
            for e in exprs for n in walk(e)
        )  # fmt: skip


def thread_id(threads: Threads) -> Expr:
    """The number of a thread in its thread block, by which warps are made up: ``threadIdx.x`` counts fastest."""
    found: Expr = const(0, INT32)
    for loop in reversed(ordered(threads)):
        at = loop.var - loop.min
        found = found * threads.extent(loop) + (at if at.dtype is INT32 else Cast(INT32, at))
    return found


def ordered(threads: Threads) -> list[For]:
    """The loops over threads, the coordinate first that counts fastest."""
    return sorted(threads.loops, key=lambda loop: loop.thread)


def fixed(extent: Expr, what: str) -> int:
    if not isinstance(extent, IntImm):
        raise Refused(f"{what} is not a constant, and a barrier or an exchange is inside")
    return extent.value
