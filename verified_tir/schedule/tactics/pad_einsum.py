"""pad_einsum: the loops of a sum of products run to the next multiple of a factor, on padded copies.

    for i, j, k in grid(127, 127, 127): C[i, j] = C[i, j] + A[i, k] * B[k, j]

with factors (16, 16, 16) becomes the same over ``grid(128, 128, 128)``, on the copies ``A_pad`` and ``B_pad``, which
hold 0 in their padding, and ``C_pad``, of which what lies in the box of C is copied back.

1.  Each operand is copied and its copy gets more room (``stage``, ``couple``); zeros are stored there (``insert``).
2.  Each loop runs further, under a guard (``reindex``).
3.  The guards go, the inner ones first (``insert``, ``branch``).  The guard of a loop over elements of C may go because
    what is stored beyond the box was undefined and is not copied back; that of a loop of the sum because adding the
    product of the padding changes no bit.  For integers that is so if one factor is 0.  For floats *all* factors must
    be 0, since 0 * inf and 0 * nan are nan, and C must never be -0.0, since -0.0 + 0.0 is 0.0.  The kernel decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import final

import numpy as np

from verified_tir.index.fold import folded
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Binary, Cast, Expr, IntImm, Load, Var
from verified_tir.ir.find import loop_path
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import Path
from verified_tir.ir.poly import counted_in
from verified_tir.ir.stmt import For, If, Seq, Store
from verified_tir.ir.sugar import any_of, binary, const
from verified_tir.ir.visit import free_vars, nodes_of
from verified_tir.kernel.obligation import Unproved
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.reduction import term_of
from verified_tir.schedule import codes, moves
from verified_tir.schedule.moves import NewLoop
from verified_tir.schedule.rule_builders import in_a_loop, with_else
from verified_tir.schedule.session import Session, TacticFailed, fail, with_hint
from verified_tir.schedule.tactics.block_domain import block_loops
from verified_tir.schedule.tactics.in_turn import is_zero
from verified_tir.schedule.tactics.layout import lay_out
from verified_tir.schedule.tactics.loops import ceildiv, reorder
from verified_tir.schedule.tactics.produced import is_one
from verified_tir.schedule.tactics.recompose import is_initialised, recompose
from verified_tir.schedule.tactics.reduction import decompose_reduction
from verified_tir.schedule.tactics.rfactor import unused_name
from verified_tir.schedule.tactics.staging import cache_read, cache_write
from verified_tir.schedule.tactics.tidy import fold_at, run_once


@final
@dataclass(frozen=True, slots=True)
class Einsum:
    """The loops around a block, outermost first, and its update; ``factors`` are the loads of the product."""

    block: str
    loops: tuple[For, ...]
    store: Store
    factors: tuple[Load, ...]

    def over_elements(self, loop: For) -> bool:
        """Whether a loop runs over elements of the result, or over nothing: its iterations only repeat the sum."""
        return any(loop.var is e for e in self.store.indices) or not self.indexes(loop)

    def indexes(self, loop: For) -> bool:
        """Whether something is indexed by a loop."""
        accesses: tuple[Load | Store, ...] = (self.store, *self.factors)
        return any(loop.var in a.indices for a in accesses)


def pad_einsum(session: Session, block: str, padding: Sequence[int]) -> None:
    """Let the iteration variables of a block run to multiples of the factors ``padding``; 1 pads nothing."""
    einsum = _einsum(session, block)
    order = [s.var for s in block_loops(session, block)]
    if not isinstance(padding, str) and len(padding) == len(order) == len(einsum.loops):
        padding = [padding[order.index(s.var)] for s in einsum.loops]
    _pad(session, einsum, padding)


def _pad(session: Session, einsum: Einsum, padding: Sequence[int]) -> None:
    """Let the loops around a sum of products run to multiples of the factors, outermost first."""
    block, sizes = einsum.block, _sizes(session, einsum, padding)
    idle = [s for s in einsum.loops if not einsum.indexes(s) and is_one(s.extent)]
    if not sizes:
        return
    if idle:
        _without(session, einsum, idle, padding)
        return
    written, initialised = [s.var for s in einsum.loops], is_initialised(session.block(block)[1])
    inner_last = sorted(einsum.loops, key=lambda s: not einsum.over_elements(s))  # stable: elements outside the sum
    if [s.var for s in inner_last] != written:
        reorder(session, [s.var for s in inner_last])
    for buffer in dict.fromkeys(load.buffer for load in einsum.factors):
        loads = [load for load in einsum.factors if load.buffer is buffer]
        _padded_copy(session, block, buffer, [load.indices for load in loads], sizes, result=False)
    _padded_copy(session, block, einsum.store.buffer, [einsum.store.indices], sizes, result=True)
    summed = [s.var for s in inner_last if s.var in sizes and not einsum.over_elements(s)]
    first = _initialisation(session, block, einsum, sizes) if summed and einsum.store.buffer.dtype.is_float else {}
    guarded = {s.var: sizes[s.var] for s in inner_last if s.var in sizes}
    for var, extent in (*guarded.items(), *first.items()):
        _extend(session, var, extent)
    for var in (*reversed(guarded), *reversed(first)):  # while what comes first is guarded, its places are undefined
        _run_always(session, var, einsum)
    if [s.var for s in inner_last] != written:
        reorder(session, written)
    if initialised and not is_initialised(session.block(block)[1]):
        recompose(session, block)


def _without(session: Session, einsum: Einsum, idle: Sequence[For], padding: Sequence[int]) -> None:
    """The same while loops that run once, and index nothing, are not there."""
    for s in idle:
        run_once(session, session.loop(s.var)[0])
    rest = [(s, p) for s, p in zip(einsum.loops, padding, strict=True) if s not in idle]
    _pad(session, _einsum(session, einsum.block), [p for _, p in rest])
    for s, inner in reversed(list(pairwise(einsum.loops))):
        if s in idle:
            new = Var.fresh(s.var.name, s.var.dtype)
            session.apply(in_a_loop(session.loop(inner.var)[0], new))
            session.renamed[s.var] = new


# -- what there is -----------------------------------------------------------------------------------------------------


def _einsum(session: Session, block: str) -> Einsum:
    """The sum of products that a block is."""
    place, label = session.block(block)
    body = label.body
    first = next(iter(body.stmts), None) if isinstance(body, Seq) else None
    store = body.stmts[-1] if isinstance(body, Seq) and len(body.stmts) == 2 and isinstance(first, If) else body
    loops = tuple(_around(session, place))
    if not isinstance(store, Store):
        raise fail(
            f"block {block} is not a sum of products: it contains something other than one update",
            place,
            code=codes.NOT_OF_THIS_FORM,
        )
    split = term_of(store)
    factors = None if split is None or split[0] != "add" else _factors(split[1])
    if factors is None:
        raise fail(
            f"block {block} is not a sum of products: {store.buffer.name} is updated otherwise",
            place,
            code=codes.NOT_OF_THIS_FORM,
        )
    if any(load.buffer.data is store.buffer.data for load in factors):
        raise fail(
            f"block {block} is not a sum of products: a factor is read from {store.buffer.name} itself",
            place,
            code=codes.WRONG_ARGUMENT,
        )
    accesses: tuple[Load | Store, ...] = (store, *factors)
    for access in accesses:
        name, indices = access.buffer.name, access.indices
        if not all(isinstance(e, IntImm) or e in {s.var for s in loops} for e in indices):
            raise fail(
                f"an index of {name} is neither a loop's variable nor a constant, so block {block} is not an einsum",
                place,
                code=codes.NOT_OF_THIS_FORM,
            )
    return Einsum(block, loops, store, factors)


def _around(session: Session, place: Path) -> Iterator[For]:
    """The loops directly around a block, outermost first: a box that begins at zero."""
    stmts = [session.stmt(place[:k]) for k in range(len(place))]
    while stmts and not isinstance(stmts[-1], For):
        stmts.pop()
    start = next((k + 1 for k in range(len(stmts) - 1, -1, -1) if not isinstance(stmts[k], For)), 0)
    found = [s for s in stmts[start:] if isinstance(s, For)]
    if not found or len(place) != len(stmts):
        raise fail(
            "no loop stands directly around the block (a condition, perhaps)", place, code=codes.STANDS_ELSEWHERE
        )
    variables = {s.var for s in found}
    for s in found:
        if not is_zero(s.min) or variables & set(free_vars(s.extent)):
            raise fail(
                f"the loop over {s.var.name} does not run from 0 to an extent known outside of the nest",
                place,
                code=codes.NOT_CONSTANT,
            )
    yield from found


def _factors(e: Expr) -> tuple[Load, ...] | None:
    """The loads that are multiplied, through casts."""
    match e:
        case Load():
            return (e,)
        case Cast(value=value):
            return _factors(value)
        case Binary(op="mul", a=a, b=b):
            left, right = _factors(a), _factors(b)
            return None if left is None or right is None else (*left, *right)
    return None


def _sizes(session: Session, einsum: Einsum, padding: Sequence[int]) -> dict[Var, Expr]:
    """The new extents of the loops that are padded."""
    place, _ = session.block(einsum.block)
    names = ", ".join(s.var.name for s in einsum.loops)
    if isinstance(padding, str) or len(padding) != len(einsum.loops):
        raise fail(
            f"pad_einsum takes one factor for each of the loops {names}, not {list(padding)!r}",
            place,
            code=codes.WRONG_ARGUMENT,
        )
    found: dict[Var, Expr] = {}
    for loop, factor in zip(einsum.loops, padding, strict=True):
        number = factor.value if isinstance(factor, IntImm) else factor
        if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 1:
            raise fail(
                f"the extent of {loop.var.name} is padded to a multiple of a positive integer, not of {factor!r}",
                place,
                code=codes.WRONG_ARGUMENT,
            )
        try:
            extent = _multiple(loop.extent, int(number))
        except IRError as problem:
            raise fail(f"{loop.var.name} cannot run to a multiple of {number}: {problem}", place) from None
        if extent is not loop.extent:
            if not einsum.indexes(loop):
                raise fail(f"nothing is indexed by the loop over {loop.var.name}", place, code=codes.NOTHING_TO_CHANGE)
            found[loop.var] = extent
    return found


def _multiple(extent: Expr, factor: int) -> Expr:
    match extent:
        case IntImm(value=n):
            return const(-(-n // factor) * factor, extent.dtype)
    return extent if factor == 1 else folded(ceildiv(extent, factor) * factor)


# -- copies ------------------------------------------------------------------------------------------------------------


def _padded_copy(
    session: Session,
    block: str,
    buffer: Buffer,
    accesses: Sequence[tuple[Expr, ...]],
    sizes: dict[Var, Expr],
    *,
    result: bool,
) -> None:
    """Let the block use a copy of a buffer, with room for all iterations."""
    place, _ = session.block(block)
    try:
        wanted = [{counted_in(sizes[e], n.dtype) for indices in accesses for e in [indices[d]]
                   if isinstance(e, Var) and e in sizes} for d, n in enumerate(buffer.shape)]  # fmt: skip
    except IRError as problem:
        raise fail(f"{buffer.name} cannot be padded: {problem}", place) from None
    if not any(wanted):
        return
    if any(len(extents) > 1 for extents in wanted):
        raise fail(
            f"{buffer.name} is read at loops that are padded to different extents", place, code=codes.NOT_OF_THIS_FORM
        )
    name = unused_name(f"{buffer.name}_pad", {n.name for n in nodes_of(session.func, Buffer)})
    copy = (cache_write if result else cache_read)(session, block, buffer, name=name)
    shape = tuple(next(iter(extents)) if extents else n for extents, n in zip(wanted, copy.shape, strict=True))
    lay_out(session, copy, _roomier(copy, shape), None if result else 0)


def _roomier(buffer: Buffer, shape: tuple[Expr, ...]) -> LayoutMap:
    """Every element keeps its indices, and more room is around them.  Indices may differ in type, which no
    ``IndexMap`` allows."""
    x, y = (tuple(Var.fresh(f"x{d}", n.dtype) for d, n in enumerate(shape)) for _ in range(2))
    beyond = [v >= n for v, n, new in zip(y, buffer.shape, shape, strict=True) if new is not n]
    return LayoutMap(x, x, y, y, shape, any_of(beyond))


def _initialisation(session: Session, block: str, einsum: Einsum, sizes: dict[Var, Expr]) -> dict[Var, Expr]:
    """Split the initialisation off, and give its loops that are padded with their new extents.

    That C is never -0.0 is known where zeros were stored before the sum begins, not in its first iteration.
    """
    _, label = session.block(block)
    if not isinstance(label.body, Seq):
        return {}
    loops = [s for s in einsum.loops if einsum.over_elements(s)]
    outermost = next(_around(session, session.block(block)[0]))
    name = decompose_reduction(session, block, outermost.var)
    if not loops:
        return {}
    order = [session.current(s.var) for s in loops]
    around = [s.var for s in _around(session, session.block(block)[0]) if s.var in order]
    firsts = [s.var for s in _around(session, session.block(name)[0])]
    sized = {session.current(v): n for v, n in sizes.items()}
    return {f: sized[v] for f, v in zip(firsts, around, strict=True) if v in sized}


# -- loops -------------------------------------------------------------------------------------------------------------


def _extend(session: Session, handle: Var, extent: Expr) -> None:
    """``for i in range(n): S`` ⟶ ``for i in range(N): if i < n: S``."""
    path, loop = session.loop(handle)
    var = Var.fresh(loop.var.name, loop.var.dtype)
    new = NewLoop(var, loop.min, extent, loop.kind, loop.thread, loop.annotations)
    session.apply(moves.reindex(path, 1, (new,), (binary("lt", var, loop.extent),), (var,), (loop.var,)))
    session.renamed[loop.var] = var


def _run_always(session: Session, var: Var, einsum: Einsum) -> None:
    """Remove the guard below a loop; if that cannot be, say what is missing."""
    path = loop_path(session.func, session.current(var))
    assert path is not None
    body = session.at((*path, 0), If).then_body
    try:
        session.apply(with_else((*path, 0)), Insert((*path, 0, 1), body))
    except TacticFailed as failed:
        raise _with_remedy(failed, var, einsum) from None
    session.apply(moves.merge((*path, 0)))
    fold_at(session, (*path, 0))


def _with_remedy(failed: TacticFailed, var: Var, einsum: Einsum) -> TacticFailed:
    """The refusal, with what would make the step right: for a loop of a float sum, two things can be in the way."""
    refusal, result = failed.refusal, einsum.store.buffer
    summed = next((s for s in einsum.loops if s.var is var and not einsum.over_elements(s)), None)
    refuted = isinstance(refusal, Unproved) and refusal.obligation.name == "no-op"
    if summed is None or not refuted or not result.dtype.is_float:
        return failed
    free = [load.buffer.name for load in einsum.factors if var not in load.indices]
    if free:
        names = " and ".join(dict.fromkeys(free))
        hint = f"{names} is not indexed by {var.name}, and 0 * inf is nan: assume that it is finite"
    else:
        hint = f"{result.name} may be -0.0, and -0.0 + 0.0 is 0.0: let the sum begin with 0.0"
    return with_hint(failed, hint)
