"""Traversal: children, rebuilding, substitution, free variables, fresh binders.

All functions here are generic over the fields of the dataclasses, so a new node class needs no entry.
Shared subtrees are visited once: every function memoises by identity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import chain
from operator import is_not
from typing import Any, TypeVar

from verified_tir.ir.dtype import DType, PointerType
from verified_tir.ir.exact import NODES
from verified_tir.ir.expr import Expr, LetExpr, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node, once
from verified_tir.ir.stmt import Allocate, Block, For, LetStmt, Stmt

N = TypeVar("N", bound=Node)
K = TypeVar("K", bound=Node)

_TYPES = (DType, PointerType)
"""Nodes that are not sub-nodes."""


def fields(node: Node) -> tuple[object, ...]:
    """The field values of a node, in order."""
    return tuple([getattr(node, name) for name in node.__match_args__])


def map_children(node: N, f: Callable[[Node], Node]) -> N:
    """The node with ``f`` applied to each direct sub-node; the same object if nothing changed."""
    old = fields(node)
    new = _mapped(old, f)
    return node if new is old else type(node)(*new)


def _mapped(values: tuple[Any, ...], f: Callable[[Node], Node]) -> tuple[Any, ...]:
    """Fields, or what a tuple in one holds, with ``f`` applied to the nodes; the same object if that changed none."""
    made: list[Any] = []
    for value in values:
        if isinstance(value, Node):
            made.append(value if type(value) in _TYPES else f(value))
        else:
            made.append(_mapped(value, f) if type(value) is tuple else value)
    return tuple(made) if any(map(is_not, made, values)) else values


@once
def children(node: Node) -> tuple[Node, ...]:
    """Direct sub-nodes: expressions, statements, buffers, regions, variables; types excluded."""
    found: list[Node] = []

    def note(child: Node) -> Node:
        found.append(child)
        return child

    map_children(node, note)
    return tuple(found)


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it, parents first, each object once."""
    return chain((node,), _below(Node)(node))


def nodes_of(node: Node, kind: type[K]) -> tuple[K, ...]:
    """The nodes of a class that :func:`walk` gives, in its order."""
    below = _below(kind)(node)
    return (node, *below) if isinstance(node, kind) else below


@cache
def _below(kind: type[K]) -> Callable[[Node], tuple[K, ...]]:
    """The nodes that :func:`nodes_of` finds below a node; memoised, as each rule and each check of its result asks.

    What is below a statement is put together from what is below its parts: in a changed program most of them are as
    they were.  All that is below a node has been seen when the node comes a second time, so the order is that of one
    walk.
    """

    if NODES.get(kind.__name__) is not kind:  # it might compare equal to another
        raise TypeError(f"{kind.__name__} is not a class of nodes")
    parts_of = sub_statements if issubclass(kind, Stmt) else children  # no expression or buffer has a statement

    @once
    def below(node: Node) -> tuple[K, ...]:
        if isinstance(node, (Stmt, PrimFunc)):
            parts: list[K] = []
            for c in parts_of(node):
                if isinstance(c, kind):
                    parts.append(c)
                parts += below(c)
            return tuple(dict.fromkeys(parts))
        if kind is not Node:
            return tuple([n for n in _below(Node)(node) if isinstance(n, kind)])
        found: dict[Any, None] = {}
        stack = [*reversed(children(node))]
        while stack:
            n = stack.pop()
            if n not in found:
                found[n] = None
                stack.extend(reversed(children(n)))
        return tuple(found)

    return below


def rewrite(node: N, f: Callable[[Node], Node | None]) -> N:
    """Bottom-up rewriting: ``f`` sees each node after its children; ``None`` keeps it."""
    memo: dict[Node, Node] = {}

    def go(n: Node) -> Node:
        if n not in memo:
            rebuilt = map_children(n, go)
            new = f(rebuilt)
            memo[n] = rebuilt if new is None else new
        return memo[n]

    return go(node)  # type: ignore[return-value]


def substitute(node: N, mapping: Mapping[Var, Expr]) -> N:
    """Replace free occurrences of variables (binders have unique variables, so nothing can be captured)."""
    return rewrite(node, lambda n: mapping.get(n) if isinstance(n, Var) else None) if mapping else node


def mentions(node: Node, wanted: frozenset[Var]) -> bool:
    """Whether one of the variables occurs in a node, free or bound."""
    return not wanted.isdisjoint(nodes_of(node, Var))


def binds(node: Node) -> tuple[Var, ...]:
    """The variables that a node binds itself: loops, lets, block iteration variables, allocated data variables."""
    match node:
        case For(var=v) | LetStmt(var=v) | LetExpr(var=v):
            return (v,)
        case Allocate(buffer=b):
            return (b.data,)
        case Block(iter_vars=iter_vars, alloc_buffers=buffers):
            return (*[iv.var for iv in iter_vars], *[b.data for b in buffers])
    return ()


@once
def bound_vars(node: Node) -> tuple[Var, ...]:
    """The variables that are bound in ``node``, by itself or below it."""
    return tuple(dict.fromkeys([v for n in walk(node) for v in binds(n)]))


def free_vars(node: Node) -> tuple[Var, ...]:
    """Variables that occur in ``node`` and are not bound inside it (data variables included)."""
    bound = {*bound_vars(node)}
    return tuple([v for v in nodes_of(node, Var) if v not in bound])


def refresh_binders(node: N) -> tuple[N, dict[Var, Var]]:
    """A copy in which every binder has a fresh variable; also the map from old to new variables.

    A rule that duplicates code calls this, so that each variable stays bound once in a program.
    """
    mapping = {v: Var.fresh(v.name, v.type) for v in bound_vars(node)}
    return substitute(node, mapping), mapping


@once
def sub_statements(node: Node) -> tuple[Stmt, ...]:
    """Direct sub-statements, in order; a path into a program is a sequence of positions among these."""
    return tuple([c for c in children(node) if isinstance(c, Stmt)])
