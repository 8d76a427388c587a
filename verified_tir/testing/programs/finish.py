"""From a sketch to a function: extents, names, parameters and allocations."""

from __future__ import annotations

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import HANDLE
from verified_tir.ir.expr import Binary, Var, const
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Allocate, Assume, Stmt, seq
from verified_tir.ir.visit import free_vars, substitute_buffers, walk
from verified_tir.testing.programs.reach import Reach
from verified_tir.testing.programs.sketch import Cells, Sketch
from verified_tir.testing.programs.views import enlarge, view_buffer

_PARAMETERS = "ABCDEFGHPQ"
_LOCALS = "tuvwrsxyz"


def finish(s: Sketch, body: Stmt, name: str = "main") -> PrimFunc:
    """The function whose body was drawn."""
    present = {n for n in walk(body) if isinstance(n, Buffer)}
    used = [c for c in s.cells if c.buffer in present]
    views = [c for c in used if c.base is not None]
    for c in views:
        enlarge(c)
    used = list(dict.fromkeys(c.base or c for c in used))
    _too_small(s, used)
    symbolic = {d.symbol for c in used for d in c.dims if d.symbol is not None}
    exact = {d.symbol for c in used if not c.local for d in c.dims if d.offset == 0 and d.scale == 1}
    parameters = [c for c in used if not _is_local(c, exact)]
    local = [c for c in used if c not in parameters]
    final: dict[Buffer, Buffer] = {}
    for names, group in ((_PARAMETERS, parameters), (_LOCALS, local)):
        for k, c in enumerate(group):
            final[c.buffer] = _buffer(c, names[k % len(names)] + str(k // len(names) or ""), c.local and group is local)
    for k, c in enumerate(views):
        final[c.buffer] = view_buffer(c, "V" + str(k or ""), final)
    body = substitute_buffers(body, final)
    for c in reversed(local):
        body = Allocate(final[c.buffer], body)
    for n in sorted(symbolic - exact, key=lambda v: v.name):  # no extent says that it is not negative
        body = seq(Assume(Binary("le", const(0), n)), body)
    buffers = [final[c.buffer] for c in parameters]
    pairs = tuple((Var.fresh(b.name, HANDLE), b) for b in buffers)
    in_shapes = {v for b in buffers for e in b.shape for v in walk(e) if isinstance(v, Var)}
    free = set(free_vars(body))
    scalars = [v for v in (*s.symbols, *s.scalars) if v in free and v not in in_shapes]
    return PrimFunc(name, (*(h for h, _ in pairs), *scalars), pairs, body)


def _is_local(c: Cells, exact: set[Var | None]) -> bool:
    """Whether a buffer can be an allocation: it serves for something, and its extents cannot be negative."""
    return c.local and c.read and c.written and all(d.symbol is None or d.symbol in exact for d in c.dims)


def _buffer(c: Cells, name: str, local: bool) -> Buffer:
    shape = tuple(d.expr() for d in c.dims)
    return Buffer.declare(name, shape, c.dtype, scope=c.scope if local else "global")


def _too_small(s: Sketch, used: list[Cells]) -> None:
    """Now and then one buffer is one element too small for its indices."""
    if used and s.has("faults") and s.pick.rarely(40):
        c = s.pick.among(used)
        if c.dims and c.dims[-1].offset > 1:
            last = c.dims[-1]
            c.dims[-1] = Reach(last.offset - 1, last.symbol, last.scale)
