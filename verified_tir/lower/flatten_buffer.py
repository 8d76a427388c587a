"""FlattenBuffer: N-d buffers become physical ones, of one dimension or as many as their axis separators leave.

    B[i, j] = A[i, j]                       A_1 = T.decl_buffer((128,), data=A.data)
                                 ⟶          B_1 = T.decl_buffer((128,), data=B.data)
                                            B_1[i * 8 + j] = A_1[i * 8 + j]

A parameter keeps its logical shape, which is what the caller sees, and an alias carries the flattened view (RFC 63).  A
local buffer's block is allocated flat, and what was a view of it stays one.  The axes between two separators become one
physical axis (RFC 39), and the separators are rewritten so that a second run finds nothing to do.  Index arithmetic is
widened to int64 where it does not fit int32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import prod
from typing import final

from verified_tir.index.bounds import Bounds
from verified_tir.index.simplify import Simplifier
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Cast, Expr, IntImm, Ramp
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Allocate, Assume, DeclBuffer, Seq
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.rules.merge_allocations import MergeAllocations
from verified_tir.kernel.rules.scope import Declare, Drop
from verified_tir.kernel.theorem import Rule
from verified_tir.lower.passes import Lowering, Pass, reason
from verified_tir.schedule.edits import Indices, accesses, moves_of, redirected
from verified_tir.schedule.rule_builders import labelled, unwrapped
from verified_tir.schedule.session import Session, TacticFailed


@final
@dataclass(frozen=True, repr=False)
class FlattenBuffer(Pass):
    """Flatten every buffer that has more axes than axis separators and one.

    A local view with strides is addressed by them.  A parameter with strides of its own, or a view that has axis
    separators besides, keeps them, and one whose padding may not be touched keeps its shape; both are noted.
    """

    def lower(self, work: Lowering) -> None:
        nested = [b for b in work.session.func.buffers if _is_nested(b) and accesses(work.session.func.body, b)]
        symbolic = [b for b in nested if sum(not isinstance(e, IntImm) for e in b.shape) > 1]
        later = symbolic if _leading_assumptions(work.session) else []
        path: Path = ()
        for b in nested:
            if b not in later:
                path += (0,) * _through(work, path, b)
        if later:
            _behind_assumptions(work, path, later)
        work.each(Allocate, lambda path, s: _local(work, path, s.buffer), lambda s: _is_nested(s.buffer))
        work.each(DeclBuffer, lambda path, s: _alias(work, path, s.buffer), lambda s: _is_nested(s.buffer))


def _is_nested(b: Buffer) -> bool:
    """Whether a buffer has axes to flatten; one without any becomes one of a single element."""
    return len(b.shape) != len(b.axis_separators) + 1


def _leading_assumptions(session: Session) -> int:
    """How many assumptions the function begins with, if anything comes after them."""
    body = session.func.body
    stmts = body.stmts if isinstance(body, Seq) else ()
    count = next((k for k, s in enumerate(stmts) if not isinstance(s, Assume)), len(stmts))
    return count if count < len(stmts) else 0


def _behind_assumptions(work: Lowering, path: Path, buffers: list[Buffer]) -> None:
    """Declare flat views behind the assumptions at the head of the function, which bound its symbols: a product of
    extents may fit its type there only."""
    session = work.session
    stmts = session.at(path, Seq).stmts
    first = (*path, next(k for k, s in enumerate(stmts) if not isinstance(s, Assume)))
    together = len(stmts) - first[-1]
    if together > 1:
        session.apply(labelled(first, "rest", together))
    place = (*first, 0) if together > 1 else first
    for b in buffers:
        place += (0,) * _through(work, place, b)
    if together > 1:
        session.apply(unwrapped(first))


def _local(work: Lowering, path: Path, old: Buffer) -> None:
    """The block is allocated flat; the old shape is a view of it until nothing uses it any more."""
    _first(work, old, path, lambda flat: MergeAllocations(path, (), flat), Drop((*path, 0)))


def _alias(work: Lowering, path: Path, old: Buffer) -> None:
    """A flat view is declared within the old one, which goes."""
    if _through(work, (*path, 0), old):
        work.session.attempt(Drop(path))


def _through(work: Lowering, path: Path, old: Buffer) -> bool:
    """Declare a flat view of ``old`` at ``path`` and send all accesses below through it."""
    return _first(work, old, path, lambda flat: Declare(path, flat, True))


def _first(work: Lowering, old: Buffer, path: Path, declare: Callable[[Buffer], Rule], *rest: Rule) -> bool:
    """Take the first flat view that the kernel allows; if it allows none, note why."""
    if old.strides and (old.axis_separators or old in work.session.func.buffers):
        work.note(f"{old.name} has strides of its own and keeps its shape")
        return False
    failed: TacticFailed | None = None
    for flat in flat_views(old):
        try:
            with work.session.atomic():
                work.session.apply(declare(flat))
                _redirect(work, (*path, 0), old, flat)
                for rule in rest:
                    work.session.apply(rule)
            return True
        except TacticFailed as refused:
            failed = failed or refused
    assert failed is not None
    work.note(f"{old.name} keeps its shape: {reason(failed.refusal)}")
    return False


def _redirect(work: Lowering, path: Path, old: Buffer, flat: Buffer) -> None:
    """All accesses below ``path`` go through the flat view, with int64 arithmetic if int32 cannot be proved enough."""
    stmt = work.session.stmt(path)
    wide = any(e.dtype.bits > 32 for e in flat.shape)
    ways = [] if wide else [(False, True), (False, False)]
    if wide or _may_widen(old):
        ways.append((True, True))
    for widen, simple in ways:  # (2 * i + j) * m fits where 2 * m * i, which is simpler, may not
        moves = moves_of(stmt, old, partial(flat_indices, old, widen=widen, simple=simple))
        try:
            work.session.apply(redirected(path, old, flat, moves))
            break
        except TacticFailed:
            if (widen, simple) == ways[-1]:
                raise
    if widen:
        work.note(f"the indices of {old.name} are computed in int64: they may not fit int32")


def _is_huge(b: Buffer) -> bool:
    """Whether a constant shape has more elements than int32 can count."""
    return prod(extent.value for extent in b.shape if isinstance(extent, IntImm)) >= 2**31


def _may_widen(b: Buffer) -> bool:
    """Whether int64 arithmetic is worth trying: it is data, which wraps, and no solver decides much about wrapped
    products of symbols."""
    return all(sum(not isinstance(e, IntImm) for e in b.shape[first:last]) <= 1 for first, last in _groups(b))


def _groups(b: Buffer) -> list[tuple[int, int]]:
    """The axes between separators, as (first, last + 1)."""
    cuts = [0, *b.axis_separators, len(b.shape)]
    return list(pairwise(cuts))


def flat_views(b: Buffer) -> Iterator[Buffer]:
    """Flat views of a buffer's block, best first: they differ in how their extents are computed.

    With m = 0 the product 8 * n of (n, 8, m) may overflow, though the array has no element: symbols first, then int64.
    """
    if b.strides:
        yield _strided(b)
        return
    plain = [list(b.shape[first:last]) for first, last in _groups(b)]
    symbols_first = [sorted(group, key=lambda e: isinstance(e, IntImm)) for group in plain]
    ways = [] if _is_huge(b) else [(plain, False), (symbols_first, False)]
    wide = [(plain, True)] if _may_widen(b) else []
    for groups, widen in (*ways, *wide):
        shape = []
        for group in groups:
            extent: Expr = const(1, b.shape[0].dtype if b.shape else "int32")
            for e in group:
                extent = _times(extent, e, widen=widen)
            shape.append(extent)
        yield Buffer.declare(
            b.name, tuple(shape), b.dtype, data=b.data, elem_offset=b.elem_offset, scope=b.scope,
            axis_separators=tuple(range(1, len(shape))),
        )  # fmt: skip


def _strided(b: Buffer) -> Buffer:
    """The flat view of a buffer with strides: to the last element that an index reaches."""
    reach: Expr = const(1, b.shape[0].dtype if b.shape else "int32")
    for extent, stride in zip(b.shape, b.strides, strict=True):
        reach = _plus(reach, _times(binary("sub", extent, const(1, extent.dtype)), stride, widen=False), widen=False)
    return Buffer.declare(b.name, (_simple(reach),), b.dtype, data=b.data, elem_offset=b.elem_offset, scope=b.scope)


def flat_indices(b: Buffer, indices: Indices, *, widen: bool = False, simple: bool = True) -> Indices:
    """The indices of the flat view for an access of ``b``; lanes stay in the last one.

    What is not made ``simple`` is written as row-major order is computed, ``(i * m + j) * k + l``.
    """
    found = []
    if b.strides:
        position: Expr = const(0)
        for index, stride in zip(indices, b.strides, strict=True):
            position = _plus(position, _times(index, stride, widen=widen), widen=widen)
        return (_simple(position) if simple else position,)
    for first, last in _groups(b):
        position = indices[first] if last > first else const(0)
        for index, extent in zip(indices[first + 1 : last], b.shape[first + 1 : last], strict=True):
            position = _plus(_times(position, extent, widen=widen), index, widen=widen)
        found.append(_simple(position) if simple else position)
    return tuple(found)


def _times(a: Expr, b: Expr, *, widen: bool) -> Expr:
    return binary("mul", *of_one_type(a, b, widen=widen))


def _plus(a: Expr, b: Expr, *, widen: bool) -> Expr:
    a, b = of_one_type(a, b, widen=widen)
    match a, b:
        case _, Ramp(base=base, stride=stride, lanes=lanes) if a.dtype.lanes == 1:
            return Ramp(binary("add", a, base), stride, lanes)
    return binary("add", a, b)


def of_one_type(a: Expr, b: Expr, *, widen: bool = False) -> tuple[Expr, Expr]:
    """Two indices, both in the wider of their types, or in int64."""
    bits = 64 if widen else max(a.dtype.bits, b.dtype.bits)
    return _in(a, bits), _in(b, bits)


def _in(e: Expr, bits: int) -> Expr:
    """An index in an integer type of so many bits."""
    if e.dtype.bits == bits:
        return e
    wide = type(e.dtype).parse(f"int{bits}")
    match e:
        case IntImm(value=value):
            return const(value, wide)
        case Ramp(base=base, stride=stride, lanes=lanes):
            return Ramp(_in(base, bits), _in(stride, bits), lanes)
    return Cast(wide.with_lanes(e.dtype.lanes), e)


def _simple(e: Expr) -> Expr:
    match e:
        case Ramp(base=base, stride=stride, lanes=lanes):
            return Ramp(_simple(base), stride, lanes)
    return Simplifier(Bounds({})).expr(e) if e.dtype.lanes == 1 else e
