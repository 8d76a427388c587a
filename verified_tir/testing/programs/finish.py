"""From a sketch to a function: extents, names, parameters and allocations."""

from __future__ import annotations

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import HANDLE
from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Allocate, Stmt
from verified_tir.ir.visit import free_vars, substitute_buffers, walk
from verified_tir.testing.programs.reach import Reach
from verified_tir.testing.programs.sketch import Cells, Sketch

_PARAMETERS = "ABCDEFGHPQ"
_LOCALS = "tuvwrsxyz"


def finish(s: Sketch, body: Stmt, name: str = "main") -> PrimFunc:
    """The function whose body was drawn."""
    present = {n for n in walk(body) if isinstance(n, Buffer)}
    used = [c for c in s.cells if c.buffer in present]
    _too_small(s, used)
    parameters = [c for c in used if not (c.local and c.read and c.written)]
    local = [c for c in used if c not in parameters]
    final: dict[Buffer, Buffer] = {}
    for names, group in ((_PARAMETERS, parameters), (_LOCALS, local)):
        for k, c in enumerate(group):
            final[c.buffer] = _buffer(c, names[k % len(names)] + str(k // len(names) or ""), c.local and group is local)
    body = substitute_buffers(body, final)
    for c in reversed(local):
        body = Allocate(final[c.buffer], body)
    buffers = [final[c.buffer] for c in parameters]
    pairs = tuple((Var.fresh(b.name, HANDLE), b) for b in buffers)
    in_shapes = {v for b in buffers for e in b.shape for v in walk(e) if isinstance(v, Var)}
    free = set(free_vars(body))
    scalars = [v for v in (*s.symbols, *s.scalars) if v in free and v not in in_shapes]
    return PrimFunc(name, (*(h for h, _ in pairs), *scalars), pairs, body)


def _buffer(c: Cells, name: str, local: bool) -> Buffer:
    shape = tuple(d.expr() for d in c.dims)
    return Buffer.declare(name, shape, c.dtype, scope=c.scope if local else "global")


def _too_small(s: Sketch, used: list[Cells]) -> None:
    """Now and then one buffer is one element too small for its indices."""
    if used and s.has("faults") and s.pick.rarely(64):
        c = s.pick.among(used)
        if c.dims and c.dims[-1].offset > 1:
            last = c.dims[-1]
            c.dims[-1] = Reach(last.offset - 1, last.symbol, last.scale)
