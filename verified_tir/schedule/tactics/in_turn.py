"""Splitting into many loops, and fusing many, two at a time.

That each digit of ``((i * n + j) * k + l) * …`` is unique takes Z3 milliseconds for two digits, of known or unknown
sizes; it takes seconds for seven known ones, and for three unknown ones it comes to no end.  So a loop that is split
into many is split into two, and its outer part again; of many loops to fuse the first two are fused, and then that loop
with the third.  Each is a step of the kernel, and so the theorem is that of the whole.

The digits are left as they come, ``x // k // n`` for ``x // (n * k)``; they are written as TVM writes them afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from verified_tir.ir.expr import Expr, IntImm, Var
from verified_tir.ir.paths import Path, places
from verified_tir.ir.stmt import Allocate, Block, For, If, Seq, Stmt
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import substitute
from verified_tir.schedule import codes, moves
from verified_tir.schedule.edits import largest_parts, narrowed, rewritten
from verified_tir.schedule.moves import NewLoop
from verified_tir.schedule.session import Handle, Session, fail
from verified_tir.schedule.tactics.tidy import guards_of

AT_ONCE = 3
"""So many loops of known extents are split or fused in one step of the kernel."""


def is_zero(e: Expr) -> bool:
    """Whether an expression is the constant 0."""
    return isinstance(e, IntImm) and e.value == 0


def nest_between(session: Session, handles: Sequence[Handle]) -> tuple[Path, list[Stmt], list[For]]:
    """The perfect nest (loops, guards, labels) from the outermost to the innermost of the given loops."""
    places = [session.loop(h) for h in handles]
    if len({s for _, s in places}) != len(places):
        raise fail("a loop is named twice", places[0][0], code=codes.WRONG_ARGUMENT)
    found = sorted(places, key=lambda pair: len(pair[0]))
    start, innermost = found[0][0], found[-1][0]
    for p, s in found:
        if innermost[: len(p)] != p:
            raise fail(
                f"the loops over {s.var.name} and {found[-1][1].var.name} are not nested in one another",
                start,
                code=codes.STANDS_ELSEWHERE,
            )
    chain: list[Stmt] = []
    path: Path = start
    while True:
        stmt = session.stmt(path)
        chain.append(stmt)
        if path == innermost:
            break
        if not isinstance(stmt, (For, Block)) and not (isinstance(stmt, If) and stmt.else_body is None):
            raise fail(
                "between the loops stands something other than loops and guards (fission it out first)",
                path,
                code=codes.NOT_PERFECTLY_NESTED,
            )
        path = (*path, innermost[len(path)])
    return start, chain, [s for s in chain if isinstance(s, For)]


def digits(fused: Var, loops: list[For]) -> tuple[list[Expr], Expr, Expr]:
    """The old variables as digits of the new one, the new one as their number, and the product of the extents."""
    values: list[Expr] = []
    below: Expr = const(1, fused.dtype)
    for k in range(len(loops) - 1, -1, -1):
        s = loops[k]
        digit = fused // below
        if k > 0:
            digit = digit % s.extent
        values.insert(0, digit if is_zero(s.min) else digit + s.min)
        below = s.extent * below
    flat: Expr = loops[0].var - loops[0].min
    total = loops[0].extent
    for s in loops[1:]:
        flat = flat * s.extent + (s.var - s.min)
        total = total * s.extent
    return values, flat, total


def fuse_in_turn(session: Session, loops: Sequence[For], new: NewLoop, values: Sequence[Expr]) -> None:
    """Replace perfectly nested loops by ``new``, where each of their variables has one of the ``values``."""
    found: dict[Var, Expr] = {}
    with session.atomic():
        first = loops[0]
        for second in loops[1:]:
            path, chain, _ = nest_between(session, (first.var, second.var))
            last = second is loops[-1]
            var = new.var if last else Var.fresh(f"{first.var.name}_{second.var.name}", first.var.dtype)
            pair, flat, total = digits(var, [first, second])
            mapping = dict(zip((first.var, second.var), pair, strict=True))
            one = new if last else NewLoop(var, const(0, var.dtype), total)
            session.apply(moves.reindex(path, len(chain), (one,), guards_of(chain, mapping), tuple(pair), (flat,)))
            found = {v: substitute(e, mapping) for v, e in found.items()} | mapping
            first = session.at(path, For)
        wanted = {found[s.var]: v for s, v in zip(loops, values, strict=True) if found[s.var] is not v}
        write_as(session, path, wanted)


def split_in_turn(
    session: Session, path: Path, target: For, loops: Sequence[NewLoop], guards: tuple[Expr, ...]
) -> None:
    """Replace a loop by nested ones whose iterations, counted through, are its own; some more if there is a guard.

    The innermost comes first: then what stands in the place of the variable is ``(x * 4 + y) * 8 + z``, which is a sum
    of terms once it is folded.
    """
    with session.atomic():
        for k in range(len(loops) - 1, 0, -1):
            dtype, inner = target.var.dtype, loops[k]
            outer = loops[0]
            if k > 1:
                extent = loops[0].extent
                for s in loops[1:k]:
                    extent = extent * s.extent
                outer = NewLoop(Var.fresh(target.var.name, dtype), const(0, dtype), extent)
            flat = outer.var * inner.extent + inner.var
            offset = target.var if is_zero(target.min) else target.var - target.min
            inverse = (offset // inner.extent, offset % inner.extent)
            within = (flat < target.extent,) if guards and k == len(loops) - 1 else ()
            session.apply(moves.reindex(path, 1, (outer, inner), within, (flat + target.min,), inverse))
            target = session.at(path, For)


def write_as(session: Session, path: Path, wanted: Mapping[Expr, Expr]) -> None:
    """Write expressions at or below a place as others that are equal, where that is proved."""
    rules = [
        rewritten((*path, *place), *narrowed(stmt, where, new))
        for place, stmt in places(session.stmt(path), lambda s: not isinstance(s, (Allocate, Block, Seq)))
        for where, new in largest_parts(stmt, lambda e: wanted.get(e, e))
    ]
    if rules and not session.attempt(*rules):
        for rule in rules:
            session.attempt(rule)
