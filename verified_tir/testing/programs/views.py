"""Views: other buffers over the elements of one that there is.

A view is drawn like any buffer, and grows with its indices; at the end its block is made large enough for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.stmt import DeclBuffer, Stmt
from verified_tir.ir.visit import walk
from verified_tir.testing.dtypes import SCALARS
from verified_tir.testing.programs.reach import Reach
from verified_tir.testing.programs.sketch import Body, Cells, Place, Sketch

KINDS = ("flat", "flat", "offset", "retyped", "turned", "strided", "backwards", "vectors")
"""Row by row; from some element on; of another type; with the axes exchanged; with gaps between the rows; from the last
element to the first; several elements at once."""


def view(s: Sketch, place: Place, body: Body) -> Stmt:
    """``V = T.decl_buffer(…, data=A.data)`` around statements; those alone, if they do not use it."""
    bases = [c for c in s.shown() if c.base is None and not c.indices and c.dims and not c.dtype.is_bool]
    bases = [c for c in bases if c.dtype.lanes == 1 and (c.written or not c.local)]
    base = s.pick.among(bases[::-1]) if bases else s.new(s.pick.one(1, 2), s.number())
    kind = s.pick.one(*KINDS)
    dtype = base.dtype
    if kind == "retyped":
        others = [t for t in SCALARS if not t.is_bool and t is not base.dtype]
        narrow = [t for t in others if t.bits <= base.dtype.bits]
        dtype = s.pick.among(others if s.pick.rarely(3) else narrow)
    elif kind == "vectors":
        dtype = base.dtype.with_lanes(s.pick.one(2, 4))
    rank = 2 if kind in ("turned", "strided") else 1
    buffer = Buffer.declare(f"view{len(s.cells)}", (0,) * rank, dtype, data=base.buffer.data)
    made = Cells(buffer, [Reach(0)] * rank, base=base, view=kind, written=True)
    s.cells.append(made)
    inside = body(s, place.inner())
    made.hidden = True
    if buffer not in walk(inside):
        return inside
    base.read = base.read or made.read
    base.written = True
    return DeclBuffer(buffer, inside)


def numeric(c: Cells) -> list[int]:
    """The extents of a buffer that mention no symbol (any symbol counts as 0)."""
    return [max(1, d.offset) for d in c.dims]


def enlarge(c: Cells) -> None:
    """Make the block of a view large enough for it."""
    base = c.base
    assert base is not None
    last = _offset(c) + sum((n - 1) * max(0, d) for n, d in zip(numeric(c), strides(c), strict=True)) + 1
    needed = -(-last * c.dtype.nbytes // base.dtype.nbytes)
    base.dims = [Reach(max(1, d.offset), d.symbol, d.scale) for d in base.dims]
    inner = prod(numeric(base)[1:])
    rows = -(-needed // inner)
    first = base.dims[0]
    base.dims[0] = Reach(max(first.offset, rows), first.symbol, first.scale)


def _offset(c: Cells) -> int:
    return {"offset": 2, "backwards": numeric(c)[0] - 1}.get(c.view, 0)


def strides(c: Cells) -> tuple[int, ...]:
    """How far apart the elements of a view are along each dimension."""
    extents = numeric(c)
    match c.view:
        case "turned":
            return (1, extents[0])
        case "strided":
            return (extents[1] + 1, 1)
        case "backwards":
            return (-1,)
    return tuple(prod(extents[k + 1 :]) for k in range(len(extents)))


def view_buffer(c: Cells, name: str, final: Mapping[Buffer, Buffer]) -> Buffer:
    """The buffer for a view, over the final buffer of its base."""
    assert c.base is not None
    dtype: DType = c.dtype
    explicit = strides(c) if c.view in ("turned", "strided", "backwards") else ()
    return Buffer.declare(
        name, tuple(numeric(c)), dtype, data=final[c.base.buffer].data, strides=explicit, elem_offset=_offset(c),
        scope=final[c.base.buffer].scope,
    )  # fmt: skip
