"""Accesses go through another view of their block: reshapes, flattening, pointer casts, bools as bytes.

    … B[x] …, B[x] = v      ⟶    … V[y] …, V[y] = v
    … B[x] …, B[x] = v      ⟶    … bool(V[y]) …, V[y] = int8(v)             (bools as bytes)

Theorem.  A view is a way to name the bytes of a block (``scope`` declares one).  If y, in V, names the same bytes as x
in B, lane by lane, and the element lies in V and in the block, then the access is the same access.  The scalar types
must be equal; the lanes of an element may differ (four elements of a ``float32`` view are one element of a
``float32x4`` view).  Or B holds bools and V int8.  A bool is kept as one byte, 1 if it is true and 0 if not: so a store
of v leaves the byte ``int8(v)``, undefined if v is.  What B reads is ``bool(V[y])``, or undef if the byte is neither 0
nor 1, and undef may become anything.  Not the other way round: ``int8(bool(b))`` is not always b.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import INT8, DType
from verified_tir.ir.expr import Cast, Expr, Load, const
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError, Node
from verified_tir.ir.paths import Path, at, put
from verified_tir.ir.stmt import Stmt, Store, While
from verified_tir.ir.visit import map_children
from verified_tir.kernel.begin import context_at
from verified_tir.kernel.context import Context
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import Misfit, Question
from verified_tir.kernel.rules.common import safe_questions
from verified_tir.kernel.rules.rewrite import ExprPath, expressions
from verified_tir.kernel.rules.rewrite import Rewrite as RewriteExpression
from verified_tir.kernel.step import Rewrite
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import Safety, fresh

Indices = tuple[Expr, ...]


@final
@dataclass(frozen=True, slots=True)
class View:
    """Within the statement at ``path``, accesses of ``old`` become accesses of ``new``.

    :param moves: for the indices of an access of ``old``, those of the access of ``new``.  An access by indices that
        are not listed stays as it is.
    """

    path: Path
    old: Buffer
    new: Buffer
    moves: tuple[tuple[Indices, Indices], ...]

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite:
        target = at(before.body, self.path)
        if self.old.data is not self.new.data:
            raise Misfit(f"{self.new.name} is no view of the block of {self.old.name}")
        as_bytes = self.old.dtype.is_bool and self.new.dtype.scalar is INT8
        if self.old.dtype.scalar is not self.new.dtype.scalar and not as_bytes:
            raise Misfit(f"{self.old.name} holds {self.old.dtype}, {self.new.name} {self.new.dtype}")
        mover = _Mover(self.old, self.new, dict(self.moves))
        moved = mover.go(target)
        assert isinstance(moved, Stmt)
        after = before.with_body(put(before.body, self.path, moved))
        context = context_at(before, self.path, entry)
        return Rewrite(after, _same_accesses(context, target, mover, self.path))


class _Mover:
    """Redirects accesses; what it has seen it remembers.  Where bools become bytes, values are cast."""

    def __init__(self, old: Buffer, new: Buffer, moves: dict[Indices, Indices]) -> None:
        self.old, self.new, self.moves = old, new, moves
        self.memo: dict[Node, Node] = {}

    def moved(self, node: Node) -> bool:
        return isinstance(node, (Load, Store)) and node.buffer is self.old and node.indices in self.moves

    def go(self, node: Node) -> Node:
        found = self.memo.get(node)
        if found is None:
            found = self.memo[node] = self._go(node)
        return found

    def _go(self, node: Node) -> Node:
        match node:
            case Load() if self.moved(node):
                load = self.place(node)
                if load.dtype.lanes != node.dtype.lanes:
                    raise IRError(f"the access of {self.new.name} has type {load.dtype}, not {node.dtype}")
                return _as(load, node.dtype)
            case Store(value=value) if self.moved(node):
                to, moved = self.place(node), self.go(value)
                return Store(self.new, _as(moved, self.new.dtype), to.indices, to.predicate)  # type: ignore[arg-type]
            case Buffer():
                return node
        return map_children(node, self.go)

    def place(self, access: Load | Store) -> Load:
        """The element of the new view that a redirected access goes to, as if it were read."""
        indices = tuple([self.go(e) for e in self.moves[access.indices]])
        mask = None if access.predicate is None else self.go(access.predicate)
        return Load(self.new, indices, mask)  # type: ignore[arg-type]


def _as(value: Expr, dtype: DType) -> Expr:
    """A value at another scalar type, as many lanes as it has."""
    wanted = dtype.scalar.with_lanes(value.dtype.lanes)
    return value if value.dtype is wanted else Cast(wanted, value)


def _same_accesses(context: Context, stmt: Stmt, mover: _Mover, path: Path) -> Iterator[Question]:
    """Every access that moved names the same bytes, and is safe."""
    if mover.go(stmt) is stmt:
        return
    for where in _moved_loads(stmt, mover):
        here = context.fork()
        if isinstance(stmt, While):
            here.repeat(stmt, stmt.body)
        found = RewriteExpression(path, where, const(0)).descend(here, stmt)
        load, premises = found
        assert isinstance(load, Load)
        yield from _same_place(here, load, mover, premises, path)
    if isinstance(stmt, Store) and mover.moved(stmt):
        yield from _same_place(context, stmt, mover, (), path)
    for k, sub, inner in context.inside(stmt):
        yield from _same_accesses(inner, sub, mover, (*path, k))


def _moved_loads(node: Node, mover: _Mover, where: ExprPath = ()) -> Iterator[ExprPath]:
    """The loads that move among the expressions of a statement, those in indices and masks of others included."""
    for k, e in enumerate(expressions(node)):
        if mover.moved(e):
            yield (*where, k)
        if mover.go(e) is not e:
            yield from _moved_loads(e, mover, (*where, k))


def _same_place(
    context: Context, access: Load | Store, mover: _Mover, premises: tuple[Term, ...], path: Path
) -> Iterator[Question]:
    """Each lane of the access that moved names the same bytes, and is safe."""
    lanes = access.value.dtype.lanes if isinstance(access, Store) else access.dtype.lanes
    lane = fresh("lane", f.INT) if lanes > 1 else None
    given = premises if lane is None else (*premises, f.between(f.integer(0), lane, f.integer(lanes)))
    moved = mover.place(access)
    found = []
    for a in (access, moved):
        safety: list[Safety] = []
        encoder = context.encoder(safety)
        target = Load(a.buffer, a.indices, a.predicate)
        mask: tuple[Term, ...] = ()
        if a.predicate is not None:
            mask = (encoder.mask(target, a.buffer, a.predicate, lane),)
            encoder.premises = mask
        indices, element = encoder.address(target, a.buffer, a.indices, lane, ())
        found.append((safety, context.address(a.buffer, indices, element), mask))
    (known, was, runs), (safety, now, _) = found
    given = (*given, *(f.implies(f.and_(*s.premises), s.condition) for s in known))
    yield from safe_questions(context, safety, given, path)
    new, old = moved.buffer.name, access.buffer.name
    claim = f"the load of {new} reads where the one of {old} did"
    if isinstance(access, Store):
        claim = f"the store to {new} goes where the one to {old} went"
    same = f.and_(*[f.eq(x, y) for x, y in zip(was, now, strict=True)])
    yield Question("view", claim, context, (*given, *runs), same, path)
