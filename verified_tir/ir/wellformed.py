"""Well-formedness: what every program must be for the rules to speak about it.

Every variable is bound once and used in its scope, every buffer is declared where it is used.  Rules that compute
programs and tactics that build expressions rely on it: a substitution captures nothing because variables are bound
once, and a fact about ``x`` is a fact about the only ``x``.

Buffers lie in a parameter's or an allocation's memory: what a computed address points to, no rule knows, nor what a
pointer does that is passed without a buffer.  Their extents may not read memory: they are evaluated where a buffer is
declared, and the logic writes them down wherever the buffer is used.  (A ``let`` around the declaration does.)

Of each statement is known what it needs from its surroundings, and what it binds.  Both are put together from what is
known of its parts, so that in a changed program only what changed is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain
from typing import TypeAlias

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.calls import is_pure
from verified_tir.ir.expr import Call, Expr, LetExpr, Load, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node, once
from verified_tir.ir.paths import Path, places
from verified_tir.ir.stmt import Allocate, AttrStmt, Block, DeclBuffer, For, LetStmt, Stmt
from verified_tir.ir.visit import binds, bound_vars, children, nodes_of, sub_statements, walk

Name: TypeAlias = Var | Buffer
"""What is in scope at a place, or not: variables (data pointers among them) and buffers."""


def problem(func: PrimFunc) -> str | None:
    """Why the function is not well-formed, in one sentence; ``None`` if it is."""
    found = misplaced(func)
    return None if found is None else found[1]


def misplaced(func: PrimFunc) -> tuple[Path, str] | None:
    """Where and why the function is not well-formed; ``None`` if it is."""
    return next(chain(_buffers(func), _scopes(func), _head(func)), None)


def _head(func: PrimFunc) -> Iterator[tuple[Path, str]]:
    """What is wrong with the parameters."""
    if len(func.buffers) != len(func.buffer_map):
        yield (), "a buffer stands for no parameter, or two of them for one"
    for param, b in func.buffer_map:
        if param.dtype.code != "handle":
            yield (), f"{param.name} of type {param.dtype} cannot be the buffer {b.name}; it takes a handle"


def _buffers(func: PrimFunc) -> Iterator[tuple[Path, str]]:
    """Views of what is no buffer's memory, and buffers whose extents read memory."""
    owners = (*nodes_of(func.body, Allocate), *nodes_of(func.body, Block))
    blocks = {b.data for b in chain(func.buffers, *map(_declares, owners))}
    for s in nodes_of(func.body, DeclBuffer):
        if s.buffer.data not in blocks:
            name, data = s.buffer.name, s.buffer.data.name
            where = f"{name} is declared over {data}, which is no block here"
            remedy = f"say at the head of the function what it points to: {name} = T.match_buffer({data}, shape, dtype)"
            yield _declaration(func, s.buffer), f"{where}; declare it over a buffer's own data, or {remedy}"
    for b in nodes_of(func, Buffer):
        if _reads_memory(b):
            yield _declaration(func, b), f"an extent of {b.name} reads memory; it must be bound by a let first"


@once
def _reads_memory(buffer: Buffer) -> bool:
    """Whether an extent of the buffer loads something, or makes a call that might."""
    return bool(nodes_of(buffer, Load)) or not all(is_pure(c.op) for c in nodes_of(buffer, Call))


def _scopes(func: PrimFunc) -> Iterator[tuple[Path, str]]:
    """Names that are used out of scope, and variables that are bound twice.

    A variable that is bound once and is needed nowhere outside of what binds it, is used in its scope.  The function's
    arrays bind the variables in their shapes.  A ``LetExpr`` that occurs several times (it is one object, then) binds
    its variable once.
    """
    bound = [*func.params, *[b.data for b in func.buffers]]
    symbols = {v for b in func.buffers for v in nodes_of(b, Var)}.difference(bound)
    scope: set[Name] = {*bound, *symbols, *func.buffers}
    for n in _needed(func.body):
        if n not in scope:
            kind, how = ("buffer", "declared") if isinstance(n, Buffer) else ("variable", "in scope")
            yield _innermost(func.body, n, _needed), f"{kind} {n.name} is not {how} here"
    bound += [*symbols, *_bound(func.body), *[n.var for n in nodes_of(func, LetExpr)]]
    if len({*bound}) < len(bound):
        v = next(v for k, v in enumerate(bound) if v in bound[:k])
        yield _innermost(func.body, v, bound_vars), f"{v.name} is bound twice"


def _declaration(func: PrimFunc, buffer: Buffer) -> Path:
    """The place where a buffer is declared; that of the whole body for a parameter."""
    return next((path for path, _ in places(func.body, lambda s: buffer in _declares(s))), ())


def _innermost(stmt: Stmt, name: Name, names: Callable[[Stmt], Collection[Name]]) -> Path:
    """The place of the last, innermost statement that has a name among its ``names``."""
    subs = sub_statements(stmt)
    for k in range(len(subs) - 1, -1, -1):
        if name in names(subs[k]):
            return (k, *_innermost(subs[k], name, names))
    return ()


def _declares(node: Node) -> tuple[Buffer, ...]:
    """The buffers that a node declares itself."""
    if isinstance(node, Block):
        return node.alloc_buffers
    return (node.buffer,) if isinstance(node, (Allocate, DeclBuffer)) else ()


@once
def _bound(stmt: Stmt) -> tuple[Var, ...]:
    """The variables that statements bind in a statement, each as often as it is bound."""
    return (*binds(stmt), *chain.from_iterable(map(_bound, sub_statements(stmt))))


@once
def _needed(node: Node) -> tuple[Name, ...]:
    """What a statement or expression mentions and does not bind or declare itself, in order.

    A buffer that is mentioned needs what its data and its shape need.
    """
    outside: Iterable[Node] = ()  # what is evaluated before the node binds anything
    match node:
        case For(min=low, extent=extent):
            outside = (low, extent)
        case LetStmt(value=value) | LetExpr(value=value):
            outside = (value,)
        case DeclBuffer(buffer=b):
            outside = (b.data,)
        case Block(iter_vars=iter_vars):
            outside = [iv.value for iv in iter_vars]
        case AttrStmt(value=value, body=body):  # the node that an attribute is about may live further inside
            return tuple(dict.fromkeys((*_needed(value), *_needed(body))))
        case Expr() | Buffer() if not nodes_of(node, LetExpr):
            return tuple([n for n in walk(node) if isinstance(n, (Var, Buffer))])
    own = {*binds(node), *_declares(node)}
    rest = [n for p in children(node) for n in _needed(p) if n not in own]
    return tuple(dict.fromkeys(chain(*map(_needed, outside), rest)))
