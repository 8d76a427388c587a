"""InjectVirtualThread: loops bound to virtual threads become ordinary loops around single statements.

    for v in T.thread_binding(2, thread="vthread.x"):             t = T.alloc_buffer((2, 8), "float32")
        t = T.alloc_buffer((8,), "float32")                 for j in range(8):
        for j in range(8):                           ⟶          for v in T.unroll(2):
            t[j] = A[v, j]                                           t[v, j] = A[v, j]
        for j in range(8):                                  for j in range(8):
            B[v, j] = t[j]                                      for v in T.unroll(2):
                                                                    B[v, j] = t[v, j]

Virtual threads take turns, statement by statement.  Each gets its part of a local buffer (a first axis, so that the
pass runs on logical or physical buffers alike); the loop is distributed over the statements of its body and moved into
the loops that do not depend on it.  Where the kernel does not allow a step, the loop stays around what is left, which
is right, only less interleaved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir.ir.expr import IntImm
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Allocate, AttrStmt, Block, For, ForKind, If, Seq
from verified_tir.ir.visit import free_vars
from verified_tir.kernel.rules.couple import Couple
from verified_tir.lower.passes import Lowering, Pass
from verified_tir.schedule import moves
from verified_tir.schedule.rule_builders import moved, of_kind, unwrapped
from verified_tir.schedule.session import Session
from verified_tir.schedule.tactics.in_turn import is_zero
from verified_tir.schedule.tactics.layout import one_of_several
from verified_tir.schedule.tactics.loops import rebuild


@final
@dataclass(frozen=True, repr=False)
class InjectVirtualThread(Pass):
    """Replace loops over virtual threads.

    :ivar unroll: whether the loops that take their place are marked ``unrolled`` (if their extent is a constant).
    """

    unroll: bool = True

    def lower(self, work: Lowering) -> None:
        session = work.session
        while True:  # a loop that was distributed is several
            found = session.find(For, _is_virtual)
            if not found:
                return
            path, loop = found[-1]  # the innermost first: the others move past it
            if not _step(session, path, loop):
                kind: ForKind = "unrolled" if self.unroll and isinstance(loop.extent, IntImm) else "serial"
                session.apply(of_kind(path, kind))


def _is_virtual(loop: For) -> bool:
    return loop.thread.partition(".")[0] == "vthread"


def _step(session: Session, path: Path, loop: For) -> bool:
    """Bring the loop nearer to the single statements of its body; False if it stays where it is."""
    match loop.body:
        case Seq(stmts=stmts):
            return any(session.attempt(moves.fission(path, k)) for k in range(1, len(stmts)))
        case Block() | AttrStmt():
            return session.attempt(unwrapped((*path, 0)))
        case Allocate(buffer=b):  # each virtual thread has its part of the buffer
            own = loop.var if is_zero(loop.min) else loop.var - loop.min
            return session.attempt(Couple((*path, 0), one_of_several(b, own, loop.extent)), moved(path, "hoist"))
        case For() as inner if not _is_virtual(inner) and inner.kind != "thread_binding":
            return _interchange(session, path, loop, inner)
        case If(condition=c) if loop.var not in free_vars(c):
            return session.attempt(moves.hoist(path))
    return False


def _interchange(session: Session, path: Path, loop: For, inner: For) -> bool:
    if loop.var in {*free_vars(inner.min), *free_vars(inner.extent)}:
        return False
    return session.succeeds(lambda: rebuild(session, path, [loop, inner], [inner, loop]))
