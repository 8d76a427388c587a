"""Views that a description's accesses are made through: where they start in the site's buffer, and their strides.

Input: pairs of indices, those of the site and those of the description.  Each index of the site is taken for a sum:
something that stays the same during the nest, and a multiple of each of the description's indices.  The guess is made
from the first access that tells; the kernel proves it for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, Ramp, Var
from verified_tir.ir.poly import Poly, as_poly, render
from verified_tir.ir.visit import substitute, walk
from verified_tir.schedule.tactics.unify import Indices, Match, Mismatch, first_line


@final
@dataclass(frozen=True, slots=True)
class Window:
    """A view of a buffer: index ``e`` of the view is index ``offsets[d] + Σ factors[d][p] · e[p]`` in dimension d."""

    buffer: Buffer
    view: Buffer
    strides: tuple[Expr, ...]
    offsets: tuple[Poly, ...]
    factors: tuple[tuple[int, ...], ...]
    moves: tuple[tuple[Indices, Indices], ...]

    def through(self, indices: Indices) -> Indices:
        """The indices in the buffer of an access of the view."""
        found: list[Expr] = []
        for offset, factors in zip(self.offsets, self.factors, strict=True):
            used = [(k, e) for k, e in zip(factors, indices, strict=True) if k]
            total, ramp = offset, None
            for k, e in used:
                if isinstance(e, Ramp):
                    ramp, total = (e, k), total + as_poly(e.base).scale(k)
                else:
                    total = total + as_poly(e).scale(k)
            plain = render(total, self.view.elem_offset.dtype)
            if ramp is not None:
                (e, k) = ramp
                plain = Ramp(plain, render(as_poly(e.stride).scale(k), plain.dtype), e.lanes)
            found.append(plain)
        return tuple(found)


def window(p: Buffer, match: Match) -> Window:
    """The view of the site's buffer that stands for the parameter ``p``.

    :raises Mismatch: if the site's indices are no such sums.
    """
    buffer, pairs = match.accesses[p]
    factors = _factors(p, buffer, pairs, match)
    site, wanted = pairs[0]
    offsets = tuple(
        _base(s) - _sum([_base(e).scale(k) for k, e in zip(row, wanted, strict=True)])
        for s, row in zip(site, factors, strict=True)
    )
    for offset, s in zip(offsets, site, strict=True):
        if any(n in match.inner for a in offset.atoms() for n in walk(a)):
            name = match.func.name
            raise Mismatch(
                f"index {first_line(s)!r} of {buffer.name} does not go along with those of {p.name} of {name}"
            )
    return _view(p, buffer, pairs, match, factors, offsets)


def _base(e: Expr) -> Poly:
    return as_poly(e.base) if isinstance(e, Ramp) else as_poly(e)


def _sum(parts: list[Poly]) -> Poly:
    total = Poly({})
    for part in parts:
        total = total + part
    return total


def _factors(
    p: Buffer, buffer: Buffer, pairs: list[tuple[Indices, Indices]], match: Match
) -> tuple[tuple[int, ...], ...]:
    """By dimension of the site's buffer and of the parameter, how many steps of the first one of the second is."""
    rank, found = len(buffer.shape), []
    for axis in range(len(p.shape)):
        column = next((c for site, wanted in pairs if (c := _column(site, wanted, axis, match)) is not None), None)
        if column is None:  # its index never changes: the dimensions are aligned at their ends
            column = [0] * rank
            if rank - len(p.shape) + axis >= 0:
                column[rank - len(p.shape) + axis] = 1
        found.append(column)
    return tuple(tuple(column[d] for column in found) for d in range(rank))


def _column(site: Indices, wanted: Indices, axis: int, match: Match) -> list[int] | None:
    """How each index of the site grows with index ``axis`` of the description; ``None`` if this access does not say."""
    index = wanted[axis]
    if isinstance(index, Ramp):
        scale = as_poly(index.stride).constant
        last = [as_poly(s.stride).constant if isinstance(s, Ramp) else 0 for s in site]
        return None if not scale or None in last else [(k or 0) // scale for k in last]
    others = {a for k, e in enumerate(wanted) if k != axis for a in _base(e).atoms()}
    for atom in as_poly(index).atoms():
        split = as_poly(index).coefficient(atom)
        scale = None if split is None else split[0].constant
        if not scale or atom in others or not any(n in match.inner for n in walk(atom)):
            continue
        grows = [_base(s).coefficient(atom) for s in site]
        steps = [None if g is None else g[0].constant for g in grows]
        if all(k is not None and k % scale == 0 for k in steps):
            return [k // scale for k in steps if k is not None]
    return None


def _view(
    p: Buffer, buffer: Buffer, pairs: list[tuple[Indices, Indices]], match: Match,
    factors: tuple[tuple[int, ...], ...], offsets: tuple[Poly, ...],
) -> Window:  # fmt: skip
    dtype = buffer.elem_offset.dtype
    rows = _row_strides(buffer)
    strides = [_sum([r.scale(row[axis]) for r, row in zip(rows, factors, strict=True)]) for axis in range(len(p.shape))]
    start = as_poly(buffer.elem_offset) + _sum([r * o for r, o in zip(rows, offsets, strict=True)])
    found = tuple(render(s, dtype) for s in strides)
    for e, value in (*zip(p.strides, found, strict=False), (p.elem_offset, render(start, dtype))):
        if isinstance(e, Var):
            match.values.setdefault(e, value)
    if len(p.shape) == len(buffer.shape):
        for e, value in zip(p.shape, buffer.shape, strict=True):
            if isinstance(e, Var):
                match.values.setdefault(e, value)
    shape = tuple(substitute(e, match.values) for e in p.shape)
    declared = tuple(substitute(e, match.values) for e in p.strides)
    compact = _compact(shape)
    plain = all(a.same(b) for a, b in zip(strides, compact, strict=True)) and not declared
    view = Buffer.declare(
        f"{buffer.name}_{p.name}", shape, buffer.dtype, data=buffer.data, strides=() if plain else declared or found,
        elem_offset=render(start, dtype), scope=buffer.scope,
    )  # fmt: skip
    same = len(shape) == len(buffer.shape) and all(
        as_poly(a).same(as_poly(b)) for a, b in zip(shape, buffer.shape, strict=True)
    )
    whole = same and plain and not buffer.strides and start.same(as_poly(buffer.elem_offset))
    identity = all(a is b for site, wanted in pairs for a, b in zip(site, wanted, strict=False))
    if whole and identity and len(p.shape) == len(buffer.shape):
        view = buffer
    moves = tuple(dict.fromkeys((site, wanted) for site, wanted in pairs))
    return Window(buffer, view, declared or found, offsets, factors, moves)


def _row_strides(buffer: Buffer) -> list[Poly]:
    return [as_poly(s) for s in buffer.strides] if buffer.strides else _compact(buffer.shape)


def _compact(shape: Indices) -> list[Poly]:
    """The strides of a row-major layout."""
    found: list[Poly] = []
    step = Poly.of(1)
    for extent in reversed(shape):
        found.insert(0, step)
        step = step * as_poly(extent)
    return found


__all__ = ["Window", "window"]
