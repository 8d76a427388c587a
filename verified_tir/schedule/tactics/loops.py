"""Loop primitives: split, fuse, reorder, tile, partition, peel, kinds, fission, merge.

All of them are one or two applications of the kernel's order rules; the work here is to find the new bounds, the maps
both ways and the guard.
"""

from __future__ import annotations

from collections.abc import Sequence

from verified_tir.ir.expr import Binary, Expr, IntImm, Var, const
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Block, For, ForKind, If, Seq, Stmt
from verified_tir.kernel.rules.kind import Kind
from verified_tir.kernel.rules.order import Distribute, Fuse, Join, Partition
from verified_tir.kernel.rules.reindex import NewLoop, Reindex
from verified_tir.kernel.rules.unit import Unit
from verified_tir.schedule.session import Session, fail

Handle = Var | str


def ceildiv(a: Expr, b: int) -> Expr:
    """``a / b`` rounded up."""
    return (a + (b - 1)) // b


def split(session: Session, loop: Handle, factors: Sequence[int | None]) -> list[Var]:
    """Split a loop into nested ones of the given extents; one of them may be ``None`` and is inferred.

    Where the factors do not divide the extent, a guard keeps the extra iterations from doing anything.
    """
    path, target = session.loop(loop)
    sizes = _sizes(target, factors, path)
    name = target.var.name
    news = [Var.fresh(f"{name}_{k}", target.var.dtype) for k in range(len(sizes))]
    dtype = target.var.dtype
    flat: Expr = news[0]
    for v, size in zip(news[1:], sizes[1:], strict=True):
        flat = flat * size + v
    old = target.min + flat if not _is_zero(target.min) else flat
    offset = target.var - target.min if not _is_zero(target.min) else target.var
    inverse: list[Expr] = []
    below = 1
    for k in range(len(sizes) - 1, -1, -1):
        digit = offset // below if below > 1 else offset
        if k > 0:
            digit = digit % sizes[k]
            below *= _constant(sizes[k], path)
        inverse.insert(0, digit)
    loops = tuple(
        NewLoop(v, const(0, dtype), size if isinstance(size, Expr) else const(size, dtype))
        for v, size in zip(news, sizes, strict=True)
    )
    exact = _divides(target.extent, sizes)
    guards = () if exact else (Binary("lt", flat, target.extent),)
    session.apply(Reindex(path, 1, loops, guards, (old,), tuple(inverse)))
    return news


def _is_zero(e: Expr) -> bool:
    return isinstance(e, IntImm) and e.value == 0


def _constant(size: Expr | int, path: Path) -> int:
    if isinstance(size, int):
        return size
    if isinstance(size, IntImm):
        return size.value
    raise fail("only the outermost factor of a split may be symbolic", path)


def _sizes(target: For, factors: Sequence[int | None], path: Path) -> list[Expr | int]:
    missing = [k for k, x in enumerate(factors) if x is None]
    if len(missing) > 1 or not factors:
        raise fail("a split takes at least one factor, at most one of them None", path)
    known = 1
    for x in factors:
        if x is not None:
            if x < 1:
                raise fail(f"a factor must be positive, not {x}", path)
            known *= x
    extent = target.extent
    if not missing:
        if isinstance(extent, IntImm) and known < extent.value:
            raise fail(f"the factors give {known} iterations, fewer than the {extent.value} of the loop", path)
        return list(factors)  # type: ignore[arg-type]
    inferred: Expr | int
    if isinstance(extent, IntImm):
        inferred = max(0, -(-extent.value // known))
    else:
        inferred = ceildiv(extent, known)
    if missing[0] != 0 and not isinstance(inferred, int):
        raise fail("only the outermost factor of a split of a symbolic extent can be inferred", path)
    return [inferred if x is None else x for x in factors]


def _divides(extent: Expr, sizes: Sequence[Expr | int]) -> bool:
    if not isinstance(extent, IntImm):
        return False
    total = 1
    for s in sizes:
        total *= s if isinstance(s, int) else (s.value if isinstance(s, IntImm) else 0)
    return total == extent.value


def nest_between(session: Session, handles: Sequence[Handle]) -> tuple[Path, list[Stmt], list[For]]:
    """The perfect nest (loops, guards, labels) from the outermost to the innermost of the given loops."""
    found = sorted((session.loop(h) for h in handles), key=lambda pair: len(pair[0]))
    start, innermost = found[0][0], found[-1][0]
    if any(innermost[: len(p)] != p for p, _ in found):
        raise fail("the loops are not nested in one another", start)
    chain: list[Stmt] = []
    path: Path = start
    while True:
        stmt = session.stmt(path)
        chain.append(stmt)
        if path == innermost:
            break
        if not isinstance(stmt, (For, Block)) and not (isinstance(stmt, If) and stmt.else_body is None):
            raise fail("between the loops stands something other than loops and guards (fission it out first)", path)
        path = (*path, innermost[len(path)])
    return start, chain, [s for s in chain if isinstance(s, For)]


def rebuild(session: Session, path: Path, chain: list[Stmt], order: Sequence[For], extra_depth: int = 0) -> list[Var]:
    """Run the nest's loops in another order, guards innermost."""
    from verified_tir.ir.visit import substitute

    loops = [s for s in chain if isinstance(s, For)]
    fresh = {s.var: Var.fresh(s.var.name, s.var.dtype) for s in loops}
    news = tuple(
        NewLoop(fresh[s.var], substitute(s.min, fresh), substitute(s.extent, fresh), s.kind, s.thread, s.annotations)
        for s in order
    )
    guards = tuple(substitute(s.condition, fresh) for s in chain if isinstance(s, If))
    session.apply(
        Reindex(
            path,
            len(chain) + extra_depth,
            news,
            guards,
            tuple(fresh[s.var] for s in loops),
            tuple(s.var for s in order),
        )
    )
    session.renamed.update(fresh)
    return [fresh[s.var] for s in order]


def reorder(session: Session, handles: Sequence[Handle]) -> None:
    """Put nested loops into the given order; loops between them that are not named stay where they are."""
    if len(handles) < 2:
        raise fail("reorder takes at least two loops")
    path, chain, loops = nest_between(session, handles)
    named = [session.loop(h)[1] for h in handles]
    if len(set(named)) != len(named):
        raise fail("a loop is named twice", path)
    wanted = iter(named)
    order = [next(wanted) if s in named else s for s in loops]
    rebuild(session, path, chain, order)


def fuse(session: Session, handles: Sequence[Handle]) -> Var:
    """One loop for several perfectly nested ones, outermost first."""
    path, chain, loops = nest_between(session, handles)
    named = [session.loop(h)[1] for h in handles]
    if named != loops:
        raise fail("fuse takes loops that are directly nested, outermost first", path)
    dtype = loops[0].var.dtype
    name = "_".join(s.var.name for s in loops) + "_fused"
    fused = Var.fresh(name, dtype)
    total: Expr = loops[0].extent
    for s in loops[1:]:
        total = total * s.extent
    guards = tuple(s.condition for s in chain if isinstance(s, If))
    values: list[Expr] = []
    below: Expr = const(1, dtype)
    for k in range(len(loops) - 1, -1, -1):
        s = loops[k]
        digit = fused // below if not (isinstance(below, IntImm) and below.value == 1) else fused
        if k > 0:
            digit = digit % s.extent
        values.insert(0, digit if _is_zero(s.min) else s.min + digit)
        below = s.extent * below
    flat: Expr = loops[0].var - loops[0].min
    for s in loops[1:]:
        flat = flat * s.extent + (s.var - s.min)
    from verified_tir.ir.visit import substitute

    mapping = {s.var: v for s, v in zip(loops, values, strict=True)}
    session.apply(
        Reindex(
            path, len(chain), (NewLoop(fused, const(0, dtype), total, loops[0].kind, loops[0].thread),),
            tuple(substitute(g, mapping) for g in guards), tuple(values), (flat,),
        )
    )  # fmt: skip
    return fused


def tile(session: Session, handles: Sequence[Handle], factors: Sequence[int]) -> list[Var]:
    """Split each loop by its factor, then order all outer loops before all inner ones.  Gives outer then inner
    loops."""
    if len(handles) != len(factors):
        raise fail("tile takes one factor for each loop")
    pairs = [split(session, h, (None, x)) for h, x in zip(handles, factors, strict=True)]
    outer, inner = [p[0] for p in pairs], [p[1] for p in pairs]
    if len(pairs) > 1:
        reorder(session, [*outer, *inner])
    return [session.current(v) for v in (*outer, *inner)]


def partition(session: Session, loop: Handle, mid: Expr | int) -> tuple[Var, Var]:
    """Cut a loop's range in two at ``mid``; gives the two loops."""
    path, target = session.loop(loop)
    session.apply(Partition(path, mid if isinstance(mid, Expr) else const(mid, target.var.dtype)))
    return _loops_at(session, path, 2)


def _loops_at(session: Session, path: Path, count: int) -> tuple[Var, Var]:
    """Loop variables of consecutive statements that a rule put where one stood."""
    first = session.stmt(path)
    if isinstance(first, Seq):  # the sequence stands alone
        places: list[Path] = [(*path, k) for k in range(count)]
    else:
        places = [(*path[:-1], path[-1] + k) for k in range(count)]
    found = [session.stmt(p) for p in places]
    assert all(isinstance(s, For) for s in found)
    return found[0].var, found[1].var  # type: ignore[attr-defined]


def peel(session: Session, loop: Handle, end: bool = False) -> Var:
    """Run the first (or last) iteration outside the loop; gives the loop that is left."""
    _, target = session.loop(loop)
    mid = target.min + target.extent - 1 if end else target.min + 1
    first, second = partition(session, loop, mid)
    alone, rest = (second, first) if end else (first, second)
    session.apply(Unit(session.loop(alone)[0]))
    return rest


def mark(session: Session, loop: Handle, kind: ForKind, thread: str = "") -> None:
    """Change a loop's kind."""
    path, _ = session.loop(loop)
    session.apply(Kind(path, kind, thread))


def fission(session: Session, loop: Handle, position: int = 1) -> tuple[Var, Var]:
    """Split a loop over a sequence into two loops, before the given statement of its body."""
    path, _ = session.loop(loop)
    session.apply(Distribute(path, position))
    return _loops_at(session, path, 2)


def merge(session: Session, first: Handle, second: Handle) -> Var:
    """Merge two adjacent loops: of the same range into one body, or of adjoining ranges and one body into one loop."""
    path, a = session.loop(first)
    other, _ = session.loop(second)
    if not path or path[:-1] != other[:-1] or other[-1] != path[-1] + 1:
        raise fail("the second loop does not follow the first directly", path)
    where, position = path[:-1], path[-1]
    if not session.attempt(Join(where, position)):
        session.apply(Fuse(where, position))
    return a.var
