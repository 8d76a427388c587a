"""What every program must be for the rules to speak about it."""

from __future__ import annotations

from verified_tir.ir import wellformed
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.calls import is_pure
from verified_tir.ir.expr import Call, LetExpr, Load
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import LetStmt
from verified_tir.ir.visit import walk


def problem(func: PrimFunc) -> str | None:
    """Why no rule may lead to this program, in one sentence; ``None`` if one may.

    It must be well-formed.  The extents of its buffers may not read memory: they are evaluated where a buffer is
    declared, and the logic writes them down wherever the buffer is used.  (A ``let`` around the declaration does.)
    Buffers lie in a parameter's or an allocation's memory: what a computed address points to, no rule knows.
    """
    bound = {n.var for n in walk(func) if isinstance(n, (LetStmt, LetExpr))}
    for n in walk(func):
        if isinstance(n, Buffer):
            if n.data in bound:
                return f"{n.name} lies at {n.data.name}, a computed address; declare it over a buffer's own data"
            for part in (p for e in (*n.shape, *n.strides, n.elem_offset) for p in walk(e)):
                if isinstance(part, Load) or (isinstance(part, Call) and not is_pure(part.op)):
                    return f"an extent of {n.name} reads memory; it must be bound by a let first"
    return wellformed.problem(func)
