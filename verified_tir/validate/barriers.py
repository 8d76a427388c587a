"""Barriers where threads meet in shared memory and there is none, as TVM's pass ThreadSync adds them later.

Programs that were lowered thus far (shared memory is allocated inside of ``T.launch_thread``, and the threads share
the copying into it) cannot be read in any other way: run one after the other, threads would read what nobody has
written.  Barriers go only where all threads come by, before a statement that may touch a block which another one since
the last barrier touches too, one of them writing; and at the head of a loop whose iterations meet so.  They order what
threads do, but excuse nothing: threads that conflict across one are found (``Loops.kernel``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, TypeAlias, TypeGuard

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import VOID, PointerType
from verified_tir.ir.expr import Call, Load, StringImm, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node, once
from verified_tir.ir.stmt import (
    Allocate,
    AttrStmt,
    Block,
    DeclBuffer,
    Evaluate,
    For,
    If,
    LetStmt,
    Seq,
    Stmt,
    Store,
    seq,
)
from verified_tir.ir.visit import rewrite, walk
from verified_tir.validate.calls import BARRIER, needs_order
from verified_tir.validate.memory import EXCHANGE, Refused
from verified_tir.validate.thread_loops import Threads, is_shared, is_thread
from verified_tir.validate.threads import (
    KERNEL,
    MISSING,
    PHASE,
    expanded,
    has_barrier,
    in_phases,
)


@once
def spelled_out(func: PrimFunc) -> PrimFunc:
    """The function without barriers (:func:`in_phases`), those that lack being taken to be there.

    A schedule stays as it is: in blocks with axes, statements are instances, and loops over threads are loops.

    :raises Refused: where threads may not all reach a barrier, or what they keep past it cannot be given room.
    """
    return _spelled_out(func, identity=False)


@once
def with_identities(func: PrimFunc) -> PrimFunc:
    """The same, but reductions over threads begin with the identity."""
    return _spelled_out(func, identity=True)


def _spelled_out(func: PrimFunc, *, identity: bool) -> PrimFunc:
    func = _without_marks(func)
    if any(isinstance(n, Block) and n.iter_vars for n in walk(func.body)):
        return in_phases(func, identity=identity)
    try:
        return in_phases(complete(func), identity=identity)
    except Refused:
        return in_phases(func, identity=identity)


def _without_marks(func: PrimFunc) -> PrimFunc:
    """The function without attributes that it shares with what is made of it: there they mark phases.

    :raises Refused: if it has memory of the scope in which threads exchange values.
    """
    nodes = list(walk(func.body))
    buffers = [*func.buffers, *[n for n in nodes if isinstance(n, Buffer)]]
    taken = next((b.name for b in buffers if b.scope == EXCHANGE), None)
    if taken is not None:
        raise Refused(f"{taken} has the scope {EXCHANGE!r}, by which the validator knows what threads exchange")
    if not any(_is_marked(n) for n in nodes):
        return func
    return func.with_body(rewrite(func.body, lambda n: n.body if _is_marked(n) else None))


def _is_marked(node: Node) -> TypeGuard[AttrStmt]:
    return isinstance(node, AttrStmt) and node.key in (KERNEL, PHASE)


def complete(func: PrimFunc) -> PrimFunc:
    """The function with a barrier wherever threads may meet in shared memory at places that they run through alike."""
    return func.with_body(_complete(func.body, None))


def _complete(stmt: Stmt, threads: Threads | None) -> Stmt:
    """``threads`` are those around the statement, ``None`` where there are none."""
    match stmt:
        case Seq(stmts=stmts):
            made = [_complete(s, threads) for s in stmts]
            return seq(*made) if threads is None else _separated(made)
        case For(var=var, min=low, extent=extent, body=body, thread=tag):
            inner = threads
            if is_thread(tag):
                if any(isinstance(n, For) and n.thread == tag for n in walk(body)):
                    return stmt
                inner = (threads or Threads()).binding(stmt, private=var)
            elif threads is not None and not threads.alike(low, extent):
                return stmt
            body = _complete(body, inner)
            if threads is not None and not is_thread(tag) and _again(body):
                body = _separated([_barrier(), body])
            return replace(stmt, body=body)
        case If(condition=c, then_body=a, else_body=b):
            if threads is not None and not threads.alike(c):
                return stmt
            return If(c, _complete(a, threads), None if b is None else _complete(b, threads))
        case LetStmt(var=var, value=value, body=body):
            inner = threads
            if threads is not None and not threads.alike(value):
                inner = threads.binding(LetStmt(var, value, Seq(())), private=var)
            return replace(stmt, body=_complete(body, inner))
        case Block() if threads is not None:
            return _complete(expanded(stmt), threads)
        case Allocate() | DeclBuffer() | AttrStmt() | Block():
            return replace(stmt, body=_complete(stmt.body, threads))
    return stmt


_Touched: TypeAlias = tuple[frozenset[Var], frozenset[Var]]
_NOTHING: Final[_Touched] = frozenset(), frozenset()


def _separated(stmts: Sequence[Stmt]) -> Stmt:
    """Statements in order, with a barrier before each that may meet one since the last barrier."""
    done: list[Stmt] = []
    phase = _NOTHING
    for s in stmts:
        if _meet(phase, s):
            done.append(_barrier())
            phase = _NOTHING
        done.append(s)
        if not has_barrier(s):
            phase = phase[0] | _shared(s)[0], phase[1] | _shared(s)[1]
            continue
        phase = _NOTHING
        if not _is_barrier(s):
            done.append(_barrier())  # what its last phase touched is not known here
    return seq(*done)


def _meet(phase: _Touched, stmt: Stmt) -> bool:
    """Whether a statement may touch what a phase touches, one of them writing."""
    (a, b), (c, d) = phase, _shared(stmt)
    return bool(b & (c | d) or d & (a | b))


def _again(body: Stmt) -> bool:
    """Whether an iteration may read what another one writes."""
    reads, writes = _shared(body)
    return bool(reads & writes)


@once
def _shared(stmt: Stmt) -> _Touched:
    """The blocks of shared memory that a statement reads, and writes; opaque calls do both."""
    reads: set[Var] = set()
    writes: set[Var] = set()
    for n in walk(stmt):
        match n:
            case Load(buffer=b) if is_shared(b.scope):
                reads.add(b.data)
            case Store(buffer=b) if is_shared(b.scope):
                writes.add(b.data)
            case Call() if needs_order(n):
                writes |= {v for v in walk(n) if isinstance(v, Var) and isinstance(v.type, PointerType)}
    return frozenset(reads), frozenset(writes)


def _barrier() -> Stmt:
    return Evaluate(Call(VOID, BARRIER, (StringImm(MISSING),)))


def _is_barrier(stmt: Stmt) -> bool:
    return isinstance(stmt, Evaluate) and isinstance(stmt.value, Call) and stmt.value.op == BARRIER
