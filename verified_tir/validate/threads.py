"""Barriers between threads, spelled out: loops over threads around what lies between two barriers.

    for tx in threads:                 for tx in threads:
        S                                  S
        T.tvm_storage_sync("shared")  ⟶  for tx in threads:
        R                                  R

What all threads of a thread block do before a barrier happens before what any of them does after it.  Between two
barriers, in one *phase*, they may run in any order; the serial one is taken, and a conflict is found like one between
the iterations of any loop that is no serial one.

The loops over ``threadIdx`` move inwards, past loops and branches that all threads run through alike.  What belongs to
one thread and lives longer than a phase (blocks of local memory, values of lets that were loaded) gets room for every
thread; what belongs to the thread block (shared memory) is allocated outside of these loops.  The result is an ordinary
program: the executor, the evaluation on demand and the interpreter run it like any other.

A barrier under a condition, or in a loop whose bounds differ between threads, is refused: some thread would wait for
ever.  A barrier of a warp may be under a condition if what is under it lies between two barriers of the thread block:
those threads of a warp that come to it wait for each other, and no other thread does anything meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import INT32
from verified_tir.ir.expr import Binary, Call, Expr, IntImm, Load, StringImm, Var
from verified_tir.ir.find import substitute_buffers
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
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import map_children, nodes_of, rewrite, walk
from verified_tir.validate.calls import BARRIER, needs_order
from verified_tir.validate.exchanges import ALLREDUCE, has_exchange, reduced
from verified_tir.validate.memory import Refused, Warps, is_own
from verified_tir.validate.shuffles import WARP, Shuffles, masks_of
from verified_tir.validate.thread_loops import Threads, fixed, is_shared, is_thread
from verified_tir.validate.thread_memory import for_each_thread, room_for_each_thread, roomy

KERNEL: Final = "threads of thread blocks"
"""The attribute around a program in phases: who meets whom is watched between two of the following."""
PHASE: Final = "barrier"
"""The attribute in place of a barrier."""
MISSING: Final = "missing"
"""The scope of a barrier that the program lacks: it orders, but threads that conflict across it are found."""
WARP_SCOPE: Final = "warp"
_WAITING: Final = ("shared", "shared.dyn", WARP_SCOPE)
_PARTIAL: Final = "a barrier or an exchange under a condition that threads may decide differently"
_SLOTS: Final = {"threadIdx.x": (0, 12), "threadIdx.y": (12, 12), "threadIdx.z": (24, 7)}


def slot(tag: str) -> int | None:
    """The first bit of a thread's number that is for this coordinate."""
    return _SLOTS[tag][0] if tag in _SLOTS else None


@once
def warps_of(body: Stmt) -> Warps | None:
    """The warps of the threads in a statement, if these have barriers of their own."""
    if not any(n.key == PHASE and n.node == WARP_SCOPE for n in nodes_of(body, AttrStmt)):
        return None
    extents = {loop.thread: fixed(loop.extent, f"the extent of {loop.thread}") for loop in nodes_of(body, For)
               if is_thread(loop.thread)}  # fmt: skip
    places, step = [], 1
    for tag in sorted(extents):
        places.append((*_SLOTS[tag], step))
        step *= extents[tag]
    return Warps(tuple(places), -(-step // WARP), WARP)


def may_meet(tag: str, scope: str, carried: bool) -> bool:
    """Whether iterations of a loop bound to ``tag`` (or of one that is bound to none) meet in memory of a scope.

    Where each has memory of its own, they may well write to the same addresses; only one that reads what another one
    wrote (``carried``) would find something else there.  Virtual threads are one thread.
    """
    if not tag or not is_own(scope):
        return True
    return (is_thread(tag) and is_shared(scope)) or (carried and not tag.startswith("vthread"))


def has_barrier(node: Node) -> bool:
    return any(n.op == BARRIER for n in nodes_of(node, Call))


def splits(node: Node) -> bool:
    """Whether loops over threads cannot stay around a statement: it has a barrier or an exchange between threads, or
    allocates for all of them."""
    return (
        has_barrier(node)
        or has_exchange(node)
        or any(
            (isinstance(n, Allocate) and is_shared(n.buffer.scope))
            or (isinstance(n, Block) and any(is_shared(b.scope) for b in n.alloc_buffers))
            for n in walk(node)
        )
    )


def in_phases(func: PrimFunc, *, identity: bool = False) -> PrimFunc:
    """The function without barriers and exchanges, and with shared memory allocated outside of the loops over threads.

    Loops that are bound to one thread and nested in each other are a program on its way: TVM has yet to unify them.
    Without barriers they stay as they are.

    :raises Refused: where threads may not all reach a barrier, or what they keep past it cannot be given room.
    """
    if not splits(func.body):
        return func
    try:
        return func.with_body(_Phases(masks_of(func), identity=identity).outside(func.body))
    except Refused:
        if has_barrier(func.body) or has_exchange(func.body):
            raise
        return func  # an allocation for each thread, then


# ------------------------------------------------------------------------------------------------------------ phases


@final
class _Phases:
    """Moves loops over threads inwards to the phases.

    ``masks`` are the values of masks (``shuffles.py``); ``identity``: reductions over threads begin with it.
    """

    def __init__(self, masks: Mapping[Var, Sequence[Expr]], *, identity: bool) -> None:
        self.masks, self.identity = masks, identity
        self.shuffles = Shuffles(masks, frozenset())
        self._blocks = 0  # loops over thread blocks around
        self._roomy: set[Var] = set()

    def outside(self, stmt: Stmt) -> Stmt:
        """A statement that no loop over threads is around."""
        match stmt:
            case For(thread=tag) if is_thread(tag) and splits(stmt):
                return self._kernel(stmt)
            case Seq(stmts=stmts):
                return seq(*[self.outside(s) for s in stmts])
            case Allocate():
                moved = self._moved(stmt)
                if moved is not None:
                    return self.outside(moved)
            case Block() if splits(stmt):
                kept, body = [], stmt.body
                for buffer in stmt.alloc_buffers:
                    moved = self._moved(Allocate(buffer, body))
                    kept += [buffer] if moved is None else []
                    body = body if moved is None else moved
                return replace(stmt, body=self.outside(body), alloc_buffers=tuple(kept))
            case Block():
                return stmt
            case _:
                pass
        # of what remains, a barrier is one thread's: it waits for nobody
        block = isinstance(stmt, For) and stmt.thread.startswith("blockIdx")
        self._blocks += block
        done = map_children(stmt, lambda n: self.outside(n) if isinstance(n, Stmt) else n)
        self._blocks -= block
        return done

    def _kernel(self, nest: For) -> Stmt:
        """The threads of thread blocks, in phases."""
        self.shuffles = Shuffles(self.masks, _coordinates(nest))
        try:
            return AttrStmt(KERNEL, "", const(0, INT32), self._for(nest, Threads()))
        except Refused:
            if has_barrier(nest) or has_exchange(nest):
                raise
            return nest  # an allocation for each thread, then

    def _moved(self, stmt: Allocate) -> Stmt | None:
        """The allocation in each thread, if threads have such memory for themselves and are going to run in phases."""
        if stmt.buffer.scope == "global" or is_shared(stmt.buffer.scope) or stmt.buffer.data in self._roomy:
            return None
        try:
            return for_each_thread(stmt, splits)
        except Refused as problem:
            try:
                opened = replace(stmt, body=rewrite(stmt.body, _opened))
                moved = room_for_each_thread(opened, within=self._blocks > 0)
            except Refused:
                raise problem from None
            self._roomy.add(stmt.buffer.data)
            return moved

    def inside(self, stmt: Stmt, threads: Threads) -> Stmt:
        """A statement that all threads run."""
        if not splits(stmt):
            return threads.around(stmt)
        match stmt:
            case Evaluate(value=Call(op=op) as call) if op == BARRIER:
                return self._barrier(call, threads)
            case Evaluate(value=Call(op=op) as call) if op == ALLREDUCE:
                return reduced(call, threads, identity=self.identity)
            case Store() | Evaluate():
                return self._exchange(stmt, threads)
            case LetStmt() if has_exchange(stmt.value):
                return self._exchange(stmt, threads)
            case Seq(stmts=stmts):
                return self._sequence(stmts, threads)
            case For():
                return self._for(stmt, threads)
            case If(condition=c, then_body=a, else_body=b):
                if not threads.alike(c):
                    raise Refused(_PARTIAL)
                return If(c, self.inside(a, threads), None if b is None else self.inside(b, threads))
            case LetStmt():
                return self._let(stmt, threads)
            case Allocate():
                return self._allocate(stmt, threads)
            case DeclBuffer(buffer=buffer, body=body):
                return self._declare(buffer, body, threads)
            case AttrStmt(body=body):
                return self.inside(body, threads)
            case Block():
                return self.inside(expanded(stmt), threads)
        raise Refused(f"a barrier inside a statement of class {type(stmt).__name__}")

    def _exchange(self, stmt: Store | LetStmt | Evaluate, threads: Threads) -> Stmt:
        if threads.partial:
            raise Refused(_PARTIAL)
        rest, sent = self.shuffles.without(stmt, threads)
        done = self.inside(rest, threads)
        for buffer, send in reversed(sent):
            done = Allocate(buffer, seq(send, done))
        return done

    def _sequence(self, stmts: Sequence[Stmt], threads: Threads) -> Stmt:
        done: list[Stmt] = []
        phase: list[Stmt] = []
        for k, s in enumerate(stmts):
            if not splits(s):
                phase.append(s)
                continue
            if phase:
                done.append(threads.around(seq(*phase)))
                phase = []
            between = 0 < k < len(stmts) - 1 and all(map(_waits_for_block, (stmts[k - 1], stmts[k + 1])))
            if isinstance(s, If) and between and not threads.alike(s.condition):
                done.append(self._for_some(s, threads))
            else:
                done.append(self.inside(s, threads))
        if phase:
            done.append(threads.around(seq(*phase)))
        return seq(*done)

    def _for(self, loop: For, threads: Threads) -> Stmt:
        if is_thread(loop.thread):
            if any(outer.thread == loop.thread for outer in threads.loops):
                raise Refused(f"a barrier in two nested loops that are both bound to {loop.thread}")
            if not threads.alike(loop.min, loop.extent):
                raise Refused(f"a barrier among threads whose number ({loop.thread}) differs between threads")
            bits = _SLOTS.get(loop.thread, (0, 0))[1]
            if fixed(loop.extent, f"the extent of {loop.thread}") > 1 << bits:
                raise Refused(f"a barrier among more than {1 << bits} threads along {loop.thread}")
            return self.inside(loop.body, threads.binding(loop, private=loop.var))
        if not threads.alike(loop.min, loop.extent):
            raise Refused(f"a barrier in the loop {loop.var.name}, whose bounds may differ between threads")
        body = self.inside(loop.body, threads)
        return replace(loop, body=body)

    def _let(self, stmt: LetStmt, threads: Threads) -> Stmt:
        """A value that all threads share is bound outside; another one by each thread in each phase, or kept."""
        if threads.alike(stmt.value):
            return LetStmt(stmt.var, stmt.value, self.inside(stmt.body, threads))
        if not any(isinstance(n, Load) or (isinstance(n, Call) and needs_order(n)) for n in walk(stmt.value)):
            again = LetStmt(stmt.var, stmt.value, Seq(()))
            return self.inside(stmt.body, threads.binding(again, private=stmt.var))
        kept = Buffer.declare(stmt.var.name, (threads.count(),), stmt.value.dtype, scope="local")
        at = threads.number()
        write = threads.around(Store(kept, stmt.value, (at,)))
        read = LetStmt(stmt.var, Load(kept, (at,)), Seq(()))
        return Allocate(kept, seq(write, self.inside(stmt.body, threads.binding(read, private=stmt.var))))

    def _allocate(self, stmt: Allocate, threads: Threads) -> Stmt:
        buffer, body = stmt.buffer, stmt.body
        if not threads.alike(*buffer.shape, *buffer.strides, buffer.elem_offset):
            raise Refused(f"the extents of {buffer.name} differ between threads, and it is needed past a barrier")
        if is_shared(buffer.scope):
            return Allocate(buffer, self.inside(body, threads))
        moved = for_each_thread(stmt, lambda loop: True)
        if moved is not None:
            return self.inside(moved, threads)
        whole, own, nbytes = roomy(buffer, body, threads)
        inner = threads.binding(DeclBuffer(own[buffer], Seq(())))
        inner = Threads(inner.headers, inner.private, (*threads.room, (buffer.data, nbytes)))
        return Allocate(whole, self.inside(substitute_buffers(body, own), inner))

    def _declare(self, buffer: Buffer, body: Stmt, threads: Threads) -> Stmt:
        shared = threads.alike(*buffer.shape, *buffer.strides, buffer.elem_offset)
        if shared and not any(data is buffer.data for data, _ in threads.room):
            return DeclBuffer(buffer, self.inside(body, threads))
        return self.inside(body, threads.binding(DeclBuffer(buffer, Seq(()))))

    def _barrier(self, call: Call, threads: Threads) -> Stmt:
        scope = next((a.value for a in call.args if isinstance(a, StringImm)), "")
        if scope == "global":
            raise Refused("a barrier between thread blocks")
        if scope == MISSING:  # the program does not have it
            return Seq(())
        if scope not in _WAITING:
            raise Refused(f"a barrier of scope {scope!r}: known are {', '.join(_WAITING)}")
        if threads.partial and scope != WARP_SCOPE:
            raise Refused(_PARTIAL)
        warps = scope == WARP_SCOPE and threads.count() > WARP
        return AttrStmt(PHASE, WARP_SCOPE if warps else "", const(0, INT32), Seq(()))

    def _for_some(self, stmt: If, threads: Threads) -> Stmt:
        """What those threads do for which a condition holds, in the phases between barriers of their warps."""
        c, body, otherwise = stmt.condition, stmt.then_body, stmt.else_body
        again = not any(isinstance(n, Load) or (isinstance(n, Call) and needs_order(n)) for n in walk(c))
        waits = [n for n in nodes_of(body, Call) if n.op == BARRIER]
        if otherwise is not None or not again or has_exchange(body) or not all(map(_of_warp, waits)):
            raise Refused(_PARTIAL)
        return self.inside(body, threads.binding(If(c, Seq(()))))


def expanded(block: Block) -> Stmt:
    """A block's instance as statements."""
    body = block.body
    if block.init is not None:
        first: Expr | None = None
        for iv in block.iter_vars:
            if iv.kind == "reduce":
                here = Binary("eq", iv.var, iv.min)
                first = here if first is None else Binary("and", first, here)
        body = seq(block.init if first is None else If(first, block.init), body)
    if not (isinstance(block.predicate, IntImm) and block.predicate.value):
        body = If(block.predicate, body)
    for buffer in reversed(block.alloc_buffers):  # outside of the condition, where all threads come by
        body = Allocate(buffer, body)
    for iv in reversed(block.iter_vars):
        body = LetStmt(iv.var, iv.value, body)
    return body


def _of_warp(wait: Call) -> bool:
    """Whether a barrier is one of a warp."""
    return any(isinstance(a, StringImm) and a.value == WARP_SCOPE for a in wait.args)


def _waits_for_block(stmt: Stmt) -> bool:
    """Whether a statement is a barrier of the thread block that the program has."""
    match stmt:
        case Evaluate(value=Call(op=op, args=(StringImm(value=scope), *_))) if op == BARRIER:
            return scope.startswith("shared")
    return False


def _opened(node: Node) -> Node | None:
    """What a block without axes runs, in its place: of what it declares, nothing matters here."""
    return expanded(node) if isinstance(node, Block) and not node.iter_vars else None


def _coordinates(nest: Stmt) -> frozenset[str]:
    """The coordinates that threads have in a nest of loops."""
    return frozenset(loop.thread for loop in nodes_of(nest, For) if is_thread(loop.thread))
