"""Memory that each thread, or each block of threads, has of its own, where the text declares it outside of their loop.

TVM's texts allocate all buffers at the root of a function; where one lives is decided when the program is lowered
(``PlanAndUpdateBufferAllocationLocation``).  That matters for what threads do not share: of scope ``local`` each
thread has its own, of ``shared``, ``warp`` and ``wmma`` each block of threads.  So a buffer all of whose uses stand in
one loop over such threads is allocated there, with its views, once it is proved that no iteration uses what another
one stored.  Without this the program would not be free of races (``kernel.race_free``).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import PointerType
from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.paths import Path, at, places, put
from verified_tir.ir.stmt import Allocate, Block, DeclBuffer, For, Stmt
from verified_tir.ir.visit import children, mentions, nodes_of, rewrite, sub_statements, substitute
from verified_tir.ir.wellformed import declares

_BLOCKS: Final = ("blockIdx", "clusterCtaIdx")
_OWNERS: Final = {"local": ("threadIdx", *_BLOCKS), **dict.fromkeys(("shared", "warp", "wmma"), _BLOCKS)}
"""The thread axes of which each has memory of a scope of its own, by the scope's first word."""


def owners(scope: str) -> tuple[str, ...]:
    """The thread axes of which each has memory of this storage scope of its own."""
    return _OWNERS.get(scope.partition(".")[0], ())


def has_threads(func: PrimFunc) -> bool:
    """Whether some loop of a function is bound to a thread axis."""
    return any(loop.kind == "thread_binding" for loop in nodes_of(func.body, For))


def misplaced(func: PrimFunc) -> dict[Buffer, Var]:
    """The buffers that would be allocated in a loop of threads, instead of outside; and that loop."""
    found: dict[Buffer, Var] = {}
    if has_threads(func):
        for _, home in places(func.body, lambda s: isinstance(s, (Allocate, Block))):
            for buffer in declares(home):
                if not isinstance(home, DeclBuffer) and (path := owner(home, buffer, buffer.scope)) is not None:
                    loop = at(home, path)
                    assert isinstance(loop, For)
                    found[buffer] = loop.var
    return found


def crossing(func: PrimFunc) -> list[Allocate]:
    """The allocations around loops whose threads use the memory, and would have it each its own."""
    found = [s for s in nodes_of(func.body, Allocate) if owners(s.buffer.scope)]
    loops = {s: [f for f in nodes_of(s.body, For) if is_owner(f, s.buffer.scope)] for s in found}
    return [s for s in found if any(uses_memory(f, s.buffer) for f in loops[s])]


def waits(allocation: Allocate) -> bool:
    """Whether statements outside of its threads use memory, too: they may still be moved to them."""
    return _used_outside(allocation.body, allocation.buffer)


def _used_outside(stmt: Stmt, buffer: Buffer) -> bool:
    """Whether a statement that is in no loop of its threads uses a buffer."""
    if not uses_memory(stmt, buffer) or (isinstance(stmt, For) and is_owner(stmt, buffer.scope)):
        return False
    own = [] if isinstance(stmt, DeclBuffer) else [c for c in children(stmt) if not isinstance(c, Stmt)]
    return any(uses_memory(c, buffer) for c in own) or any(_used_outside(s, buffer) for s in sub_statements(stmt))


def as_if_placed(func: PrimFunc, moved: Collection[Var]) -> PrimFunc:
    """The program as its threads would have it: what is misplaced stands in their loops; and where steps have ``moved``
    memory into their scope, but not yet into their loops, it is everybody's."""
    if not has_threads(func):
        return func
    func = with_own_memory(func, misplaced(func))
    for s in crossing(func):
        if s.buffer.data in moved:
            func = func.with_body(in_scope(func.body, s.buffer, "global"))
    return func


def in_scope(stmt: Stmt, buffer: Buffer, scope: str) -> Stmt:
    """The statement, with the memory of a buffer in another storage scope."""
    old = buffer.data
    assert isinstance(old.type, PointerType)
    return substitute(stmt, {old: Var.fresh(old.name, PointerType(old.type.element, scope))})


def is_owner(loop: For, scope: str) -> bool:
    """Whether a loop is one over threads of which each has memory of a storage scope of its own."""
    return loop.kind == "thread_binding" and loop.thread.partition(".")[0] in owners(scope)


def with_serial_loops(func: PrimFunc) -> PrimFunc:
    """The function without threads."""

    def serial(node: Node) -> Node | None:
        bound = isinstance(node, For) and node.kind == "thread_binding"
        return replace(node, kind="serial", thread="") if bound else None  # type: ignore[type-var]

    return func.with_body(rewrite(func.body, serial))


def with_own_memory(func: PrimFunc, buffers: Collection[Buffer], *, views_only: bool = False) -> PrimFunc:
    """The function, in which some of its misplaced buffers are allocated in the loops of their threads.

    :param views_only: only the views of these buffers are declared there; which means the same as anywhere else.
    """
    body = func.body
    for path, stmt in reversed(list(places(func.body, lambda s: isinstance(s, (Allocate, Block))))):
        for buffer in reversed(declares(stmt)):
            if buffer in buffers:
                body = _moved(body, path, buffer, views_only)
    return func if body is func.body else func.with_body(body)


def _moved(body: Stmt, path: Path, buffer: Buffer, views_only: bool) -> Stmt:
    """The program with the allocation at a place in the loop of the threads whose memory it is, if that is another."""
    home = at(body, path)
    loop = owner(home, buffer, buffer.scope)
    if loop is None:
        return body
    moved = _inside(home, loop, buffer, (), None if views_only else home)
    if not views_only and isinstance(moved, Block):
        assert isinstance(home, Block)
        moved = replace(moved, alloc_buffers=tuple(b for b in home.alloc_buffers if b is not buffer))
    elif not views_only:
        assert isinstance(moved, Allocate)
        moved = moved.body
    return put(body, path, moved)


def _inside(stmt: Stmt, path: Path, buffer: Buffer, views: tuple[Buffer, ...], home: Stmt | None) -> Stmt:
    """The statement, in whose loop at a place a buffer is allocated as in ``home``, and its views are declared."""
    if not path:
        assert isinstance(stmt, For)
        inner = stmt.body
        for view in reversed(views):
            inner = DeclBuffer(view, inner)
        match home:
            case Allocate():
                inner = replace(home, body=inner)
            case Block():
                inner = Allocate(buffer, inner)
        return replace(stmt, body=inner)
    below = sub_statements(stmt)[path[0]]
    if isinstance(stmt, DeclBuffer) and stmt.buffer.data is buffer.data:
        return _inside(below, path[1:], buffer, (*views, stmt.buffer), home)
    return put(stmt, path[:1], _inside(below, path[1:], buffer, views, home))


def owner(home: Stmt, buffer: Buffer, scope: str) -> Path | None:
    """Where the innermost loop stands that all uses of a buffer are in, over threads of which each has memory of a
    scope of its own; ``None`` if there is none."""
    if not owners(scope):
        return None
    found: Path | None = None
    path: Path = ()
    stmt = home
    while True:
        uses = [k for k, s in enumerate(sub_statements(stmt)) if uses_memory(s, buffer)]
        declared = stmt is home or (isinstance(stmt, DeclBuffer) and stmt.buffer.data is buffer.data)
        others = not declared and any(uses_memory(c, buffer) for c in children(stmt) if not isinstance(c, Stmt))
        if len(uses) != 1 or others:
            return found
        stmt, path = sub_statements(stmt)[uses[0]], (*path, uses[0])
        if isinstance(stmt, For) and is_owner(stmt, scope):
            found = path


def uses_memory(node: Node, buffer: Buffer) -> bool:
    """Whether the memory of a buffer is mentioned somewhere, through whatever view."""
    return mentions(node, frozenset({buffer.data}))
