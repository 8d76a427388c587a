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

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TypeAlias

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.calls import is_pure
from verified_tir.ir.expr import Call, Expr, LetExpr, Load, Var
from verified_tir.ir.func import PrimFunc, symbolic
from verified_tir.ir.node import Node, once
from verified_tir.ir.stmt import Allocate, AttrStmt, Block, DeclBuffer, For, LetStmt, Stmt
from verified_tir.ir.visit import binds, children, nodes_of, sub_statements, walk

Name: TypeAlias = Var | Buffer
"""What is in scope at a place, or not: variables (data pointers among them) and buffers."""


def problem(func: PrimFunc) -> str | None:
    """Why the function is not well-formed, in one sentence; ``None`` if it is."""
    return next((why for _, why in problems(func)), None)


def problems(func: PrimFunc) -> Iterator[tuple[Name, str]]:
    """The violations of well-formedness in a function: the variable or buffer at fault, and a sentence
    (``ir.misplaced`` finds where)."""
    return chain(_buffers(func), _scopes(func), _head(func))


def _head(func: PrimFunc) -> Iterator[tuple[Name, str]]:
    """Violations in the parameters."""
    one_for_each = len(func.buffers) == len(func.buffer_map)
    for param, b in func.buffer_map:
        if not one_for_each:
            yield param, "a buffer stands for no parameter, or two of them for one"
        if param.dtype.code != "handle":
            yield param, f"{param.name} of type {param.dtype} cannot be the buffer {b.name}; it takes a handle"


def _buffers(func: PrimFunc) -> Iterator[tuple[Name, str]]:
    """Violations in buffers: views of what is not a buffer's memory, and extents that read memory."""
    owners = (*nodes_of(func.body, Allocate), *nodes_of(func.body, Block))
    blocks = {b.data for b in chain(func.buffers, *map(declares, owners))}
    for b in [s.buffer for s in nodes_of(func.body, DeclBuffer)]:
        if b.data not in blocks:
            yield b, f"{b.name} is declared over {b.data.name}, which is not a block here"
    for b in dict.fromkeys((*func.buffers, *nodes_of(func.body, Buffer))):
        if _reads(b):
            yield b, f"an extent of {b.name} reads memory; it must be bound by a let first"


@once
def _reads(buffer: Buffer) -> bool:
    """Whether a buffer's declaration reads memory, or may."""
    return bool(nodes_of(buffer, Load)) or not all(is_pure(c.op) for c in nodes_of(buffer, Call))


def _scopes(func: PrimFunc) -> Iterator[tuple[Name, str]]:
    """Violations of scoping: names that are used out of scope, and variables that are bound twice.

    A variable that is bound once and is needed nowhere outside of what binds it, is used in its scope.  The function's
    arrays bind the variables in their shapes.  A ``LetExpr`` that occurs several times (it is one object, then) binds
    its variable once.
    """
    bound = [*func.params, *[b.data for b in func.buffers]]
    symbols = {v for b in symbolic(func.buffers) for v in nodes_of(b, Var)}.difference(bound)
    lets = dict.fromkeys(n for part in (*symbolic(func.buffers), func.body) for n in nodes_of(part, LetExpr))
    scope: set[Name] = {*bound, *symbols, *func.buffers}
    for n in needed(func.body):
        if n not in scope:
            kind, how = ("buffer", "declared") if isinstance(n, Buffer) else ("variable", "in scope")
            yield n, f"{kind} {n.name} is not {how} here"
    bound += [*symbols, *_bound(func.body), *[n.var for n in lets]]
    if len({*bound}) < len(bound):
        v = next(v for k, v in enumerate(bound) if v in bound[:k])
        yield v, f"{v.name} is bound twice"


def declares(node: Node) -> tuple[Buffer, ...]:
    """The buffers that a node declares itself."""
    if isinstance(node, Block):
        return node.alloc_buffers
    return (node.buffer,) if isinstance(node, (Allocate, DeclBuffer)) else ()


@once
def _bound(stmt: Stmt) -> tuple[Var, ...]:
    """The variables that statements bind in a statement, each as often as it is bound."""
    return (*binds(stmt), *chain.from_iterable(map(_bound, sub_statements(stmt))))


@once
def needed(node: Node) -> tuple[Name, ...]:
    """What a statement or expression mentions and does not bind or declare itself, in order.

    A buffer that is mentioned needs what its data and its shape need.
    """
    outside: Iterable[Node] = ()  # what is evaluated before the node binds anything
    match node:
        case For(min=low, extent=extent):
            outside = (low, extent)
        case LetStmt(value=value) | LetExpr(value=value):
            outside = (value,)
        case Block(iter_vars=iter_vars):
            outside = [iv.value for iv in iter_vars]
        case AttrStmt(value=value, body=body):  # the node that an attribute is about may live further inside
            return tuple(dict.fromkeys((*needed(value), *needed(body))))
        case Expr() | Buffer() if not nodes_of(node, LetExpr):
            return tuple([n for n in walk(node) if isinstance(n, (Var, Buffer))])
    own, itself = {*binds(node), *declares(node)}, (node,) if isinstance(node, Buffer) else ()
    rest = [n for p in children(node) for n in needed(p) if n not in own]
    return tuple(dict.fromkeys(chain(itself, *map(needed, outside), rest)))
