"""What every program must be for the rules to speak about it."""

from __future__ import annotations

from verified_tir.ir import wellformed
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.calls import is_pure
from verified_tir.ir.expr import Call, LetExpr, Load
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import once
from verified_tir.ir.stmt import LetStmt
from verified_tir.ir.visit import nodes_of, walk


def problem(func: PrimFunc) -> str | None:
    """Why no rule may lead to this program, in one sentence; ``None`` if one may.

    It must be well-formed.  The extents of its buffers may not read memory: they are evaluated where a buffer is
    declared, and the logic writes them down wherever the buffer is used.  (A ``let`` around the declaration does.)
    Buffers lie in a parameter's or an allocation's memory: what a computed address points to, no rule knows.
    """
    bound = {*(n.var for n in nodes_of(func.body, LetStmt)), *(n.var for n in nodes_of(func.body, LetExpr))}
    for b in dict.fromkeys((*func.buffers, *nodes_of(func.body, Buffer))):
        if b.data in bound:
            return f"{b.name} lies at {b.data.name}, a computed address; declare it over a buffer's own data"
        if _reads_memory(b):
            return f"an extent of {b.name} reads memory; it must be bound by a let first"
    return wellformed.problem(func)


@once
def _reads_memory(buffer: Buffer) -> bool:
    """Whether an extent of the buffer loads something, or makes a call that might."""
    parts = [p for e in (*buffer.shape, *buffer.strides, buffer.elem_offset) for p in walk(e)]
    return any(isinstance(p, Load) or (isinstance(p, Call) and not is_pure(p.op)) for p in parts)
