"""Loads at indices that depend on data: ``X[T.max(0, T.min(I[i], n - 1)), j]``.

All that such a load may read is known: an index is a function of one term, the *base*, whose values are clamped to a
range, or are undefined behaviour outside of the buffer.  The value is a choice among the elements in this range,

    X[clamp(t), j]  ⟶  X[0, j] if t <= 0 else X[1, j] if t == 1 else … else X[n - 1, j]

and beyond ``_LONGEST`` elements a term over the base and all of them, about which nothing else is known.  Two programs
that clamp alike, and read the same contents, so have the same term, however they compute the address, and in whatever
integer type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

import numpy as np

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import VOID, DType
from verified_tir.validate.frame import Frame
from verified_tir.validate.memory import Refused, View, note_read
from verified_tir.validate.numbers import fit, operate
from verified_tir.validate.terms import MAY_UNDEF, UNDEF_ID, Ids, Terms

if TYPE_CHECKING:
    from verified_tir.validate.access import Access

_LONGEST: Final = 16
_MOST: Final = 1 << 16
_UINT64: Final = DType("uint", 64)
_ARITHMETIC: Final = frozenset(
    {"add", "sub", "mul", "floordiv", "floormod", "truncdiv", "truncmod", "min", "max", "bitand", "shl", "shr"}
)


@final
@dataclass(frozen=True, slots=True)
class Cases:
    """A term as a function of another one: ``values[k]`` where the base, clamped to ``low`` and above, is ``low + k``.

    ``base`` is -1 for a constant.  Numbers of uint64 are given modulo 2**64: those from 2**63 on are negative here, and
    out of bounds for any buffer, too.
    """

    base: int
    low: int
    values: Ids

    @property
    def domain(self) -> tuple[int, int, int]:
        return self.base, self.low, self.values.size


def load(
    access: Access, frame: Frame, buffer: Buffer, indices: Sequence[tuple[Ids, bool]], lanes: int, dtype: DType
) -> Ids:
    """The terms at some elements, shape (rows, lanes).

    :param indices: numbers, or terms, shape (rows or 1, lanes or 1), and whether they are numbers.
    :raises Refused: if nothing bounds what an index depends on, or it depends on several terms.
    """
    view = frame.views.get(buffer)
    if view is None:
        raise Refused(f"{buffer.name} is not declared here")
    if view.dtype.lanes * view.ratio != 1 or view.block.closed is not None:
        raise Refused(f"an index of {buffer.name} depends on data, and its elements are not scalars")
    shape = (frame.count, lanes)
    fixed: Ids = np.full(shape, view.extents.offset, dtype=np.int64)
    moved = frame.bases.get(buffer)
    fixed = fixed if moved is None else fixed + moved[:, None]
    asked: list[tuple[Ids, int, int]] = []
    for (index, known), extent, stride in zip(indices, view.extents.shape, view.extents.strides, strict=True):
        if known:
            if ((index < 0) | (index >= extent)).any():
                raise Refused(f"an index of {buffer.name} depends on data, and another one is out of bounds")
            fixed = fixed + index * stride
        else:
            _note_bounds(access, frame, buffer.name, index, extent)
            asked.append((np.broadcast_to(index, shape).reshape(-1), extent, stride))
    different, which = np.unique(np.stack([terms for terms, _, _ in asked]), axis=1, return_inverse=True)
    found: Ids = np.empty(frame.count * lanes, dtype=np.int64)
    by_domain: dict[tuple[int, int, int], list[tuple[Ids, Ids]]] = {}
    for number, terms in enumerate(different.T.tolist()):
        domain, offsets = _offsets(access.terms, buffer.name, terms, [(e, s) for _, e, s in asked])
        rows = np.flatnonzero(which.reshape(-1) == number)
        by_domain.setdefault(domain, []).append((rows, np.broadcast_to(offsets, (rows.size, offsets.size))))
    for (base, low, _), parts in by_domain.items():
        rows = np.concatenate([r for r, _ in parts])
        offsets = np.concatenate([o for _, o in parts])
        contents = _contents(access, frame, (buffer, view), rows // lanes, fixed.reshape(-1)[rows], offsets)
        found[rows] = _chosen(access, dtype, base, low, contents)
    return found.reshape(shape)


def _note_bounds(access: Access, frame: Frame, name: str, index: Ids, extent: int) -> None:
    """Undefined behaviour where an index is undef, or out of bounds."""
    build, terms = access.build, access.terms
    access.events.note_undef(frame, "undef index", index)
    ranges = _Ranges(terms)
    inside = [low >= 0 and high < extent for low, high in map(ranges.of, np.unique(index).tolist())]
    if all(inside):
        return
    dtype = terms.result_dtype(int(index.flat[0]))
    least, most = (np.full((1, 1), terms.constant(dtype, n)) for n in (0, min(extent - 1, dtype.max_value)))
    for outside in (build.binary("lt", dtype, index, least), build.binary("lt", dtype, most, index)):
        access.events.note_terms(frame, f"{name} is accessed out of bounds", outside)


def _offsets(
    terms: Terms, name: str, indices: Sequence[int], axes: Sequence[tuple[int, int]]
) -> tuple[tuple[int, int, int], Ids]:
    """Of one access: what its indices depend on, and the offset for each case; -1 where one is out of bounds."""
    ranges = _Ranges(terms)
    whole: Ids = np.zeros(1, dtype=np.int64)
    outside = np.zeros(1, dtype=np.bool_)
    domain = -1, 0, 1
    for term, (extent, stride) in zip(indices, axes, strict=True):
        cases = ranges.cases(term)
        if cases is None:  # where it has a meaning, it is inside
            cases = ranges.inside(term, extent)
        if cases.base >= 0 and domain[0] >= 0 and cases.domain != domain:
            raise Refused(f"indices of {name} depend on several data")
        domain = cases.domain if cases.base >= 0 else domain
        if cases.values.size > _MOST or not cases.values.size:
            raise Refused(f"an index of {name} depends on data, which have too many values")
        outside = outside | (cases.values < 0) | (cases.values >= extent)
        whole = whole + cases.values * stride
    offsets = np.where(outside, -1, whole)
    inside = np.flatnonzero(~outside)
    if domain[0] < 0 or not inside.size:
        return domain, offsets
    first, last = int(inside[0]), int(inside[-1])  # beyond them, there is no meaning
    while first < last and offsets[first + 1] == offsets[first]:  # as much as clamping does
        first += 1
    while first < last and offsets[last - 1] == offsets[last]:
        last -= 1
    return (domain[0], domain[1] + first, last - first + 1), offsets[first : last + 1]


def _contents(access: Access, frame: Frame, of: tuple[Buffer, View], rows: Ids, fixed: Ids, offsets: Ids) -> Ids:
    """What each access may find, one column for each case; undef where it is out of bounds."""
    buffer, view = of
    there = offsets >= 0
    at = fixed[:, None] + np.where(there, offsets, 0)
    if ((at < 0) | (at >= view.span))[there].any():
        raise Refused(f"an index of {buffer.name} depends on data, and may leave its block")
    access.build.operations += at.size
    base = frame.bases.get(buffer.data)
    at = np.where(there, at, 0) if base is None else np.where(there, at, 0) + base[rows][:, None]
    if buffer.data in access.written:
        for region, numbers in frame.regions:
            if region.judged or not region.strict:  # no conflict is certain: which element is read is not known
                raise Refused(f"an index of {buffer.name} depends on data, in a loop that may not run serially")
            note_read(region, view.block, np.broadcast_to(numbers[rows][:, None], at.shape)[there], at[there])
    cells = np.where(there, view.block.ids[at], UNDEF_ID)
    return access.typed(cells, view)


def _chosen(access: Access, dtype: DType, base: int, low: int, contents: Ids) -> Ids:
    """The choice among the columns by the value of a term."""
    build, terms = access.build, access.terms
    count = contents.shape[1]
    if base < 0 or count == 1:
        return contents[:, 0]
    index = terms.result_dtype(base)
    if count <= _LONGEST:
        found = contents[:, -1]
        for k in range(count - 2, -1, -1):
            number = np.full(1, terms.constant(index, low + k))
            here = build.binary("eq" if k else "le", index, np.full(1, base), number)
            found = build.choose(dtype, here, contents[:, k], found)
        return found
    doubtful = (terms.flags[contents] & MAY_UNDEF != 0).any(axis=1) | bool(terms.flags[base] & MAY_UNDEF)
    state = build.opaque(f"pure gather {low} {count}", VOID, np.zeros(1, dtype=np.int64))
    state = build.opaque("with", VOID, state, np.full(1, base))
    while contents.shape[1] > 1:
        if contents.shape[1] % 2:
            contents = np.concatenate([contents, np.full((len(contents), 1), UNDEF_ID)], axis=1)
        contents = build.opaque("pair", VOID, contents[:, 0::2], contents[:, 1::2])
        build.operations += contents.size
    state = build.opaque("with", VOID, state, contents[:, 0])
    result = build.opaque("result", dtype, state, np.zeros(1, dtype=np.int64))
    terms.flags[result[doubtful]] |= MAY_UNDEF
    return result


# ------------------------------------------------------------------------------------------------ values of indices


@final
class _Ranges:
    """Ranges of integer terms, and what they depend on."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self._known: dict[int, tuple[int, int]] = {}

    def of(self, term: int) -> tuple[int, int]:
        """The least and the largest value that a term may have, if it is not undef."""
        if term not in self._known:
            self._known[term] = self._of(term)
        return self._known[term]

    def _of(self, term: int) -> tuple[int, int]:
        terms = self.terms
        op, dtype = terms.op_of(term), terms.result_dtype(term)
        if not (dtype.is_int or dtype.is_bool):
            raise Refused("an index depends on data that are no integers")
        every = (0, 1) if dtype.is_bool else (dtype.min_value, dtype.max_value)
        a, b, c = terms.operands(term)
        if op == "const":
            value = int(terms.value(term))
            return value, value
        if op in ("min", "max"):
            pick = min if op == "min" else max
            (x, y), (z, w) = self.of(a), self.of(b)
            return pick(x, z), pick(y, w)
        if op == "ite":
            (x, y), (z, w) = self.of(b), self.of(c)
            return min(x, z), max(y, w)
        if op.startswith("cast:") and (DType.parse(op[5:]).is_int or op == "cast:bool"):
            x, y = self.of(a)
            return (x, y) if every[0] <= x and y <= every[1] else every
        if op == "floormod" and terms.op_of(b) == "const" and int(terms.value(b)) > 0:
            return 0, int(terms.value(b)) - 1
        if op in ("add", "sub", "mul"):
            (x, y), (z, w) = self.of(a), self.of(b)
            ends = [_RING[op](p, q) for p in (x, y) for q in (z, w)]
            return (min(ends), max(ends)) if every[0] <= min(ends) and max(ends) <= every[1] else every
        return every

    def cases(self, term: int) -> Cases | None:
        """A term as a function of one with few values; ``None`` if it is not known to be one."""
        terms = self.terms
        op, dtype = terms.op_of(term), terms.result_dtype(term)
        if op == "const":
            return Cases(-1, 0, _modulo(int(terms.value(term))))
        a, b, _ = terms.operands(term)
        if op in _ARITHMETIC and dtype.is_int:
            found = self._arithmetic(op, dtype, self.cases(a), self.cases(b))
            if found is not None:
                return found
        if op.startswith("cast:") and dtype.is_int and DType.parse(op[5:]).is_int:
            inner = self.cases(a)
            if inner is not None:
                values = inner.values if dtype is _UINT64 else fit(dtype, inner.values, index=False)[0]
                return Cases(inner.base, inner.low, values)
        return self._clamped(term)

    def inside(self, term: int, extent: int) -> Cases:
        """A term that is from 0 to below an extent wherever the program has a meaning."""
        base = term
        while (op := self.terms.op_of(base)).startswith("cast:") and self._keeps(
            op, self.terms.operands(base)[0], base
        ):
            base = self.terms.operands(base)[0]
        most = min(extent - 1, self.of(base)[1])
        return Cases(base, 0, np.arange(most + 1, dtype=np.int64))

    def _arithmetic(self, op: str, dtype: DType, a: Cases | None, b: Cases | None) -> Cases | None:
        if a is None or b is None or (a.base >= 0 and b.base >= 0 and a.domain != b.domain):
            return None
        if dtype is _UINT64:
            return None
        values, trouble = operate(op, dtype, a.values, b.values, index=False)
        base, low, _ = a.domain if a.base >= 0 else b.domain
        return None if trouble is not None else Cases(base, low, values)

    def _clamped(self, term: int) -> Cases | None:
        """A term that is another one clamped to a short range: minima and maxima with constants of casts of it."""
        low, high = self.of(term)
        if high - low >= _MOST or high >= 1 << 62:
            return None
        base = term
        while True:
            op, (a, b, _) = self.terms.op_of(base), self.terms.operands(base)
            if op in ("min", "max") and self.terms.op_of(a) == "const":
                a, b = b, a
            if op in ("min", "max") and self.terms.op_of(b) == "const":
                if not self._same(op, int(self.terms.value(b)), low, high):
                    break
                base = a
            elif op.startswith("cast:") and self._keeps(op, a, base):
                base = a
            else:
                break
        return self._based(base, low, high)

    def _same(self, op: str, bound: int, low: int, high: int) -> bool:
        """Whether a minimum or maximum does to all numbers what clamping to a range does anyway."""
        tried = low - 1, low, high, high + 1
        return all(_clamp(_EXTREME[op](v, bound), low, high) == _clamp(v, low, high) for v in tried)

    def _keeps(self, op: str, inner: int, outer: int) -> bool:
        """Whether a cast is to an integer type that has all values of the inner term."""
        if not DType.parse(op[5:]).is_int:
            return False
        (low, high), dtype = self.of(inner), self.terms.result_dtype(outer)
        return dtype.is_int and dtype.min_value <= low and high <= dtype.max_value

    def _based(self, base: int, low: int, high: int) -> Cases | None:
        """The base itself, in the part of the range that its type has."""
        least, most = self.of(base)
        if most < low or least > high:
            return None
        low, high = max(low, least), min(high, most)
        return Cases(base, low, np.arange(low, high + 1, dtype=np.int64))


_RING: Final[dict[str, Callable[[int, int], int]]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
}  # fmt: skip
_EXTREME: Final[dict[str, Callable[[int, int], int]]] = {"min": min, "max": max}


def _modulo(value: int) -> Ids:
    return np.array([value if value < 1 << 63 else value - (1 << 64)], dtype=np.int64)


def _clamp(value: int, low: int, high: int) -> int:
    return min(max(value, low), high)
