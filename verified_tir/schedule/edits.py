"""Edits of expressions and accesses: one expression, or all accesses of a buffer at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import INT8
from verified_tir.ir.expr import Cast, Expr, Load
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError, Node
from verified_tir.ir.paths import Path, at
from verified_tir.ir.stmt import Stmt, Store
from verified_tir.ir.visit import map_children, sub_statements, walk
from verified_tir.kernel.obligation import NoMatch
from verified_tir.kernel.rules.rewrite import Edit, ExprPath, Rewrite, expressions, with_expressions
from verified_tir.schedule.rule_builders import RuleBuilder

Indices = tuple[Expr, ...]
Moves = tuple[tuple[Indices, Indices], ...]


def rewritten(path: Path, where: ExprPath, new: Expr) -> Rewrite:
    """The expression at ``where`` in the statement at ``path`` becomes ``new``."""
    return Rewrite(path, (Edit((), where, new),))


def together(rules: Sequence[Rewrite]) -> Rewrite:
    """One step that makes the edits of all of these, none of which moves another's place."""
    return Rewrite((), tuple(Edit((*r.path, *e.path), e.where, e.new) for r in rules for e in r.edits))


def parts(node: Node, where: ExprPath = ()) -> Iterator[tuple[ExprPath, Expr]]:
    """The expressions of a statement or an expression with their positions, the larger ones first."""
    for k, e in enumerate(expressions(node)):
        yield (*where, k), e
        yield from parts(e, (*where, k))


def largest_parts(node: Node, change: Callable[[Expr], Expr], where: ExprPath = ()) -> Iterator[tuple[ExprPath, Expr]]:
    """The largest parts of the expressions of a node that ``change`` makes others, and what they become."""
    for k, e in enumerate(expressions(node)):
        new = change(e)
        if new is e:
            yield from largest_parts(e, change, (*where, k))
        else:
            yield (*where, k), new


def expression_at(node: Node, where: ExprPath) -> Expr:
    """The expression at a position of a statement."""
    for step in where:
        node = expressions(node)[step]
    assert isinstance(node, Expr)
    return node


def narrowed(stmt: Stmt, where: ExprPath, new: Expr) -> tuple[ExprPath, Expr]:
    """Of a new expression for a position, the smallest part that holds all that changes, and its position."""
    old = expression_at(stmt, where)
    while type(old) is type(new):
        before, after = expressions(old), expressions(new)
        differ = [k for k, (a, b) in enumerate(zip(before, after, strict=False)) if a is not b]
        if (
            len(before) != len(after)
            or len(differ) != 1
            or replace_expression(old, (differ[0],), after[differ[0]]) is not new
        ):
            break
        where, old, new = (*where, differ[0]), before[differ[0]], after[differ[0]]
    return where, new


def replace_expression(node: Node, where: ExprPath, new: Expr) -> Node:
    """``node`` with the expression at ``where`` replaced."""
    if not where:
        return new
    part = replace_expression(expressions(node)[where[0]], where[1:], new)
    assert isinstance(part, Expr)
    return with_expressions(node, {where[0]: part})


def accesses(stmt: Stmt, buffer: Buffer) -> list[Load | Store]:
    """The accesses of a buffer in a statement, those through other views left out."""
    return [n for n in walk(stmt) if isinstance(n, (Load, Store)) and n.buffer is buffer]


def moves_of(stmt: Stmt, buffer: Buffer, to: Callable[[Indices], Indices] = lambda same: same) -> Moves:
    """For the indices by which a statement accesses a buffer, those by which another view is to be accessed."""
    return tuple((x, to(x)) for x in dict.fromkeys(n.indices for n in accesses(stmt, buffer)))


def redirected(path: Path, old: Buffer, new: Buffer, moves: Moves) -> RuleBuilder:
    """Within the statement at ``path``, accesses of ``old`` become accesses of ``new``, another view of its block.

    :param moves: for the indices of an access of ``old``, those of the access of ``new``.  An access by indices that
        are not listed stays as it is.
    """

    def rule(func: PrimFunc) -> Rewrite | NoMatch:
        if old.data is not new.data:
            return NoMatch(path, f"{new.name} is not a view of the block of {old.name}")
        as_bytes = old.dtype.is_bool and new.dtype.scalar is INT8
        if old.dtype.scalar is not new.dtype.scalar and not as_bytes:
            return NoMatch(path, f"{old.name} holds {old.dtype}, {new.name} {new.dtype}")
        try:
            return Rewrite(path, tuple(_Mover(old, new, dict(moves)).edits(at(func.body, path), ())))
        except IRError as reason:
            return NoMatch(path, str(reason))

    return rule


class _Mover:
    """Redirects loads; what it has seen it remembers."""

    def __init__(self, old: Buffer, new: Buffer, moves: dict[Indices, Indices]) -> None:
        self.old, self.new, self.moves = old, new, moves
        self.memo: dict[Node, Node] = {}

    def edits(self, stmt: Stmt, path: Path) -> Iterator[Edit]:
        """All edits at or below a statement."""
        places = range(len(expressions(stmt)))
        if isinstance(stmt, Store) and self.moved(stmt):
            indices = tuple([self.expr(e) for e in self.moves[stmt.indices]])
            yield Edit(path, (), Load(self.new, indices, stmt.predicate))
            places = range(0, len(places), len(stmt.indices) + 1)  # the value and the mask
        for k in places:
            yield from self.within(expressions(stmt)[k], path, (k,))
        for k, sub in enumerate(sub_statements(stmt)):
            yield from self.edits(sub, (*path, k))

    def within(self, e: Expr, path: Path, where: ExprPath) -> Iterator[Edit]:
        """The outermost loads that move in an expression."""
        if self.expr(e) is e:
            return
        if self.moved(e):
            yield Edit(path, where, self.expr(e))
            return
        for k, part in enumerate(expressions(e)):
            yield from self.within(part, path, (*where, k))

    def moved(self, node: Node) -> bool:
        return isinstance(node, (Load, Store)) and node.buffer is self.old and node.indices in self.moves

    def expr(self, e: Expr) -> Expr:
        """An expression with its loads redirected."""
        found = self.go(e)
        assert isinstance(found, Expr)
        return found

    def go(self, node: Node) -> Node:
        found = self.memo.get(node)
        if found is None:
            found = self.memo[node] = self._go(node)
        return found

    def _go(self, node: Node) -> Node:
        if isinstance(node, Buffer):
            return node
        if not (isinstance(node, Load) and self.moved(node)):
            return map_children(node, self.go)
        mask = None if node.predicate is None else self.expr(node.predicate)
        load = Load(self.new, tuple([self.expr(e) for e in self.moves[node.indices]]), mask)
        if load.dtype.lanes != node.dtype.lanes:
            raise IRError(f"the access of {self.new.name} has type {load.dtype}, not {node.dtype}")
        if self.old.dtype.is_bool and not self.new.dtype.is_bool:
            return Cast(node.dtype, load)
        return load
