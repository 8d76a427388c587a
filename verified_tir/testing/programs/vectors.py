"""Vectors written out: ramps as indices, masks, and values with lanes."""

from __future__ import annotations

from verified_tir.ir.dtype import INT32, DType
from verified_tir.ir.expr import Binary, Broadcast, Expr, Load, Ramp, const
from verified_tir.ir.stmt import Stmt, Store
from verified_tir.testing.programs.indices import index, indices
from verified_tir.testing.programs.reach import Ranged, Reach
from verified_tir.testing.programs.sketch import BUFFERS_AT_MOST, Cells, Place, Sketch, reaching
from verified_tir.testing.programs.values import readable, value


def vector_store(s: Sketch, place: Place) -> Stmt:
    """``B[i, j * 4 : j * 4 + 4] = …``, sometimes with a mask."""
    dtype = s.dtype()
    lanes = s.pick.one(4, 2, 8, 3)
    made = vector_value(s, place, dtype, lanes, 2)
    known = [c for c in s.shown() if c.dtype is dtype and c.dims and not c.indices]
    if known and (len(s.cells) >= BUFFERS_AT_MOST or s.pick.rarely(3)):
        cells = s.pick.among(known[::-1])
    else:
        cells = s.new(max(1, min(2, len(place.indices))), dtype)
    at = vector_indices(s, place, cells, lanes)
    if at is None:
        return Store(cells.buffer, *_scalar(s, place, cells))
    cells.written = True
    mask = None
    if s.pick.rarely(6):
        bound = Ramp(const(0), const(1), lanes)
        mask = Binary("lt", bound, Broadcast(const(s.pick.integer(1, lanes)), lanes))
    return Store(cells.buffer, made, at, mask)


def _scalar(s: Sketch, place: Place, cells: Cells) -> tuple[Expr, tuple[Expr, ...]]:
    cells.written = True
    return value(s, place, cells.dtype), indices(s, place, cells, may_grow=True)


def vector_indices(s: Sketch, place: Place, cells: Cells, lanes: int) -> tuple[Expr, ...] | None:
    """Indices of which the last is a ramp; ``None`` if the buffer cannot grow that far."""
    step = s.pick.one(1, 1, 1, 2)
    chosen = index(s, place, len(cells.dims) - 1, len(cells.dims))
    base = chosen.times(lanes) if s.pick.flip() and chosen.high.symbol is None else chosen
    ends = Ranged(base.expr, base.low, Reach(base.high.offset + step * (lanes - 1), base.high.symbol, base.high.scale))
    if reaching(cells, len(cells.dims) - 1, ends, may_grow=not cells.local or not cells.written) is None:
        return None
    rows = []
    for k in range(len(cells.dims) - 1):
        row = reaching(cells, k, index(s, place, k, len(cells.dims)), may_grow=True)
        rows.append(const(0) if row is None else row)
        if row is None and not cells.dims[k].offset:
            cells.dims[k] = Reach(1, cells.dims[k].symbol, cells.dims[k].scale)
    return (*rows, Ramp(base.expr, const(step), lanes))


def vector_value(s: Sketch, place: Place, dtype: DType, lanes: int, depth: int) -> Expr:
    """A value with lanes: elements side by side, one element throughout, a sum or a product."""
    return s.pick.expression(lambda: _vector_value(s, place, dtype, lanes, depth))


def _vector_value(s: Sketch, place: Place, dtype: DType, lanes: int, depth: int) -> Expr:
    forms = ["broadcast", "load", "load", "load"]
    forms += ["operator"] * 2 if depth > 0 else []
    forms += ["ramp"] if dtype is INT32 else []
    match s.pick.among(forms):
        case "load":
            known = [c for c in readable(s, dtype) if c.dims and not c.local]
            if known and (len(s.cells) >= BUFFERS_AT_MOST or s.pick.flip()):
                cells = s.pick.among(known[::-1])
            else:
                cells = s.new(max(1, min(2, len(place.indices))), dtype)
            at = vector_indices(s, place, cells, lanes)
            if at is not None:
                cells.read = True
                return Load(cells.buffer, at)
        case "operator":
            op = s.pick.one("add", "mul", "max", "sub")
            a = vector_value(s, place, dtype, lanes, depth - 1)
            return Binary(op, a, vector_value(s, place, dtype, lanes, depth - 1))  # type: ignore[arg-type]
        case "ramp":
            return Ramp(index(s, place, 0, 1).expr, const(s.pick.one(1, 2)), lanes)
    return Broadcast(value(s, place, dtype), lanes)
