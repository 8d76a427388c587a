"""Traversal: children, rebuilding, substitution, free variables, fresh binders.

All functions here are generic over the fields of the dataclasses, so a new node class needs no entry.
Shared subtrees are visited once: every function memoises by identity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import TypeVar

from verified_tir.ir.dtype import DType, PointerType
from verified_tir.ir.expr import Expr, LetExpr, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node, once
from verified_tir.ir.stmt import Allocate, Block, For, LetStmt, Seq, Stmt

N = TypeVar("N", bound=Node)
K = TypeVar("K", bound=Node)


def fields(node: Node) -> tuple[object, ...]:
    """The field values of a node, in order."""
    return tuple([getattr(node, name) for name in node.__match_args__])


@once
def children(node: Node) -> tuple[Node, ...]:
    """Direct sub-nodes: expressions, statements, buffers, regions, variables; types excluded."""
    found: list[Node] = []
    _collect(fields(node), found)
    return tuple(found)


def _collect(values: Sequence[object], found: list[Node]) -> None:
    """Add the nodes among fields, or in a tuple in one."""
    for value in values:
        if isinstance(value, Node):
            if type(value) not in _TYPES:
                found.append(value)
        elif type(value) is tuple:
            _collect(value, found)


def map_children(node: N, f: Callable[[Node], Node]) -> N:
    """The node with ``f`` applied to each direct sub-node; the same object if nothing changed."""
    made, changed = _mapped(fields(node), f)
    return type(node)(*made) if changed else node


def _mapped(values: Sequence[object], f: Callable[[Node], Node]) -> tuple[list[object], bool]:
    """Fields, or what a tuple in one holds, with ``f`` applied to the nodes; and whether that changed any."""
    found: list[object] = []
    changed = False
    for value in values:
        new = value
        if isinstance(value, Node):
            if type(value) not in _TYPES:
                new = f(value)
        elif type(value) is tuple:
            made, differs = _mapped(value, f)
            new = tuple(made) if differs else value
        changed = changed or new is not value
        found.append(new)
    return found, changed


_TYPES = (DType, PointerType)
"""Nodes that are no sub-nodes."""


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it, parents first, each object once."""
    return chain((node,), _below(node))


def _below(node: Node) -> tuple[Node, ...]:
    """What :func:`walk` gives after the node itself; kept, as each rule and each check of its result goes through it.

    What is below a statement is put together from what is below its parts: in a changed program most of them are as
    they were.  All that is below a node has been seen when the node comes a second time, so the order is that of one
    walk.
    """
    try:
        return node._below  # type: ignore[attr-defined, no-any-return]
    except AttributeError:
        pending = [node]
    while pending:  # not by recursion: programs are deep
        n = pending[-1]
        if not isinstance(n, (Stmt, PrimFunc)):
            found = _walk(*children(n))
        elif unknown := [c for c in children(n) if isinstance(c, Stmt) and not hasattr(c, "_below")]:
            pending.extend(unknown)
            continue
        else:
            found = chain.from_iterable([(c, *_below(c)) for c in children(n)])
        object.__setattr__(pending.pop(), "_below", tuple(dict.fromkeys(found)))
    return _below(node)


def _walk(*nodes: Node) -> Iterator[Node]:
    seen: set[Node] = set()
    stack = [*reversed(nodes)]
    while stack:
        n = stack.pop()
        if n in seen:
            continue
        seen.add(n)
        yield n
        stack.extend(reversed(children(n)))


def rewrite(node: N, f: Callable[[Node], Node | None]) -> N:
    """Bottom-up rewriting: ``f`` sees each node after its children; ``None`` keeps it."""
    memo: dict[Node, Node] = {}

    def go(n: Node) -> Node:
        found = memo.get(n)
        if found is None:
            rebuilt = map_children(n, go) if children(n) else n
            found = f(rebuilt)
            if found is None:
                found = rebuilt
            memo[n] = found
        return found

    return go(node)  # type: ignore[return-value]


def substitute(node: N, mapping: Mapping[Var, Expr]) -> N:
    """Replace free occurrences of variables (binders have unique variables, so nothing can be captured)."""
    if not mapping:
        return node
    return rewrite(node, lambda n: mapping.get(n) if isinstance(n, Var) else None)


def nodes_of(node: Node, kind: type[K]) -> tuple[K, ...]:
    """The nodes of a class that :func:`walk` gives, in its order; statements keep what they have of each class."""
    if not isinstance(node, Stmt):
        return tuple([n for n in walk(node) if isinstance(n, kind)])
    below = _found(kind)(node)
    return (node, *below) if isinstance(node, kind) else below


@cache
def _found(kind: type[K]) -> Callable[[Stmt], tuple[K, ...]]:
    """What :func:`nodes_of` finds below a statement."""

    @once
    def found(stmt: Stmt) -> tuple[K, ...]:
        first: dict[K, None] = {}
        for c in children(stmt):
            try:  # what a part has is known, most often, and a sequence may be long
                below = c._known[compute]  # type: ignore[attr-defined]
                if isinstance(c, kind):
                    first[c] = None
            except (AttributeError, KeyError):
                below = nodes_of(c, kind)
            if below:
                first.update(dict.fromkeys(below))
        return tuple(first)

    compute = found.__wrapped__  # type: ignore[attr-defined]
    return found


def mentions(node: Node, wanted: frozenset[Var]) -> bool:
    """Whether one of the variables occurs in a node, free or bound.

    What is below a sequence is not put together for that: in a changed program it would have to be made anew.
    """
    parts = (*node.params, *node.buffers, node.body) if isinstance(node, PrimFunc) else children(node)
    if node in wanted or not wanted.isdisjoint(parts):
        return True
    if not isinstance(node, (PrimFunc, Seq)) and not any(isinstance(c, Seq) for c in parts):
        return not wanted.isdisjoint(_below(node))
    for c in parts:
        below: tuple[Node, ...] | None = getattr(c, "_below", None)
        if (not wanted.isdisjoint(below)) if below is not None else mentions(c, wanted):
            return True
    return False


def bound_vars(node: Node) -> list[Var]:
    """Variables bound inside ``node``: loops, lets, block iteration variables, allocated data variables."""
    found: list[Var] = []
    for n in walk(node):
        match n:
            case For(var=v) | LetStmt(var=v) | LetExpr(var=v):
                found.append(v)
            case Allocate(buffer=b):
                found.append(b.data)
            case Block(iter_vars=iter_vars, alloc_buffers=buffers):
                found.extend(iv.var for iv in iter_vars)
                found.extend(b.data for b in buffers)
    return list(dict.fromkeys(found))


def free_vars(node: Node) -> tuple[Var, ...]:
    """Variables that occur in ``node`` and are not bound inside it (data variables included)."""
    return (node,) if isinstance(node, Var) else _free_vars(node)  # a variable that held itself would never go away


@once
def _free_vars(node: Node) -> tuple[Var, ...]:
    bound = set(bound_vars(node))
    return tuple([n for n in walk(node) if isinstance(n, Var) and n not in bound])


def refresh_binders(node: N) -> tuple[N, dict[Var, Var]]:
    """A copy in which every binder has a fresh variable; also the map from old to new variables.

    A rule that duplicates code calls this, so that each variable stays bound once in a program.
    """
    mapping = {v: Var.fresh(v.name, v.type) for v in bound_vars(node)}
    return substitute(node, mapping), mapping


@once
def sub_statements(stmt: Stmt) -> tuple[Stmt, ...]:
    """Direct sub-statements, in order; a path into a program is a sequence of positions among these."""
    return tuple([c for c in children(stmt) if isinstance(c, Stmt)])
