"""What every program must be for the rules to speak about it."""

from __future__ import annotations

from verified_tir.ir import wellformed
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.calls import is_pure
from verified_tir.ir.expr import Call, LetExpr, Load
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import once
from verified_tir.ir.paths import Path, places
from verified_tir.ir.stmt import Block, DeclBuffer, LetStmt
from verified_tir.ir.visit import nodes_of, walk

NOT_EXPANDED = "its blocks are not expanded"


def problem(func: PrimFunc) -> str | None:
    """Why no rule may lead to this program, in one sentence; ``None`` if one may.

    Besides what :func:`misplaced` looks for, its blocks must be labels: the others are sugar, and expanded before.
    """
    found = misplaced(func)
    if found is not None:
        return found[1]
    return None if all(b.is_label for b in nodes_of(func.body, Block)) else NOT_EXPANDED


def misplaced(func: PrimFunc) -> tuple[Path, str] | None:
    """Where and why a program is none that rules speak about; ``None`` if it is one.

    It must be well-formed.  The extents of its buffers may not read memory: they are evaluated where a buffer is
    declared, and the logic writes them down wherever the buffer is used.  (A ``let`` around the declaration does.)
    Buffers lie in a parameter's or an allocation's memory: what a computed address points to, no rule knows, nor what
    a pointer does that is passed without a buffer.
    """
    parameters = {p for p in func.params if func.buffer_of(p) is None}
    computed = {*(n.var for n in nodes_of(func.body, LetStmt)), *(n.var for n in nodes_of(func.body, LetExpr))}
    for b in dict.fromkeys((*func.buffers, *nodes_of(func.body, Buffer))):
        wrong = None
        if b.data in computed:
            wrong = f"{b.name} lies at {b.data.name}, a computed address; declare it over a buffer's own data"
        elif b.data in parameters:
            wrong = (
                f"{b.name} lies at {b.data.name}, a pointer that is passed without its extent; "
                f"say it at the head of the function: {b.name} = T.match_buffer({b.data.name}, shape, dtype)"
            )
        elif _reads_memory(b):
            wrong = f"an extent of {b.name} reads memory; it must be bound by a let first"
        if wrong is not None:
            views = places(func.body, lambda s: isinstance(s, DeclBuffer))
            return next((path for path, s in views if isinstance(s, DeclBuffer) and s.buffer is b), ()), wrong
    return wellformed.misplaced(func)


@once
def _reads_memory(buffer: Buffer) -> bool:
    """Whether an extent of the buffer loads something, or makes a call that might."""
    parts = [p for e in (*buffer.shape, *buffer.strides, buffer.elem_offset) for p in walk(e)]
    return any(isinstance(p, Load) or (isinstance(p, Call) and not is_pure(p.op)) for p in parts)
