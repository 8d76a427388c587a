"""Other views of a block, and accesses that go through them: reshapes, flattening, pointer casts.

    S                       ⟷    V = decl_buffer(s, data=B.data); S         (DeclareView, DropView: S does not use V)
    … B[x] …, B[x] = v      ⟶    … V[y] …, V[y] = v                         (View)
    B = alloc(s); S         ⟶    W = alloc(s′); B = decl_buffer(s, data=W.data); S       (Reblock)
    A = alloc(…) in S; …;   ⟶    W = alloc(s′); A = decl_buffer(…, data=W.data) in S; …;
    B = alloc(…) in S′              B = decl_buffer(…, data=W.data) in S′                (Share)

Theorem.  A view is a way to name the bytes of a block; declaring one changes nothing.  *View*: if y, in V, names the
same bytes as x in B, lane by lane, and the element lies in V and in the block, then the access is the same access.  The
scalar types must be equal; the lanes of an element may differ (four elements of a ``float32`` view are one element of a
``float32x4`` view).  *Reblock*: the block may be larger, and known by another shape; what is beyond B nobody touches.
*Share*: the scopes of A and B do not overlap in time.  What B finds in its place was undefined before, and undefined
may become anything; nobody reads A any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Call, Expr, Load, const
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError, Node
from verified_tir.ir.paths import Path, put
from verified_tir.ir.stmt import Allocate, DeclBuffer, Seq, Stmt, Store, While
from verified_tir.ir.visit import map_children, substitute, walk
from verified_tir.kernel.begin import context_at
from verified_tir.kernel.context import Context
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import NoMatch, Question
from verified_tir.kernel.rules.common import kept, safe_questions, statement_at
from verified_tir.kernel.rules.insert import scope_problem
from verified_tir.kernel.rules.rewrite import ExprPath, expressions
from verified_tir.kernel.rules.rewrite import Rewrite as RewriteExpression
from verified_tir.kernel.rules.scope import extents_safe
from verified_tir.kernel.step import Rewrite
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import Safety, fresh

Indices = tuple[Expr, ...]


@final
@dataclass(frozen=True, slots=True)
class DeclareView:
    """Declare ``view``, which nobody uses yet, around the statement at ``path``.  Owes: its extents are safe."""

    path: Path
    view: Buffer

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        target = statement_at(before, self.path)
        if isinstance(target, NoMatch):
            return target
        if any(n is self.view for n in walk(before)):
            return NoMatch(self.path, f"{self.view.name} is declared already")
        context = context_at(before, self.path, entry)
        problem = scope_problem(context, DeclBuffer(self.view, target))
        if problem is not None:
            return NoMatch(self.path, problem)
        after = before.with_body(put(before.body, self.path, DeclBuffer(self.view, target)))
        return Rewrite(after, extents_safe(context, self.view, self.path), kept=kept(before, self.path))


@final
@dataclass(frozen=True, slots=True)
class DropView:
    """Remove the declaration at ``path`` of a view that nobody uses."""

    path: Path

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        match statement_at(before, self.path):
            case NoMatch() as refusal:
                return refusal
            case DeclBuffer(buffer=b, body=body):
                if any(n is b for n in walk(body)):
                    return NoMatch(self.path, f"{b.name} is used")
                return Rewrite(before.with_body(put(before.body, self.path, body)), (), kept=kept(before, self.path))
        return NoMatch(self.path, "no view is declared here")


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

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        target = statement_at(before, self.path)
        if isinstance(target, NoMatch):
            return target
        if self.old.data is not self.new.data:
            return NoMatch(self.path, f"{self.new.name} is no view of the block of {self.old.name}")
        if self.old.dtype.scalar is not self.new.dtype.scalar:
            return NoMatch(self.path, f"{self.old.name} holds {self.old.dtype}, {self.new.name} {self.new.dtype}")
        mover = _Mover(self.old, self.new, dict(self.moves))
        try:
            moved = mover.go(target)
        except IRError as reason:
            return NoMatch(self.path, str(reason))
        assert isinstance(moved, Stmt)
        after = before.with_body(put(before.body, self.path, moved))
        context = context_at(before, self.path, entry)
        newly = [e for _, new in self.moves for e in new]
        return Rewrite(after, _same_accesses(context, target, mover, self.path), kept=kept(before, self.path, newly))


class _Mover:
    """Redirects accesses; what it has seen it remembers."""

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
            case Load(indices=old, predicate=mask) if self.moved(node):
                load = Load(self.new, self.indices(old), self.mask(mask))
                if load.dtype is not node.dtype:
                    raise IRError(f"the access of {self.new.name} has type {load.dtype}, not {node.dtype}")
                return load
            case Store(value=value, indices=old, predicate=mask) if self.moved(node):
                return Store(self.new, self.go(value), self.indices(old), self.mask(mask))  # type: ignore[arg-type]
            case Buffer():
                return node
        return map_children(node, self.go)

    def indices(self, old: Indices) -> Indices:
        return tuple([self.go(e) for e in self.moves[old]])  # type: ignore[misc]

    def mask(self, predicate: Expr | None) -> Expr | None:
        return None if predicate is None else self.go(predicate)  # type: ignore[return-value]


def _same_accesses(context: Context, stmt: Stmt, mover: _Mover, path: Path) -> Iterator[Question]:
    """Every access that moved names the same bytes, and is safe."""
    if mover.go(stmt) is stmt:
        return
    for where in _moved_loads(stmt, mover):
        here = context.fork()
        if isinstance(stmt, While):
            here.repeat(stmt, stmt.body)
        found = RewriteExpression(path, where, const(0)).descend(here, stmt)
        if isinstance(found, NoMatch):
            raise IRError(found.reason)
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
    moved = mover.go(access)
    assert isinstance(moved, (Load, Store))
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


@final
@dataclass(frozen=True, slots=True)
class Reblock:
    """Allocate the block of the buffer at ``path`` as ``block``, over which that buffer becomes a view.

    ``block`` has the data variable of the buffer, so that all views of the block stay what they are.
    """

    path: Path
    block: Buffer

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        match statement_at(before, self.path):
            case NoMatch() as refusal:
                return refusal
            case Allocate(buffer=old, body=body, annotations=notes):
                problem = _block_problem(self.block, (old,))
                if problem is None and any(n is self.block for n in walk(before)):
                    problem = f"{self.block.name} is not fresh"
                if problem is None and self.block.data is not old.data:
                    problem = f"{self.block.name} must have the data variable of {old.name}"
                if problem is None:
                    problem = _passed_whole(body, old)
                if problem is not None:
                    return NoMatch(self.path, problem)
                new = Allocate(self.block, DeclBuffer(old, body), notes)
                context = context_at(before, self.path, entry)
                after = before.with_body(put(before.body, self.path, new))
                return Rewrite(
                    after, _large_enough(context, self.block, (old,), self.path), kept=kept(before, self.path)
                )
        return NoMatch(self.path, "no buffer is allocated here")


@final
@dataclass(frozen=True, slots=True)
class Share:
    """The buffers that are allocated by some statements of the sequence at ``path`` become views of one block.

    :param positions: of the allocating statements in the sequence, at least two, ascending.
    :param block: the fresh buffer to allocate around the sequence.
    """

    path: Path
    positions: tuple[int, ...]
    block: Buffer

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        target = statement_at(before, self.path)
        if isinstance(target, NoMatch):
            return target
        if not isinstance(target, Seq) or len(self.positions) < 2 or list(self.positions) != sorted({*self.positions}):
            return NoMatch(self.path, "sharing takes a sequence and at least two of its statements, in order")
        if not 0 <= self.positions[0] <= self.positions[-1] < len(target.stmts):
            return NoMatch(self.path, f"the sequence has {len(target.stmts)} statements")
        chosen = [target.stmts[k] for k in self.positions]
        old = tuple(s.buffer for s in chosen if isinstance(s, Allocate))
        if len(old) < len(chosen):
            return NoMatch(self.path, "one of the statements allocates nothing")
        problem = _block_problem(self.block, old)
        for b, s in zip(old, chosen, strict=True):
            problem = problem or _passed_whole(s, b)
        if problem is None and any(n is self.block.data for n in walk(before)):
            problem = f"{self.block.name} is not fresh"
        context = context_at(before, self.path, entry)
        if problem is None:
            problem = scope_problem(context, Allocate(self.block, Seq(())))
        if problem is not None:
            return NoMatch(self.path, problem)
        stmts = list(target.stmts)
        for k, s in zip(self.positions, chosen, strict=True):
            assert isinstance(s, Allocate)
            stmts[k] = substitute(DeclBuffer(s.buffer, s.body), {s.buffer.data: self.block.data})
        after = before.with_body(put(before.body, self.path, Allocate(self.block, Seq(tuple(stmts)))))
        heirs = tuple((self.block.data, b.data) for b in old)
        return Rewrite(after, self._questions(context, target, old), heirs=heirs)

    def _questions(self, context: Context, target: Seq, old: tuple[Buffer, ...]) -> Iterator[Question]:
        yield from _large_enough(context, self.block, (), self.path)
        for k, b in zip(self.positions, old, strict=True):
            here = context.fork()
            for s in target.stmts[:k]:
                here.execute(s)
            yield from _large_enough(here, self.block, (b,), (*self.path, k), declared=False)


def _block_problem(block: Buffer, views: tuple[Buffer, ...]) -> str | None:
    """Why a block cannot hold the views: its form, or what its size depends on."""
    if block.strides:
        return f"{block.name} must be row-major"
    for b in views:
        if b.strides:
            return f"{b.name} has strides"
        if b.scope != block.scope:
            return f"{b.name} lives in scope {b.scope!r}, {block.name} in {block.scope!r}"
    return None


def _passed_whole(stmt: Stmt, buffer: Buffer) -> str | None:
    """Why the block of a buffer must stay: another function of the module is given it, and sees its shape."""
    for n in walk(stmt):
        if isinstance(n, Call) and n.op.startswith("@") and buffer.data in n.args:
            return f"{buffer.name} is passed to {n.op[1:]}, which would see another shape"
    return None


def _large_enough(
    context: Context, block: Buffer, views: tuple[Buffer, ...], path: Path, *, declared: bool = True
) -> Iterator[Question]:
    """The block can be allocated, and holds each view's bytes."""
    if declared:
        yield from extents_safe(context, block, path)
    for b in views:
        sizes = []
        for x in (b, block):
            size = f.integer(x.dtype.nbytes)
            for extent in x.shape:
                size = f.mul(size, context.encoder().value(extent))
            sizes.append(size)
        offsets = f.and_(*[f.eq(context.encoder().value(x.elem_offset), f.integer(0)) for x in (b, block)])
        claim = f"the block of {block.name} holds {b.name}"
        yield Question("view", claim, context, (), f.and_(f.le(*sizes), offsets), path)
