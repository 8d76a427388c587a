"""What was stored to an element of a buffer, as an expression at the place where it is read.

Input: a place, a buffer and the indices x of a read.  Output: a list of :class:`Piece`, the latest store first: under
its conditions the element holds its value.  For a store ``B[a(j)] = v(j)`` under loops, conditions and lets that do not
stand around the read, j is the inverse of a at x, and the conditions are those of the nest and ``a(j) = x``.  What is
certain at the place is left out of the conditions; a piece that is impossible there is left out altogether.

Nothing here is trusted: the kernel proves that the read gives this value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

from verified_tir.index.bounds import Bounds
from verified_tir.index.conditions import conjuncts
from verified_tir.index.fold import size
from verified_tir.index.map import preimage
from verified_tir.index.simplify import Simplifier
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Broadcast, Call, Cast, Expr, IntImm, LetExpr, Load, Not, Ramp, Shuffle, Undef, Var
from verified_tir.ir.index_arith import is_index
from verified_tir.ir.node import IRError, Node
from verified_tir.ir.paths import Path
from verified_tir.ir.poly import as_poly, counted_in, render
from verified_tir.ir.stmt import For, If, LetStmt, Store, While
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import free_vars, map_children, substitute
from verified_tir.kernel.context import Context
from verified_tir.kernel.rules.rewrite import ExprPath, expressions, leading_to
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.logic.verdict import Proved
from verified_tir.schedule import codes
from verified_tir.schedule.session import Session, fail
from verified_tir.semantics.encode import Encoded, Unencodable, fresh


@final
@dataclass(frozen=True, slots=True)
class Piece:
    """Under all ``conditions``, evaluated lazily from left to right, the element holds ``value``."""

    conditions: tuple[Expr, ...]
    value: Expr


@final
@dataclass(slots=True)
class Place:
    """An expression's place in a statement, and what is certain there; ``lane`` is a variable in ``[0, lanes)``."""

    session: Session
    path: Path
    where: ExprPath
    lane: Var | None = None
    lanes: int = 1
    _here: tuple[Context, tuple[Term, ...]] | None = field(default=None, init=False)

    def simplifier(self) -> Simplifier:
        """Simplifies index arithmetic under the ranges of the loops around the place."""
        ranges = dict(self.session.ranges(self.path))
        if self.lane is not None:
            ranges[self.lane] = (const(0, self.lane.dtype), const(self.lanes, self.lane.dtype))
        return Simplifier(Bounds(ranges))

    def certain(self, condition: Expr) -> bool:
        """Whether a condition is defined and true whenever the place is evaluated (nothing rests on the answer)."""
        if isinstance(condition, IntImm):
            return bool(condition.value)
        context, premises = self._context()
        try:
            encoded = context.encoder().encode(condition)
        except Unencodable:
            return False
        goal = f.and_(encoded.defined, encoded.value)
        return isinstance(self.session.prover.prove(context, premises, goal)[0], Proved)

    def impossible(self, condition: Expr) -> bool:
        """Whether a condition is false whenever the place is evaluated."""
        return self.certain(condition.a if isinstance(condition, Not) else Not(condition))

    def _context(self) -> tuple[Context, tuple[Term, ...]]:
        if self._here is None:
            stmt = self.session.stmt(self.path)
            context = self.session.context(self.path)
            if isinstance(stmt, While):
                context.ran(stmt)
            premises: tuple[Term, ...] = ()
            node: Node = stmt
            for step in self.where:
                premises = (*premises, *leading_to(context, node, step))
                node = expressions(node)[step]
            if self.lane is not None:
                k = fresh("lane", f.INT)
                context.env[self.lane] = Encoded(k, f.TRUE, False)
                premises = (*premises, f.between(f.integer(0), k, f.integer(self.lanes)))
            self._here = context, premises
        return self._here


def stored_values(place: Place, buffer: Buffer, indices: tuple[Expr, ...]) -> list[Piece]:
    """What the element may hold, the latest store first; empty if nothing was stored to it before.

    :raises TacticFailed: if a store's index map has no inverse.
    """
    found: list[Piece] = []
    simplifier = place.simplifier()
    for path, store in reversed(place.session.stores_to(buffer)):
        depth = _parting(place, path)
        if depth is None:
            continue
        nest = _Nest.around(place.session, path, depth + 1)
        piece = _settled(place, _piece(nest, store, indices, path), simplifier)
        if piece is not None:
            found.append(piece)
            if not piece.conditions:
                break
    return found


def _parting(place: Place, store: Path) -> int | None:
    """How many steps lead to the sequence in which the store runs before the place; ``None`` if there is none."""
    shared = place.session.parting(store, place.path)
    return None if shared is None or store[shared] > place.path[shared] else shared


def _settled(place: Place, piece: Piece, simplifier: Simplifier) -> Piece | None:
    """The piece in its simplest form; ``None`` if it is impossible at the place."""
    conditions: list[Expr] = []
    for condition in piece.conditions:
        for part in conjuncts(tidied(condition, simplifier)):
            if place.certain(part):
                continue
            if place.impossible(part):
                return None
            conditions.append(part)
    return Piece(tuple(dict.fromkeys(conditions)), tidied(piece.value, simplifier))


def tidied(e: Expr, simplifier: Simplifier) -> Expr:
    """An expression with its index arithmetic simplified where that makes it shorter."""
    if (e.dtype.is_int or e.dtype.is_bool) and e.dtype.lanes == 1 and not isinstance(e, (Var, IntImm, Load)):
        new = simplifier.expr(e)
        if new.dtype is e.dtype and size(new) < size(e):
            return new
    return map_children(e, lambda c: tidied(c, simplifier) if isinstance(c, Expr) and not isinstance(c, Var) else c)


# ---------------------------------------------------------------------------------------------------------- one store


@final
@dataclass(slots=True)
class _Nest:
    """What stands around a store below the sequence that it shares with the read."""

    loops: list[For] = field(default_factory=list)
    conditions: list[Expr] = field(default_factory=list)
    """Conditions of branches, and the ranges of loops, outermost first; over the loops' variables."""
    lets: dict[Var, Expr] = field(default_factory=dict)

    @staticmethod
    def around(session: Session, path: Path, start: int) -> _Nest:
        nest = _Nest()
        for k in range(start, len(path)):
            match session.stmt(path[:k]):
                case For(var=v, min=low, extent=extent) as loop:
                    nest.loops.append(loop)
                    nest.conditions += [nest.plain(c) for c in (v >= low, v < low + extent)]
                case If(condition=c):
                    c = nest.plain(c)
                    nest.conditions += [Not(c)] if path[k] else conjuncts(c)
                case LetStmt(var=v, value=value):
                    nest.lets[v] = nest.plain(value)
                case While():
                    raise fail(
                        "what a while loop stores is not known by its iterations", path[:k], code=codes.OPAQUE_CALL
                    )
                case _:
                    pass
        return nest

    def plain(self, e: Expr) -> Expr:
        """An expression with the values of the nest's lets in their places."""
        return substitute(e, self.lets)


def _piece(nest: _Nest, store: Store, indices: tuple[Expr, ...], path: Path) -> Piece:
    """What one store left at the element."""
    stored = [nest.plain(i) for i in store.indices]
    value = nest.plain(store.value)
    loops = [(loop.var, nest.plain(loop.min), nest.plain(loop.extent)) for loop in nest.loops]
    conditions = list(nest.conditions)
    if value.dtype.lanes > 1:
        if store.buffer.dtype.lanes > 1 or store.predicate is not None:
            raise fail(
                f"{store.buffer.name} is stored to under a mask, or its elements are vectors", path, code=codes.VECTORS
            )
        lane = Var.fresh("lane", stored[-1].dtype.scalar)
        loops.append((lane, const(0, lane.dtype), const(value.dtype.lanes, lane.dtype)))
        conditions += [lane >= 0, lane < value.dtype.lanes]
        stored[-1], value = lane_of(stored[-1], lane), lane_of(value, lane)
    indices = tuple(x if x.dtype is s.dtype else Cast(s.dtype, x) for s, x in zip(stored, indices, strict=True))
    inverse = solved(loops, stored, indices)
    if inverse is None:
        names = ", ".join(v.name for v, _, _ in loops)
        raise fail(
            f"the indices of the store to {store.buffer.name} do not tell {names}, as an inverse must",
            path,
            code=codes.NOT_INVERTIBLE,
        )
    same = [s.equal(x) for s, x in zip(stored, indices, strict=True) if s is not x]
    at = [substitute(c, inverse) for c in (*same, *conditions)]
    ordered = [*at[len(same) :], *at[: len(same)]]
    return Piece(tuple(ordered), substitute(value, inverse))


Loop = tuple[Var, Expr, Expr]
"""A loop: its variable, start and extent."""


def solved(loops: Sequence[Loop], stored: Sequence[Expr], indices: Sequence[Expr]) -> dict[Var, Expr] | None:
    """Values for the loops at which the stored indices are ``indices``; ``None`` if none are found.

    A loop that the indices do not mention takes its first iteration: the kernel then sees to it that all iterations
    store the same.  Indices of another type are cast to that of what is stored.
    """
    indices = [counted_in(x, s.dtype) for s, x in zip(stored, indices, strict=True)]
    found: dict[Var, Expr] = {}
    wanted = {v for v, _, _ in loops}
    pending = list(zip(stored, indices, strict=True))
    progress = True
    while progress:
        progress = False
        for e, x in list(pending):
            open_ones = {v for v in free_vars(e) if v in wanted and v not in found}
            value = _isolated(substitute(e, found), x, open_ones) if len(open_ones) == 1 else None
            if value is not None:
                found[next(iter(open_ones))] = value
                pending.remove((e, x))
                progress = True
    left = [loop for loop in loops if loop[0] not in found]
    used = {v for e, _ in pending for v in free_vars(e)}
    mapped = [loop for loop in left if loop[0] in used]
    if mapped:
        inverse = _inverted(mapped, [(substitute(e, found), x) for e, x in pending])
        if inverse is None:
            return None
        found.update(inverse)
    for v, low, _ in left:
        if v not in found:
            found[v] = substitute(low, found)
    return found


def _isolated(e: Expr, x: Expr, unknown: set[Var]) -> Expr | None:
    """The unknown of ``e = x`` if it occurs there once, as ±v and nowhere below anything else."""
    (v,) = unknown
    if not is_index(e) or not e.dtype.is_int:
        return None
    poly = as_poly(e)
    factor = poly.terms.get((v,), 0)
    rest = type(poly)({m: k for m, k in poly.terms.items() if m != (v,)})
    if abs(factor) != 1 or any(v in free_vars(a) for m in rest.terms for a in m):
        return None
    if rest.is_zero and factor == 1:
        return x
    if not is_index(x):
        others = render(rest, e.dtype)
        return x - others if factor == 1 else others - x
    difference = as_poly(x) - rest
    return render(difference if factor == 1 else difference.scale(-1), e.dtype)


def _inverted(loops: Sequence[Loop], pending: Sequence[tuple[Expr, Expr]]) -> dict[Var, Expr] | None:
    """The inverse of the index map of several loops at once (see ``index/inverse.py``)."""
    wanted = {v for v, _, _ in loops}
    equations = [(e, x) for e, x in pending if wanted & set(free_vars(e))]
    if not all(is_index(e) for e, _ in equations):
        return None
    try:
        return preimage(loops, equations)
    except IRError:
        return None


def lane_of(e: Expr, lane: Expr) -> Expr:
    """One lane of an expression that has several; ``e`` itself if it has one.

    :raises TacticFailed: if the lane of a shuffle is wanted, which would have to be known.
    """
    if e.dtype.lanes == 1:
        return e
    match e:
        case Ramp(base=base, stride=stride):
            return base + stride * lane
        case Broadcast(value=value):
            return value
        case Undef(type=t):
            return Undef(t.scalar)
        case Cast(type=t, value=value):
            return Cast(t.scalar, lane_of(value, lane))
        case Call(type=t, op=op, args=args):
            return Call(t.scalar, op, tuple(lane_of(a, lane) for a in args))
        case Load(buffer=b, predicate=mask) if b.dtype.lanes > 1 or mask is not None:
            raise fail(
                f"a lane of a load from {b.name}, which is masked or has vectors as elements, is not an expression",
                code=codes.VECTORS,
            )
        case Var() | Shuffle() | LetExpr():
            raise fail(f"a lane of a {type(e).__name__} is not an expression", code=codes.VECTORS)
    return map_children(e, lambda c: lane_of(c, lane) if isinstance(c, Expr) else c)


__all__ = ["Piece", "Place", "lane_of", "stored_values", "tidied"]
