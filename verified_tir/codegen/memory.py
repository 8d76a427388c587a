"""Loads and stores.

The lanes of an access by a vector index lie side by side if the index is a ramp of stride 1, and in the opposite order
for stride -1: that is one vector instruction.  Other indices are accessed lane by lane, in order, so that of two lanes
stored to one place the later one stays.  Masked lanes are not touched.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import final

from verified_tir.codegen.aliases import span_of
from verified_tir.codegen.builder import MEMORY as DEPENDS_ON_MEMORY
from verified_tir.codegen.builder import Function, Register, Value, View
from verified_tir.codegen.casts import from_memory, to_memory
from verified_tir.codegen.indices import arithmetic, constant_lanes, is_index, lane_count, lanes_wide, ramp_of, wide
from verified_tir.codegen.llvm_types import MEMORY, REGISTER, bools, lanes_of
from verified_tir.codegen.vectors import assemble, extract, permute
from verified_tir.codegen.views import address, position
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Expr, Load
from verified_tir.ir.stmt import Store


@final
@dataclass(slots=True)  # not frozen: making one would take three times as long
class _Access:
    """An access by a vector index: one address, or one for each lane of the index.

    ``reverse`` if the lanes of the index descend from the last to the first.
    """

    view: View
    dtype: DType
    contiguous: str | None
    reverse: bool
    addresses: tuple[Callable[[], str], ...]
    mask: Register | None

    @property
    def lanes(self) -> int:
        return self.dtype.lanes // self.view.lanes


def load(b: Function, e: Load) -> Value:
    """The element or elements that a load names."""
    view = b.view(e.buffer)
    if not e.indices or lane_count(e.indices[-1]) == 1:
        place = address(b, view, position(b, view, [wide(b, i) for i in e.indices]))
        return _load(b, view, view.buffer.dtype, place), view.buffer.dtype, DEPENDS_ON_MEMORY
    if e.predicate is None and view.room:
        shuffled = _shuffled(b, view, e.indices)
        if shuffled is not None:
            return shuffled, lanes_of(view.scalar, lane_count(e.indices[-1])), DEPENDS_ON_MEMORY
    access = _vector_access(b, view, e.indices, e.predicate)
    found = _gather(b, access) if access.contiguous is None else _load_block(b, access)
    return found, access.dtype, DEPENDS_ON_MEMORY


def store(b: Function, s: Store) -> None:
    """Indices and value first, then the elements in order."""
    view = b.view(s.buffer)
    value, dtype, _ = b.value(s.value)
    if not s.indices or lane_count(s.indices[-1]) == 1:
        b.module.scalar_stores += view.lanes == 1
        place = address(b, view, position(b, view, [wide(b, i) for i in s.indices]))
        _store(b, view, dtype, place, value)
    else:
        access = _vector_access(b, view, s.indices, s.predicate)
        if access.contiguous is not None:
            _store_block(b, access, value)
        else:
            _scatter(b, access, value)
    b.loaded.clear()


def _load(b: Function, view: View, dtype: DType, place: str, *, whole: bool = True) -> str:
    """A load; ``whole`` if all of it lies in the view, so that what is known of that holds of it."""
    note = view.note if whole else ""
    return from_memory(b, dtype, b.assign(f"load {MEMORY[dtype]}, ptr {place}, align {view.alignment}{note}"))


def _store(b: Function, view: View, dtype: DType, place: str, value: Register) -> None:
    b.line(f"store {MEMORY[dtype]} {to_memory(b, dtype, value)}, ptr {place}, align {view.alignment}{view.note}")


# ------------------------------------------------------------------------------------------------- vector accesses


def _vector_access(b: Function, view: View, indices: tuple[Expr, ...], predicate: Expr | None) -> _Access:
    last = indices[-1]
    lanes, masked = lane_count(last), predicate is not None
    dtype = lanes_of(view.scalar, view.lanes * lanes)
    mask = b.value(predicate)[0] if predicate is not None else None
    stride, lead = view.strides[-1], [wide(b, i) for i in indices[:-1]]
    ramp = ramp_of(b, last, masked=masked)
    if ramp is not None:
        base, step = ramp[0], ramp[1] if stride == 1 else arithmetic(b, "mul", ramp[1], stride)
        if step in (1, -1):
            start = position(b, view, [*lead, base])
            if step == -1:
                start = arithmetic(b, "sub", start, lanes - 1)
            place = address(b, view, start, exists=not masked)  # its first lane may be masked out
            return _Access(view, dtype, place, step == -1, (), mask)
    places = [partial(_place, b, view, [*lead, number]) for number in lanes_wide(b, last, masked=masked)]
    return _Access(view, dtype, None, False, tuple(places), mask)


def _place(b: Function, view: View, indices: list[Register]) -> str:
    return address(b, view, position(b, view, indices))


def _reversed(b: Function, access: _Access, kind: str, vector: Register, width: int) -> str:
    """A vector with its groups of ``width`` lanes in the opposite order."""
    groups = range(access.lanes - 1, -1, -1)
    return permute(b, kind, vector, "poison", [g * width + k for g in groups for k in range(width)])


def _block_mask(b: Function, access: _Access) -> Register:
    """The mask of a block's scalars in the order of memory."""
    mask, kind = access.mask, REGISTER[bools(access.lanes)]
    assert mask is not None
    if access.reverse:
        mask = _reversed(b, access, kind, mask, 1)
    if access.view.lanes > 1:
        mask = permute(b, kind, mask, "poison", [g for g in range(access.lanes) for _ in range(access.view.lanes)])
    return mask


def _suffix(dtype: DType) -> str:
    scalar = MEMORY[lanes_of(dtype, 1)]
    return f"v{dtype.lanes}{ {'half': 'f16', 'float': 'f32', 'double': 'f64'}.get(scalar, scalar) }"


def _load_block(b: Function, access: _Access) -> str:
    dtype, kind = access.dtype, MEMORY[access.dtype]
    if access.mask is None:
        found = _load(b, access.view, dtype, str(access.contiguous))
    else:
        pointer = f"ptr align {access.view.alignment} {access.contiguous}"
        mask = f"{REGISTER[bools(dtype.lanes)]} {_block_mask(b, access)}"
        loaded = b.assign(
            f"call {kind} @llvm.masked.load.{_suffix(dtype)}.p0({pointer}, {mask}, {kind} poison){access.view.note}"
        )
        found = from_memory(b, dtype, loaded)
    return _reversed(b, access, REGISTER[dtype], found, access.view.lanes) if access.reverse else found


def _store_block(b: Function, access: _Access, value: Register) -> None:
    dtype, kind = access.dtype, MEMORY[access.dtype]
    if access.reverse:
        value = _reversed(b, access, REGISTER[dtype], value, access.view.lanes)
    if access.mask is None:
        _store(b, access.view, dtype, str(access.contiguous), value)
        return
    mask = f"{REGISTER[bools(dtype.lanes)]} {_block_mask(b, access)}"
    pointer = f"ptr align {access.view.alignment} {access.contiguous}"
    stored = f"{kind} {to_memory(b, dtype, value)}"
    b.line(f"call void @llvm.masked.store.{_suffix(dtype)}.p0({stored}, {pointer}, {mask}){access.view.note}")


def _shuffled(b: Function, view: View, indices: tuple[Expr, ...]) -> str | None:
    """Lanes from constant places of a block on the stack, if they lie in one vector of it or in two.

    LLVM sees one shuffle of vectors then.  Of single lanes it sees where each comes from in the end, through shuffles
    before, and takes them from there one by one.
    """
    lanes = lane_count(indices[-1])
    last = constant_lanes(b, indices[-1]) if view.lanes == 1 and is_index(b, indices[-1]) else None
    if last is None:
        return None
    leading = [wide(b, i) for i in indices[:-1]]
    if not all(type(n) is int for n in (*leading, *view.strides, view.offset)):
        return None
    start = position(b, view, [*leading, 0])
    assert isinstance(start, int) and isinstance(view.strides[-1], int)
    places = [start + n * view.strides[-1] for n in last]
    vectors = sorted({p // lanes for p in places})
    if len(vectors) > 2 or places == list(range(places[0], places[0] + lanes)) or (vectors[-1] + 1) * lanes > view.room:
        return None
    dtype = lanes_of(view.scalar, lanes)
    loaded = []
    for first in (v * lanes for v in vectors):
        loaded.append(_load(b, view, dtype, address(b, view, first), whole=_inside(view, first, first + lanes)))
    mask = [vectors.index(p // lanes) * lanes + p % lanes for p in places]
    return permute(b, REGISTER[dtype], loaded[0], loaded[-1] if len(loaded) == 2 else "poison", mask)


def _inside(view: View, first: int, end: int) -> bool:
    """Whether the elements from ``first`` to ``end`` of its block are known to lie in a view."""
    span, width = span_of(view.buffer), view.scalar.nbytes
    return span is not None and span[0] <= first * width and end * width <= span[1]


def _gather(b: Function, access: _Access) -> Register:
    """Lane by lane; a lane that is masked out gives an arbitrary value."""
    view, element = access.view, lanes_of(access.view.scalar, access.view.lanes)
    scalars: list[Register] = []
    for k, place in enumerate(access.addresses):
        if access.mask is None:
            found = _load(b, view, element, place())
        else:
            found = _guarded_load(b, access, k, place)
        scalars += [extract(b, found, element, lane) for lane in range(view.lanes)]
    return assemble(b, access.dtype, scalars)


def _guarded_load(b: Function, access: _Access, lane: int, place: Callable[[], str]) -> str:
    view, element = access.view, lanes_of(access.view.scalar, access.view.lanes)
    there, done = b.new_label("lane"), b.new_label("next")
    assert access.mask is not None
    wanted = extract(b, access.mask, bools(access.lanes), lane)
    before = b.block
    b.branch_if(wanted, there, done)
    b.open(there)
    mark = len(b.trail)
    found = _load(b, view, element, place())
    b.forget(mark)
    b.branch(done)
    b.open(done)
    return b.assign(f"phi {REGISTER[element]} [ {found}, %{there} ], [ poison, %{before} ]")


def _scatter(b: Function, access: _Access, value: Register) -> None:
    view, element = access.view, lanes_of(access.view.scalar, access.view.lanes)
    for k, place in enumerate(access.addresses):
        first = k * view.lanes
        scalar = assemble(b, element, [extract(b, value, access.dtype, first + lane) for lane in range(view.lanes)])
        if access.mask is None:
            _store(b, view, element, place(), scalar)
            continue
        there, done = b.new_label("lane"), b.new_label("next")
        b.branch_if(extract(b, access.mask, bools(access.lanes), k), there, done)
        b.open(there)
        mark = len(b.trail)
        _store(b, view, element, place(), scalar)
        b.forget(mark)
        b.branch(done)
        b.open(done)
