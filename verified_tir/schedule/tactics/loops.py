"""Loop primitives: split, fuse, reorder, tile, partition, peel, kinds.

All of them are one or two applications of the kernel's order rules; the work here is to find the new bounds, the maps
both ways and the guard, and to leave a text that reads as TVM's would.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from verified_tir.index.bounds import Bounds
from verified_tir.index.fold import folded, size
from verified_tir.index.simplify import simplify as simplify_index
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Binary, Cast, Expr, IntImm, Var
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import Path
from verified_tir.ir.poly import as_poly, render
from verified_tir.ir.stmt import For, ForKind, Seq, Stmt
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import free_vars, substitute
from verified_tir.kernel.obligation import NoMatch
from verified_tir.schedule import codes, moves
from verified_tir.schedule.moves import NewLoop
from verified_tir.schedule.rule_builders import of_kind
from verified_tir.schedule.session import Handle, Session, TacticFailed, fail, with_hint
from verified_tir.schedule.tactics.in_turn import (
    AT_ONCE,
    digits,
    fuse_in_turn,
    is_zero,
    nest_between,
    split_in_turn,
)
from verified_tir.schedule.tactics.licensed import in_another_order
from verified_tir.schedule.tactics.tidy import fold_at, fold_bounds, guards_of, join_guards, run_once

THREADS = frozenset(
    [f"{what}.{axis}" for what in ("blockIdx", "threadIdx", "vthread", "clusterCtaIdx") for axis in "xyz"] + ["vthread"]
)
"""The thread axes that TVM knows."""


# -- split -------------------------------------------------------------------------------------------------------------


def split(session: Session, loop: Handle, factors: Sequence[int | None], *, guarded: bool = True) -> list[Var]:
    """Split a loop into nested serial ones of the given extents; one of them may be ``None`` and is inferred.

    Where the factors do not divide the extent, a guard keeps the extra iterations from doing anything.

    :param guarded: if not, the guard is removed again, which is refused unless it is always true.
    """
    path, target = session.loop(loop)
    _check_unmarked(target, path, "split")
    dtype = target.var.dtype
    sizes = _sizes(target, _checked_factors(factors, path), path)
    news = [Var.fresh(f"{target.var.name}_{k}", dtype) for k in range(len(sizes))]
    below: list[Expr] = [const(1, dtype)]  # how many iterations one step of each new loop is worth
    for s in reversed(sizes[1:]):
        below.insert(0, s * below[0])
    flat = news[0] * below[0]
    for v, step in zip(news[1:], below[1:], strict=True):
        flat = flat + v * step
    offset = target.var if is_zero(target.min) else target.var - target.min
    inverse = [offset // step if k == 0 else offset // step % sizes[k] for k, step in enumerate(below)]
    loops = tuple(NewLoop(v, const(0, dtype), s) for v, s in zip(news, sizes, strict=True))
    exact = is_zero(simplify_index(sizes[0] * below[0] - target.extent, {}))
    guards = () if exact else (Binary("lt", flat, target.extent),)
    if len(news) > AT_ONCE:
        split_in_turn(session, path, target, loops, guards)
    else:
        session.apply(moves.reindex(path, 1, loops, guards, (folded(flat + target.min),), tuple(inverse)))
    if guards and not guarded:
        _without_guard(session, (*path, *(0 for _ in news)))
    session.parts[target.var] = tuple(news)
    session.gone[target.var] = f"it was split into {', '.join(v.name for v in news)}"
    join_guards(session, path)
    fold_at(session, path)
    return news


def _check_unmarked(loop: For, path: Path, primitive: str) -> None:
    """The loop has neither threads nor annotations, of which nobody could say where they belong afterwards.

    :raises TacticFailed: if it has.
    """
    if loop.kind == "thread_binding":
        raise fail(
            f"the loop over {loop.var.name} is bound to {loop.thread}: {primitive} first, then bind",
            path,
            code=codes.MARKED_LOOP,
        )
    if loop.annotations:
        keys = ", ".join(repr(k) for k, _ in loop.annotations)
        raise fail(
            f"the loop over {loop.var.name} is annotated ({keys}): {primitive} first, or unannotate",
            path,
            code=codes.MARKED_LOOP,
        )


def _without_guard(session: Session, path: Path) -> None:
    """Remove the guard that a split left."""
    try:
        session.apply(moves.decide(path, True))
    except TacticFailed as refused:
        if isinstance(refused.refusal, NoMatch):
            raise
        hint = "disable_predication needs factors that divide the extent; T.assume or assume() may say so"
        raise with_hint(refused, hint) from None


def _checked_factors(factors: Sequence[int | None], path: Path) -> list[int | None]:
    """The factors as Python integers."""
    if isinstance(factors, str) or not isinstance(factors, Sequence):
        raise fail(f"split takes a list of factors such as [None, 4], not {factors!r}", path, code=codes.WRONG_ARGUMENT)
    found: list[int | None] = []
    for x in factors:
        if isinstance(x, IntImm):
            found.append(x.value)
        elif x is None or (isinstance(x, (int, np.integer)) and not isinstance(x, bool)):
            found.append(None if x is None else int(x))
        else:
            raise fail(f"a factor is a positive integer or None, not {x!r}", path, code=codes.WRONG_ARGUMENT)
    missing = found.count(None)
    if not found or missing > 1:
        raise fail(
            f"a split takes at least one factor, and at most one of them None; there are {missing} None",
            path,
            code=codes.WRONG_ARGUMENT,
        )
    wrong = next((x for x in found if x is not None and x < 1), None)
    if wrong is not None:
        raise fail(f"a factor must be positive, not {wrong}", path, code=codes.WRONG_ARGUMENT)
    return found


def _sizes(target: For, factors: list[int | None], path: Path) -> list[Expr]:
    """The extents of the new loops."""
    dtype, extent = target.var.dtype, target.extent
    known = 1
    for x in factors:
        known *= x if x is not None else 1
    if known > dtype.max_value:
        raise fail(
            f"the factors multiply to {known}, too large for the loop's type {dtype}",
            path,
            code=codes.FACTORS_DO_NOT_FIT,
        )
    if None not in factors and isinstance(extent, IntImm) and known < extent.value:
        raise fail(
            f"the factors give {known} iterations, fewer than the {extent.value} of the loop",
            path,
            code=codes.FACTORS_DO_NOT_FIT,
        )
    if isinstance(extent, IntImm):
        inferred = const(max(0, -(-extent.value // known)), dtype)
    else:
        inferred = ceildiv(extent, known)
    return [inferred if x is None else const(x, dtype) for x in factors]


def ceildiv(a: Expr, b: int) -> Expr:
    """``a / b`` rounded up."""
    plain = folded(a + (b - 1)) // b
    simple = simplify_index(plain, {})
    return simple if size(simple) < size(plain) else plain


# -- several loops -----------------------------------------------------------------------------------------------------


def reorder(session: Session, handles: Sequence[Handle], licence: str = "") -> None:
    """Put nested loops into the given order; loops between them that are not named stay where they are.

    :param licence: the buffer whose float sum may be rounded in another order.
    """
    if len(handles) < 2:  # as in TVM, nothing is to be done with one
        _only(session, "reorder", handles)
        return
    path, chain, loops = nest_between(session, handles)
    named = [session.loop(h)[1] for h in handles]
    wanted = iter(named)
    order = [next(wanted) if s in named else s for s in loops]
    rebuild(session, path, chain, order, licence)


def rebuild(session: Session, path: Path, chain: list[Stmt], order: Sequence[For], licence: str = "") -> None:
    """Run the nest's loops in another order, guards innermost.

    A loop whose range depends on one that is inside of it now gets the least range that holds all of its own, and a
    guard: ``for i in range(n): for j in range(i + 1)`` becomes ``for j in range(n): for i in range(n): if j < i + 1``.
    """
    loops = [s for s in chain if isinstance(s, For)]
    fresh = {s.var: Var.fresh(s.var.name, s.var.dtype) for s in loops}
    boxes = [_box(s, order[k + 1 :], path) for k, s in enumerate(order)]
    news = tuple(
        NewLoop(fresh[s.var], substitute(low, fresh), substitute(extent, fresh), s.kind, s.thread, s.annotations)
        for s, (low, extent, _) in zip(order, boxes, strict=True)
    )
    within = tuple(substitute(g, fresh) for _, _, guards in boxes for g in guards)
    guards = (*within, *guards_of(chain, fresh))
    old_of_new = tuple(fresh[s.var] for s in loops)
    rule = moves.reindex(path, len(chain), news, guards, old_of_new, tuple(s.var for s in order))
    in_another_order(session, rule, licence)
    session.renamed.update(fresh)
    join_guards(session, path)


def _box(loop: For, inside: Sequence[For], path: Path) -> tuple[Expr, Expr, list[Expr]]:
    """Start and extent of a loop that stands outside of ``inside``, and the guards that keep it to its own range.

    :raises TacticFailed: if its range depends on one of these loops in a way that has no bounds.
    """
    inner = {s.var: (s.min, s.extent) for s in inside}
    below, end = loop.min, folded(loop.min + loop.extent)
    low = high = False
    while found := [v for v in inner if v in {*free_vars(below), *free_vars(end)}]:
        bounds = Bounds({found[-1]: inner[found[-1]]})  # the innermost first: its own range may depend on others
        least, most = bounds.lower(as_poly(below)), bounds.upper(as_poly(end))
        if least is None or most is None:
            raise fail(
                f"the range of the loop over {loop.var.name} depends on {found[-1].name}, which must stay outside it: "
                "no bounds of it were found", path, code=codes.NOT_A_BOX)  # fmt: skip
        low, high = low or found[-1] in free_vars(below), high or found[-1] in free_vars(end)
        below, end = render(least, loop.var.dtype), render(most, loop.var.dtype)
    if not (low or high):
        return loop.min, loop.extent, []
    guards: list[Expr] = [Binary("ge", loop.var, loop.min)] if low else []
    if high:
        guards.append(Binary("lt", loop.var, folded(loop.min + loop.extent)))
    return below, folded(end - below), guards


def fuse(session: Session, handles: Sequence[Handle]) -> Var:
    """One serial loop for several perfectly nested ones, outermost first; as in TVM, whatever they are marked."""
    if len(handles) < 2:
        return _renamed(session, _only(session, "fuse", handles))
    path, chain, loops = nest_between(session, handles)
    if [session.loop(h)[1] for h in handles] != loops:
        names = ", ".join(s.var.name for s in loops)
        raise fail(
            f"fuse takes all loops of a nest, outermost first; the nest is {names}", path, code=codes.WRONG_ARGUMENT
        )
    _check_box(loops, path)
    for s in loops:
        _check_unmarked(s, path, "fuse")
    dtype = max((s.var.dtype for s in loops), key=lambda t: t.bits)
    if any(s.var.dtype is not dtype for s in loops):
        with session.atomic():
            return fuse(session, [_widened(session, s.var, dtype) for s in loops])
    fused = Var.fresh("_".join(s.var.name for s in loops) + "_fused", dtype)
    values, flat, total = digits(fused, loops)
    mapping = {s.var: v for s, v in zip(loops, values, strict=True)}
    new = NewLoop(fused, const(0, dtype), total)
    if len(loops) > (AT_ONCE if all(isinstance(s.extent, IntImm) for s in loops) else 2):
        fuse_in_turn(session, loops, new, values)
    else:
        session.apply(moves.reindex(path, len(chain), (new,), guards_of(chain, mapping), tuple(values), (flat,)))
    session.gone.update({s.var: f"it was fused into {fused.name}" for s in loops})
    join_guards(session, path)
    return fused


def _widened(session: Session, var: Var, dtype: DType) -> Var:
    """A loop with a variable of a wider type, as TVM gives those that it fuses."""
    path, loop = session.loop(var)
    if var.dtype is dtype:
        return var
    wide = Var.fresh(var.name, dtype)
    low, extent = (const(e.value, dtype) if isinstance(e, IntImm) else Cast(dtype, e) for e in (loop.min, loop.extent))
    new = NewLoop(wide, low, extent, loop.kind, loop.thread, loop.annotations)
    session.apply(moves.reindex(path, 1, (new,), (), (Cast(var.dtype, wide),), (Cast(dtype, var),)))
    session.renamed[var] = wide
    return wide


def _renamed(session: Session, var: Var) -> Var:
    """A loop that is fused alone: serial, with the name that fused loops have."""
    path, loop = session.loop(var)
    _check_unmarked(loop, path, "fuse")
    fused = Var.fresh(f"{var.name}_fused", var.dtype)
    session.apply(moves.reindex(path, 1, (NewLoop(fused, loop.min, loop.extent),), (), (fused,), (var,)))
    session.renamed[var] = fused
    return fused


def _only(session: Session, primitive: str, handles: Sequence[Handle]) -> Var:
    """The only loop that a primitive of several is given."""
    if not handles:
        raise fail(f"{primitive} takes a loop at least", code=codes.WRONG_ARGUMENT)
    return session.loop(handles[0])[1].var


def _check_box(loops: list[For], path: Path) -> None:
    """The ranges of the loops do not depend on each other."""
    for s in loops:
        for outer in loops:
            if outer.var in {*free_vars(s.min), *free_vars(s.extent)}:
                raise fail(
                    f"the range of the loop over {s.var.name} depends on {outer.var.name}: not a box",
                    path,
                    code=codes.NOT_A_BOX,
                )


def tile(session: Session, handles: Sequence[Handle], factors: Sequence[int]) -> list[Var]:
    """Split each loop by its factor, then order all outer loops before all inner ones.  Gives outer then inner
    loops."""
    if len(handles) != len(factors) or not handles:
        raise fail(
            f"tile takes one factor for each loop; there are {len(handles)} loops and {len(factors)} factors",
            code=codes.WRONG_ARGUMENT,
        )
    nest_between(session, handles)  # complains before anything is split
    pairs = [split(session, h, (None, x)) for h, x in zip(handles, factors, strict=True)]
    outer, inner = [p[0] for p in pairs], [p[1] for p in pairs]
    if len(pairs) > 1:
        reorder(session, [*outer, *inner])
    return [session.current(v) for v in (*outer, *inner)]


# -- ranges ------------------------------------------------------------------------------------------------------------


def partition(session: Session, loop: Handle, mid: Expr | int) -> tuple[Var, Var]:
    """Cut a loop's range in two at ``mid``; gives the two loops.  Handles stay with the first."""
    path, target = session.loop(loop)
    if isinstance(mid, bool) or not isinstance(mid, (int, np.integer, Expr)):
        raise fail(
            f"a range is cut at an integer or an index expression, not at {mid!r}", path, code=codes.WRONG_ARGUMENT
        )
    try:
        point = mid if isinstance(mid, Expr) else const(int(mid), target.var.dtype)
    except IRError as problem:
        raise fail(
            f"the range of {target.var.name} cannot be cut at {mid}: {problem}", path, code=codes.FACTORS_DO_NOT_FIT
        ) from problem
    match target.min, point, target.extent:
        case IntImm(value=low), IntImm(value=x), IntImm(value=n) if not low <= x <= low + max(n, 0):
            raise fail(
                f"{x} lies outside the range of {target.var.name}, which is from {low} to {low + n}",
                path,
                code=codes.FACTORS_DO_NOT_FIT,
            )
    first, second = cut(session, path, point)
    return session.at(first, For).var, session.at(second, For).var


def cut(session: Session, path: Path, mid: Expr) -> tuple[Path, Path]:
    """Cut the range of the loop at ``path``; gives the places of the two loops, bounds folded."""
    session.apply(moves.split_index_set(path, mid))
    found = pair_at(session, path)
    for p in found:
        fold_bounds(session, p)
    return found


def pair_at(session: Session, path: Path) -> tuple[Path, Path]:
    """The places of the two statements that a rule put where one stood."""
    if isinstance(session.stmt(path), Seq):  # the one stood alone
        return (*path, 0), (*path, 1)
    return path, (*path[:-1], path[-1] + 1)


def peel(session: Session, loop: Handle, end: bool = False) -> Var:
    """Run the first (or last) iteration outside the loop; gives the loop that is left, and handles stay with it."""
    path, target = session.loop(loop)
    if isinstance(target.extent, IntImm) and target.extent.value < 1:
        raise fail(f"the loop over {target.var.name} makes no iteration", path, code=codes.NOTHING_TO_CHANGE)
    first, second = cut(session, path, target.min + target.extent - 1 if end else target.min + 1)
    if not end:
        session.follow(session.stmt(first), session.stmt(second))
    alone, rest = (second, first) if end else (first, second)
    left = session.at(rest, For).var
    run_once(session, alone)
    return left


def mark(session: Session, loop: Handle, kind: ForKind, thread: str = "") -> None:
    """Change a loop's kind."""
    path, _ = session.loop(loop)
    if kind == "thread_binding" and thread not in THREADS:
        raise fail(
            f"there is no thread axis {thread!r}; there are {', '.join(sorted(THREADS))}",
            path,
            code=codes.NOTHING_OF_THAT_NAME,
        )
    session.apply(of_kind(path, kind, thread))
