"""From a sketch to a function: extents, names, parameters and allocations."""

from __future__ import annotations

from math import prod

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import HANDLE, INT32
from verified_tir.ir.expr import Binary, Expr, IntImm, Var
from verified_tir.ir.find import reads_of, substitute_buffers
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Allocate, Assume, Stmt, Store, seq
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import children, free_vars, substitute, walk
from verified_tir.testing.programs.reach import Reach
from verified_tir.testing.programs.sketch import Cells, Sketch
from verified_tir.testing.programs.views import enlarge, numeric, view_buffer

_PARAMETERS = "ABCDEFGHPQ"
_LOCALS = "tuvwrsxyz"


def finish(s: Sketch, body: Stmt, name: str = "main") -> PrimFunc:
    """The function whose body was drawn."""
    present = {n for n in walk(body) if isinstance(n, (Buffer, Var))}  # what is passed to a call is there by its data
    used = [c for c in s.cells if c.buffer in present or (c.base is None and c.buffer.data in present)]
    views = [c for c in used if c.base is not None]
    for c in views:
        enlarge(c)
    used = list(dict.fromkeys(c.base or c for c in used))
    _too_small(s, used)
    symbolic = {d.symbol for c in used for d in c.dims if d.symbol is not None}
    served = _served(body) if any(c.local for c in used) else set()
    exact = {d.symbol for c in used if not c.local for d in c.dims if d.offset == 0 and d.scale == 1}
    parameters = [c for c in used if not _is_local(c, exact, served)]
    local = [c for c in used if c not in parameters]
    final: dict[Buffer, Buffer] = {}
    for names, group in ((_PARAMETERS, parameters), (_LOCALS, local)):
        for k, c in enumerate(group):
            final[c.buffer] = _buffer(
                s, c, names[k % len(names)] + str(k // len(names) or ""), c.local and group is local
            )
    for k, c in enumerate(views):
        final[c.buffer] = view_buffer(c, "V" + str(k or ""), final)
    body = substitute_buffers(body, final)
    body = substitute(body, {c.buffer.data: final[c.buffer].data for c in used if c.fixed})
    for c in reversed(local):
        body = Allocate(final[c.buffer], body)
    for n in sorted(symbolic - exact, key=lambda v: v.name):  # no extent says that it is not negative
        body = seq(Assume(Binary("le", const(0), n)), body)
    buffers = [final[c.buffer] for c in parameters]
    pairs = tuple((Var.fresh(b.name, HANDLE), b) for b in buffers)
    in_shapes = {v for b in buffers for e in (*b.shape, *b.strides) for v in walk(e) if isinstance(v, Var)}
    free = set(free_vars(body))
    scalars = [v for v in (*s.symbols, *s.scalars) if v in free and v not in in_shapes]
    for n in [v for v in scalars if v in s.symbols]:  # no extent says how large it is at most
        if s.has("assumes") and s.has("scalars"):
            body = seq(Assume(Binary("le", n, const(64))), body)
        else:
            body = substitute(body, {n: const(4)})
            scalars.remove(n)
    return PrimFunc(name, (*(h for h, _ in pairs), *scalars), pairs, body)


def _served(body: Stmt) -> set[Var]:
    """The blocks whose elements are used for anything but themselves."""
    found: set[Var] = set()
    for n in walk(body):
        own = n.buffer.data if isinstance(n, Store) else None
        if isinstance(n, Stmt):
            found |= {r.buffer.data for e in children(n) if isinstance(e, Expr) for r in reads_of(e)} - {own}
    return found


def _is_local(c: Cells, exact: set[Var | None], served: set[Var]) -> bool:
    """Whether a buffer can be an allocation: it serves for something, and its extents cannot be negative."""
    return (
        c.local and c.written and c.buffer.data in served and all(d.symbol is None or d.symbol in exact for d in c.dims)
    )


def _buffer(s: Sketch, c: Cells, name: str, local: bool) -> Buffer:
    shape = tuple(d.expr() for d in c.dims)
    if local:
        return Buffer.declare(name, shape, c.dtype, scope=c.scope)
    viewed = any(v.base is c for v in s.cells)
    if shape and not viewed and not c.fixed and s.has("matches") and s.pick.rarely(10):
        strides, offset = _strides(s, c, shape)
        return Buffer.declare(name, shape, c.dtype, strides=strides, elem_offset=offset)
    return Buffer.declare(name, shape, c.dtype)


def _strides(s: Sketch, c: Cells, shape: tuple[Expr, ...]) -> tuple[tuple[Expr, ...], int]:
    """Strides for a parameter: rows with gaps between them, of a number or a symbol; and an offset."""
    extents = numeric(c)
    compact = [prod(extents[k + 1 :]) for k in range(len(extents))]
    constant = all(isinstance(e, IntImm) for e in shape[1:])
    kind = s.pick.one("gaps", "symbol", "offset", "spread")
    if kind == "symbol" and len(shape) > 1 and constant:
        return (Var.fresh("s", INT32), *(const(d) for d in compact[1:])), 0
    if not constant:
        return (), 0
    if kind == "spread":
        return tuple(const(2 * d) for d in compact), 0
    if kind == "offset":
        return tuple(const(d) for d in compact), s.pick.one(1, 4)
    gap = compact[0] + s.pick.one(1, 2)
    return (const(gap), *(const(d) for d in compact[1:])), 0


def _too_small(s: Sketch, used: list[Cells]) -> None:
    """Now and then one buffer is one element too small for its indices."""
    if used and s.has("faults") and s.pick.rarely(40):
        c = s.pick.among(used)
        if c.dims and c.dims[-1].offset > 1 and not c.fixed:
            last = c.dims[-1]
            c.dims[-1] = Reach(last.offset - 1, last.symbol, last.scale)
