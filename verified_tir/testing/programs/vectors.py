"""Vectors written out: ramps as indices, forwards and backwards, masks, and values with lanes."""

from __future__ import annotations

from verified_tir.ir.dtype import BOOL, INT32, DType
from verified_tir.ir.expr import Binary, Broadcast, CompareOp, Expr, Load, Ramp
from verified_tir.ir.stmt import Stmt, Store
from verified_tir.ir.sugar import const
from verified_tir.testing.programs.indices import index, indices
from verified_tir.testing.programs.reach import Ranged, Reach
from verified_tir.testing.programs.sketch import BUFFERS_AT_MOST, Cells, Place, Sketch, reaching
from verified_tir.testing.programs.values import readable, small, value


def vector_store(s: Sketch, place: Place) -> Stmt:
    """``B[i, j * 4 : j * 4 + 4] = …``, sometimes with a mask, which loads may have as well."""
    dtype = s.dtype()
    lanes = s.pick.one(4, 2, 8, 3)
    mask = _mask(s, place, dtype, lanes) if s.pick.rarely(5) else None
    made = vector_value(s, place, dtype, lanes, 2, mask)
    known = [c for c in s.shown() if c.dtype is dtype and c.dims and not c.indices]
    if known and (len(s.cells) >= BUFFERS_AT_MOST or s.pick.rarely(3)):
        cells = s.pick.among(known[::-1])
    else:
        cells = s.new(max(1, min(2, len(place.indices))), dtype)
    at = vector_indices(s, place, cells, lanes)
    if at is None:
        return Store(cells.buffer, *_scalar(s, place, cells))
    cells.written = True
    return Store(cells.buffer, made, at, mask)


def _mask(s: Sketch, place: Place, dtype: DType, lanes: int) -> Expr:
    """The first lanes, or the last ones; those before some number of iterations; those that an element decides."""
    op: CompareOp = s.pick.one("lt", "ge")
    first: Expr = const(0)
    match s.pick.one("lanes", "loop", "data"):
        case "loop":
            first = index(s, place, 0, 1).expr
        case "data" if (loaded := _vector_load(s, place, dtype, lanes)) is not None:
            if dtype == BOOL:
                return loaded
            return Binary(op, loaded, Broadcast(small(dtype, s.pick.integer(0, 2)), lanes))
    return Binary(op, Ramp(first, const(1), lanes), Broadcast(const(s.pick.integer(1, lanes)), lanes))


def _scalar(s: Sketch, place: Place, cells: Cells) -> tuple[Expr, tuple[Expr, ...]]:
    cells.written = True
    return value(s, place, cells.dtype), indices(s, place, cells, may_grow=True)


def vector_indices(s: Sketch, place: Place, cells: Cells, lanes: int) -> tuple[Expr, ...] | None:
    """Indices of which the last is a ramp; ``None`` if the buffer cannot grow that far."""
    step = s.pick.one(1, 1, 1, 1, 2, -1, -1, -2)
    chosen = index(s, place, len(cells.dims) - 1, len(cells.dims))
    base = chosen.times(lanes) if s.pick.flip() and chosen.high.symbol is None else chosen
    far = abs(step) * (lanes - 1)
    ends = Ranged(base.expr, base.low, Reach(base.high.offset + far, base.high.symbol, base.high.scale))
    if reaching(cells, len(cells.dims) - 1, ends, may_grow=not cells.local or not cells.written) is None:
        return None
    rows = []
    for k in range(len(cells.dims) - 1):
        row = reaching(cells, k, index(s, place, k, len(cells.dims)), may_grow=True)
        rows.append(const(0) if row is None else row)
        if row is None and not cells.dims[k].offset:
            cells.dims[k] = Reach(1, cells.dims[k].symbol, cells.dims[k].scale)
    return (*rows, Ramp(base.expr if step > 0 else base.plus(far).expr, const(step), lanes))


def vector_value(s: Sketch, place: Place, dtype: DType, lanes: int, depth: int, mask: Expr | None = None) -> Expr:
    """A value with lanes: elements side by side, one element throughout, a sum or a product.

    :param mask: of the store for which it is: loads may read the same lanes only.
    """
    return s.pick.expression(lambda: _vector_value(s, place, dtype, lanes, depth, mask))


def _vector_value(s: Sketch, place: Place, dtype: DType, lanes: int, depth: int, mask: Expr | None) -> Expr:
    forms = ["broadcast", "load", "load", "load"]
    forms += ["operator"] * 2 if depth > 0 and dtype != BOOL else []
    forms += ["ramp"] if dtype is INT32 else []
    match s.pick.among(forms):
        case "load":
            loaded = _vector_load(s, place, dtype, lanes)
            if loaded is not None:
                return loaded if mask is None or s.pick.flip() else Load(loaded.buffer, loaded.indices, mask)
        case "operator":
            op = s.pick.one("add", "mul", "max", "sub")
            a = vector_value(s, place, dtype, lanes, depth - 1, mask)
            return Binary(op, a, vector_value(s, place, dtype, lanes, depth - 1, mask))  # type: ignore[arg-type]
        case "ramp":
            return Ramp(index(s, place, 0, 1).expr, const(s.pick.one(1, 2)), lanes)
    return Broadcast(value(s, place, dtype), lanes)


def _vector_load(s: Sketch, place: Place, dtype: DType, lanes: int) -> Load | None:
    """Elements side by side of a buffer that there is, or of another; ``None`` if it cannot grow that far."""
    known = [c for c in readable(s, dtype) if c.dims and not c.local]
    if known and (len(s.cells) >= BUFFERS_AT_MOST or s.pick.flip()):
        cells = s.pick.among(known[::-1])
    else:
        cells = s.new(max(1, min(2, len(place.indices))), dtype)
    at = vector_indices(s, place, cells, lanes)
    if at is None:
        return None
    cells.read = True
    return Load(cells.buffer, at)
