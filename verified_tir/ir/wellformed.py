"""Well-formedness: every variable bound once and used in its scope, every buffer declared where it is used.

Rules that compute programs and tactics that build expressions rely on it: a substitution captures nothing because
variables are bound once, and a fact about ``x`` is a fact about the only ``x``.

Of each statement is known what it needs from its surroundings, and what it binds.  Both are put together from what is
known of its parts, so that in a changed program only what changed is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TypeAlias

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, LetExpr, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node, once
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Allocate, AttrStmt, Block, DeclBuffer, For, LetStmt, Stmt
from verified_tir.ir.visit import children, nodes_of, sub_statements, walk

Name: TypeAlias = Var | Buffer
"""What is in scope at a place, or not: variables (data pointers among them) and buffers."""


def problem(func: PrimFunc) -> str | None:
    """Why the function is not well-formed, in one sentence; ``None`` if it is."""
    found = misplaced(func)
    return None if found is None else found[1]


def misplaced(func: PrimFunc) -> tuple[Path, str] | None:
    """Where and why the function is not well-formed; ``None`` if it is.

    A variable that is bound once and is needed nowhere outside of what binds it, is used in its scope.  The function's
    arrays bind the variables in their shapes.  A ``LetExpr`` that occurs several times (it is one object, then) binds
    its variable once.
    """
    buffers = func.buffers
    if len({*func.params}) != len(func.params):
        twice = next(v for k, v in enumerate(func.params) if v in func.params[:k])
        return (), f"{twice.name} is bound twice"
    if len(buffers) != len(func.buffer_map):
        return (), "a buffer stands for no parameter, or two of them for one"
    for param, b in func.buffer_map:
        if param.dtype.code != "handle":
            return (), f"{param.name} of type {param.dtype} cannot be the buffer {b.name}; it takes a handle"
    scope: set[Name] = {*func.params, *chain.from_iterable(map(_symbols, buffers))}
    for b in buffers:
        if b.data in scope:
            return (), f"{b.data.name} is bound twice"
        scope |= {b, b.data}
        for n in _needed(b):
            if n not in scope:
                return (), _missing(n)
    missing = next((n for n in _needed(func.body) if n not in scope), None)
    if missing is not None:
        view = next((b for b in nodes_of(func.body, Buffer) if b.data is missing), None)
        why = _missing(missing)
        if view is not None:
            why = f"{view.name} is declared over {missing.name}, which is no block here"
        return _innermost(func.body, missing, _needed), why
    binders = [*_lets(buffers), *_binders(func.body)]
    if len(scope.union([v for v, _ in binders])) == len(scope) + len(binders):
        return None
    bound: dict[Name, LetExpr | None] = dict.fromkeys(scope)
    for v, binder in binders:
        if v in bound and (binder is None or bound[v] is not binder):
            return _innermost(func.body, v, _bound_in), f"{v.name} is bound twice"
        bound[v] = binder
    return None


def _innermost(stmt: Stmt, name: Name, names: Callable[[Stmt], tuple[Name, ...]]) -> Path:
    """The place of the last, innermost statement that has a name among its ``names``."""
    subs = sub_statements(stmt)
    for k in range(len(subs) - 1, -1, -1):
        if name in names(subs[k]):
            return (k, *_innermost(subs[k], name, names))
    return ()


def _bound_in(stmt: Stmt) -> tuple[Name, ...]:
    return tuple(v for v, _ in _binders(stmt))


def _missing(name: Name) -> str:
    if isinstance(name, Buffer):
        return f"buffer {name.name} is not declared here"
    return f"variable {name.name} is not in scope here"


@once
def _needed(node: Node) -> tuple[Name, ...]:
    """What a statement or expression mentions and does not bind or declare itself, in order.

    A buffer that is mentioned needs what its data and its shape need.
    """
    outside: Iterable[Node] = ()
    inside: Iterable[Node] = ()
    own: set[Name] = set()
    match node:
        case For(var=v, min=low, extent=extent, body=body):
            outside, inside, own = (low, extent), (body,), {v}
        case LetStmt(var=v, value=value, body=body) | LetExpr(var=v, value=value, body=body):
            outside, inside, own = (value,), (body,), {v}
        case Allocate(buffer=b, body=body):
            inside, own = (b, body), {b, b.data}
        case DeclBuffer(buffer=b, body=body):
            outside, inside, own = (b.data,), (b, body), {b}
        case Block(iter_vars=iter_vars, alloc_buffers=buffers):
            outside = [iv.value for iv in iter_vars]
            domains = [e for iv in iter_vars for e in (iv.min, iv.extent)]
            regions = (*(node.reads or ()), *(node.writes or ()))
            parts = [p for p in (node.init, node.body) if p is not None]
            inside = (*domains, node.predicate, *buffers, *regions, *parts)
            own = {*(iv.var for iv in iter_vars), *buffers, *(b.data for b in buffers)}
        case AttrStmt(value=value, body=body):  # the node that an attribute is about may live further inside
            outside = (value, body)
        case Stmt():
            outside = children(node)
        case _ if any(isinstance(n, LetExpr) for n in walk(node)):
            outside = children(node)
        case _:
            return tuple(n for n in walk(node) if isinstance(n, (Var, Buffer)))
    mine = (node,) if isinstance(node, Buffer) else ()
    rest = (n for p in inside for n in _needed(p) if n not in own)
    return tuple(dict.fromkeys(chain(mine, (n for p in outside for n in _needed(p)), rest)))


@once
def _binders(stmt: Stmt) -> tuple[tuple[Var, LetExpr | None], ...]:
    """The variables that are bound in a statement, each with the expression that binds it, or none if a statement
    does."""
    own: Iterable[Var] = ()
    match stmt:
        case For(var=v) | LetStmt(var=v):
            own = (v,)
        case Allocate(buffer=b):
            own = (b.data,)
        case Block(iter_vars=iter_vars, alloc_buffers=buffers):
            own = (*(iv.var for iv in iter_vars), *(b.data for b in buffers))
        case _:
            pass
    parts = children(stmt)
    lets = _lets(c for c in parts if not isinstance(c, Stmt))
    return (*((v, None) for v in own), *lets, *chain.from_iterable(_binders(c) for c in parts if isinstance(c, Stmt)))


def _lets(nodes: Iterable[Node]) -> Iterator[tuple[Var, LetExpr]]:
    return ((n.var, n) for node in nodes for n in walk(node) if isinstance(n, LetExpr))


@once
def _symbols(buffer: Buffer) -> tuple[Var, ...]:
    """The variables that an array binds when it is passed."""
    return tuple(n for e in (*buffer.shape, *buffer.strides, buffer.elem_offset) for n in _variables(e))


def _variables(expr: Expr) -> list[Var]:
    if isinstance(expr, Var):
        return [expr]
    return [v for child in children(expr) if isinstance(child, Expr) for v in _variables(child)]
