"""Which iteration stores an element: the region that one iteration of a loop stores, turned round.

The region is a box whose corner moves with the loops (``regions.py``).  Where the corner is a sum of multiples of the
loop variables, the last iteration whose box holds an element is found digit by digit; else the corner is taken for an
index map and inverted.  A loop that does not move the corner has stored for the last time in its last iteration.

Nothing here is trusted: the answer is a witness, and the kernel proves what it needs of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from verified_tir.index.bounds import Bounds
from verified_tir.index.map import IndexMapError, preimage
from verified_tir.index.simplify import simplify as simplify_index
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Binary, Expr, IntImm, Var
from verified_tir.ir.paths import Path
from verified_tir.ir.poly import as_poly, counted_in, render
from verified_tir.ir.stmt import For, Store
from verified_tir.ir.sugar import binary, const
from verified_tir.ir.visit import free_vars, nodes_of, substitute
from verified_tir.schedule import codes
from verified_tir.schedule.session import Session, fail
from verified_tir.schedule.tactics.regions import Side, box_of


@final
@dataclass(frozen=True, slots=True)
class Produced:
    """The box that one iteration stores of a buffer.

    ``known`` are the variables that its corner may mention, ``moving`` the loops around that the stores' indices
    mention.  ``indices`` are those of the store, if all stores have the same, and ``inner`` the loops inside.
    """

    buffer: Buffer
    sides: tuple[Side, ...]
    known: frozenset[Var]
    moving: frozenset[Var]
    indices: tuple[Expr, ...] | None
    inner: tuple[For, ...]
    whole: tuple[Side, ...]
    """What all iterations together store."""

    def clamped(self, element: tuple[Expr, ...], known: Bounds) -> tuple[Expr, ...] | None:
        """The nearest element that is stored at all; ``None`` if that is known to be the element itself."""
        found: list[Expr] = []
        for side, index in zip(self.whole, element, strict=True):
            first, last = as_poly(side.start), as_poly(side.start + side.extent - 1)
            below = known.nonneg(last - as_poly(index))
            near = index if below else binary("min", index, render(last, index.dtype))
            above = known.nonneg(as_poly(index) - first)
            found.append(near if above else binary("max", near, render(first, index.dtype)))
        return None if all(a is b for a, b in zip(found, element, strict=True)) else tuple(found)


def produced_by(session: Session, where: Path, around: Sequence[For], buffer: Buffer) -> Produced:
    """What one iteration of the loop at ``where`` stores of a buffer."""
    loops = session.loops_around((*where, 0))
    ranges = {s.var: (s.min, s.extent) for s in loops}
    box = box_of(session.stmt((*where, 0)), buffer, ranges, reads=False)
    if box is None:
        raise fail(
            f"the loop over {loops[-1].var.name} does not store to {buffer.name}", where, code=codes.NOT_USED_THERE
        )
    bound = {s.var for s in loops}
    symbols = {v for side in box.sides for e in (side.start, side.extent) for v in free_vars(e)} - bound
    top = next(where[:k] for k in range(len(where) + 1) if session.stmt(where[:k]) is around[0])
    outside = {s.var: (s.min, s.extent) for s in loops if all(s is not a for a in around)}
    whole = box_of(session.stmt(top), buffer, outside, reads=False)
    assert whole is not None
    body = session.stmt((*where, 0))
    stores = {n.indices for n in nodes_of(body, Store) if n.buffer is buffer}
    used = {v for indices in stores for e in indices for v in free_vars(e)}
    return Produced(
        buffer, box.sides, frozenset(bound | symbols), frozenset(s.var for s in around if s.var in used),
        next(iter(stores)) if len(stores) == 1 else None, nodes_of(body, For),
        whole.sides,
    )  # fmt: skip


def iteration_of(produced: Produced, around: Sequence[For], element: tuple[Expr, ...]) -> dict[Var, Expr]:
    """For each of the loops, outermost first, its last iteration in which the element is stored."""
    found: dict[Var, Expr] = {}
    for side, e in zip(produced.sides, element, strict=True):
        digits = _digits(side, [s for s in around if s.var not in found], e)
        found.update(digits or {})
    if produced.moving - set(found):
        found = _inverted(produced, around, element) or _undone(produced, around, element) or found
    last = {s.var: s.min + s.extent - 1 for s in around}
    values = {s.var: counted_in(found.get(s.var, last[s.var]), s.var.dtype) for s in around}
    done: dict[Var, Expr] = {}
    for s in around:  # bounds of inner loops may mention outer ones
        done[s.var] = substitute(values[s.var], done)
    return done


def _digits(side: Side, loops: Sequence[For], element: Expr) -> dict[Var, Expr] | None:
    """The loops that move one side of the box: ``start = a₁·v₁ + … + rest``; ``None`` if it has another form."""
    zero = {s.var: Var.fresh(s.var.name, s.var.dtype) for s in loops}
    rest = as_poly(substitute(side.start, {s.var: zero[s.var] + s.min for s in loops}))
    factors: list[tuple[int, For]] = []
    for s in loops:
        split = rest.coefficient(zero[s.var])
        if split is None:
            return None
        if split[0].is_zero:
            continue
        if split[0].constant is None:
            return None
        factors.append((split[0].constant, s))
        rest = split[1]
    if any(v in free_vars(render(rest, side.start.dtype)) for v in zero.values()):
        return None
    factors.sort(key=lambda pair: -abs(pair[0]))
    if any(a < 0 for a, _ in factors):
        return _backwards(factors, side, rest_of=render(as_poly(element) - rest, side.start.dtype))
    left: Expr = render(as_poly(element) - rest, side.start.dtype)
    found: dict[Var, Expr] = {}
    width = as_poly(side.extent).constant
    for k, (a, s) in enumerate(factors):
        digit = left // a if a != 1 else left
        overlaps = width is None or width > factors[-1][0]
        if overlaps:  # the last box that holds the element, at the end of the range too
            digit = binary("min", digit, s.extent - 1)
            left = left - digit * a
        elif k + 1 < len(factors):
            left = left % a
        found[s.var] = simplify_index(digit + s.min, {})
    return found


def _backwards(factors: list[tuple[int, For]], side: Side, rest_of: Expr) -> dict[Var, Expr] | None:
    """One loop that runs down: the last box that holds the element is the one that begins there or before."""
    if len(factors) != 1:
        return None
    ((a, s),) = factors
    digit = (side.extent - 1 - rest_of) // -a
    return {s.var: simplify_index(binary("min", digit, s.extent - 1) + s.min, {})}


def _inverted(produced: Produced, around: Sequence[For], element: tuple[Expr, ...]) -> dict[Var, Expr] | None:
    """The corner as an index map of the loops, and of a place in the box where that is larger, inverted."""
    moving = [s for s in around if any(s.var in free_vars(side.start) for side in produced.sides)]
    known = {s.var for s in moving}
    sides = [
        (side, e) for side, e in zip(produced.sides, element, strict=True)
        if set(free_vars(side.start)) & known and not set(free_vars(side.extent)) & known
    ]  # fmt: skip
    places = {k: Var.fresh("y", side.start.dtype) for k, (side, _) in enumerate(sides) if not is_one(side.extent)}
    outputs = [side.start + places[k] if k in places else side.start for k, (side, _) in enumerate(sides)]
    extents = [side.extent for k, (side, _) in enumerate(sides) if k in places]
    return _inverse(moving, (*places.values(),), extents, outputs, [e for _, e in sides])


def _undone(produced: Produced, around: Sequence[For], element: tuple[Expr, ...]) -> dict[Var, Expr] | None:
    """The indices of the store as an index map of all loops that they mention, inverted."""
    if produced.indices is None:
        return None
    used = {v for e in produced.indices for v in free_vars(e)}
    moving = [s for s in around if s.var in used]
    inner = [s for s in produced.inner if s.var in used]
    shift = {s.var: s.var + s.min for s in inner if not _zero(s.min)}
    outputs = [substitute(e, shift) for e in produced.indices]
    return _inverse(moving, tuple(s.var for s in inner), [s.extent for s in inner], outputs, list(element))


def _inverse(
    moving: Sequence[For],
    others: tuple[Var, ...],
    extents: Sequence[Expr],
    outputs: Sequence[Expr],
    at: Sequence[Expr],
) -> dict[Var, Expr] | None:
    """The loops, as functions of the outputs of a map over them and other variables, where it has the values ``at``."""
    loops = [(s.var, s.min, s.extent) for s in moving]
    loops += [(v, const(0, v.dtype), n) for v, n in zip(others, extents, strict=True)]
    try:
        found = preimage(loops, list(zip(outputs, at, strict=True)))
    except IndexMapError:
        return _recomposed(moving, outputs, at)
    return {s.var: found[s.var] for s in moving}


def _recomposed(moving: Sequence[For], outputs: Sequence[Expr], at: Sequence[Expr]) -> dict[Var, Expr] | None:
    """Loops whose quotient and remainder by one divisor are known, which may be a symbol."""
    values = dict(zip(outputs, at, strict=True))
    found: dict[Var, Expr] = {}
    for s in moving:
        for e, quotient in values.items():
            match e:
                case Binary(op="floordiv", a=Var() as a, b=b) if a is s.var:
                    remainder = values.get(Binary("floormod", a, b))
                    if remainder is not None:
                        found[a] = quotient * b + remainder
    return found if len(found) == len(moving) else None


def is_one(e: Expr) -> bool:
    """Whether an expression is the constant 1."""
    return isinstance(e, IntImm) and e.value == 1


def _zero(e: Expr) -> bool:
    return isinstance(e, IntImm) and e.value == 0
