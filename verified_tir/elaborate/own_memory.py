"""Memory that each thread, or each block of threads, has of its own, where the text declares it outside of their loop.

TVM's texts allocate all buffers at the root of a function; where one lives is decided when the program is lowered
(``PlanAndUpdateBufferAllocationLocation``).  That matters for what threads do not share: of scope ``local`` each
thread has its own, of ``shared``, ``warp`` and ``wmma`` each block of threads.  So a buffer all of whose uses stand in
one loop over such threads is allocated there, once it is proved that no iteration uses what another one stored.
Without this the program would not be free of races (``kernel.race_free``).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.paths import Path, at, places, put
from verified_tir.ir.stmt import Allocate, Block, For, Stmt
from verified_tir.ir.visit import children, mentions, nodes_of, rewrite, sub_statements
from verified_tir.ir.wellformed import declares

BLOCKS: Final = ("blockIdx", "clusterCtaIdx")
OWNERS: Final = {"local": ("threadIdx", *BLOCKS), **dict.fromkeys(("shared", "warp", "wmma"), BLOCKS)}
"""The thread axes of which each has memory of a scope of its own, by the scope's first word."""


def misplaced(func: PrimFunc) -> dict[Buffer, Var]:
    """The buffers that would be allocated in a loop of threads, instead of outside; and that loop."""
    if not any(loop.kind == "thread_binding" for loop in nodes_of(func.body, For)):
        return {}
    found: dict[Buffer, Var] = {}
    for _, home in places(func.body, lambda s: isinstance(s, (Allocate, Block))):
        for buffer in declares(home):
            if (path := owner(home, buffer, buffer.scope)) is not None:
                loop = at(home, path)
                assert isinstance(loop, For)
                found[buffer] = loop.var
    return found


def with_serial_loops(func: PrimFunc) -> PrimFunc:
    """The function without threads."""

    def serial(node: Node) -> Node | None:
        bound = isinstance(node, For) and node.kind == "thread_binding"
        return replace(node, kind="serial", thread="") if bound else None  # type: ignore[type-var]

    return func.with_body(rewrite(func.body, serial))


def with_own_memory(func: PrimFunc, buffers: Collection[Buffer]) -> PrimFunc:
    """The function, in which some of its misplaced buffers are allocated in the loops of their threads."""
    body = func.body
    for path, stmt in reversed(list(places(func.body, lambda s: isinstance(s, (Allocate, Block))))):
        for buffer in reversed(declares(stmt)):
            if buffer in buffers:
                body = _moved(body, path, buffer)
    return func if body is func.body else func.with_body(body)


def _moved(body: Stmt, path: Path, buffer: Buffer) -> Stmt:
    """The program with the allocation at a place in the loop of the threads whose memory it is, if that is another."""
    home = at(body, path)
    loop = owner(home, buffer, buffer.scope)
    if loop is None:
        return body
    inside = at(home, loop)
    assert isinstance(inside, For)
    if isinstance(home, Block):
        moved = put(home, loop, replace(inside, body=Allocate(buffer, inside.body)))
        assert isinstance(moved, Block)
        return put(body, path, replace(moved, alloc_buffers=tuple(b for b in home.alloc_buffers if b is not buffer)))
    assert isinstance(home, Allocate)
    rest = put(home.body, loop[1:], replace(inside, body=replace(home, body=inside.body)))
    return put(body, path, rest)


def owner(home: Stmt, buffer: Buffer, scope: str) -> Path | None:
    """Where the innermost loop stands that all uses of a buffer are in, over threads of which each has memory of a
    scope of its own; ``None`` if there is none."""
    owners = OWNERS.get(scope.partition(".")[0], ())
    found: Path | None = None
    path: Path = ()
    stmt = home
    while True:
        uses = [k for k, s in enumerate(sub_statements(stmt)) if _uses(s, buffer)]
        others = any(_uses(c, buffer) for c in children(stmt) if not isinstance(c, Stmt))
        if len(uses) != 1 or (others and stmt is not home):
            return found
        stmt, path = sub_statements(stmt)[uses[0]], (*path, uses[0])
        if isinstance(stmt, For) and stmt.kind == "thread_binding" and stmt.thread.partition(".")[0] in owners:
            found = path


def _uses(node: Node, buffer: Buffer) -> bool:
    return mentions(node, frozenset({buffer.data}))
