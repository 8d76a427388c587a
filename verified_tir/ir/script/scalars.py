"""Scalar variables that a text assigns more than once.

In TVM ``x = e`` and ``x: T.int32 = e`` make a scalar in local memory, and a later ``x = f`` stores to it, converted to
its type (``x: T.let = e`` makes a variable with one value).  As long as nothing inside a nested scope assigns to the
name, each assignment is a let of its own here.  Otherwise the scalar is what it is in TVM, a buffer of one element.

``x = T.local_scalar("float32")`` declares such memory, and ``x: T.float32`` does without a value.  A buffer of one
element that is declared as one is stored to by ``A = e``, too; TVM also prints what it loads as ``A``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import FLOAT32
from verified_tir.ir.expr import IntImm
from verified_tir.ir.script.arguments import match_arguments
from verified_tir.ir.script.source import Located
from verified_tir.ir.sugar import const

if TYPE_CHECKING:
    from verified_tir.ir.script.bindings import BindingParser, Piece

SCALARS: Final = {"alloc_scalar": None, "local_scalar": "local", "shared_scalar": "shared", "decl_scalar": None}
"""Calls that declare a scalar in memory, with the scope that the name implies."""


def is_one_element(buffer: Buffer) -> bool:
    """Whether TVM takes the name of the buffer for its element: it has one axis, of extent 1."""
    match buffer.shape:
        case (IntImm(value=1),):
            return True
    return False


def declared_scalar(p: BindingParser, target: Located, name: str, call: ast.Call, called: str) -> Piece:
    """``x = T.local_scalar("float32")``, ``x = T.decl_scalar("float32", A.data, "global", elem_offset=1)``."""
    names = ("dtype", "scope") if called == "alloc_scalar" else ("dtype",)
    if called == "decl_scalar":
        args = match_arguments(p.source, call, ("dtype", "data", "scope", "elem_offset", "byte_offset"), 2)
    else:
        args = match_arguments(p.source, call, names)
    scope = SCALARS[called] or (p.string(args["scope"]) if "scope" in args else "global")
    dtype = p.dtype(args["dtype"]) if "dtype" in args else FLOAT32
    if called != "decl_scalar":
        with p.located(call):
            return scalar_memory(p, target, Buffer.declare(name, (const(1),), dtype, scope=scope))
    node = ast.Tuple([ast.copy_location(ast.Constant(1), call)], ast.Load())
    layout = p.layout({**args, "shape": ast.copy_location(node, call)}, call)
    buffer = p.make(call, name, layout)
    p.scalars.add(buffer)
    return p.declare_view(target, buffer)


def scalar_memory(p: BindingParser, target: Located, buffer: Buffer) -> Piece:
    """The allocation of a scalar over the rest of the scope: its name stands for its value."""
    p.scalars.add(buffer)
    return p.allocate(target, buffer, ())


def updated(body: Sequence[ast.stmt]) -> frozenset[int]:
    """The ``id`` of each target (a name) that must be a scalar in memory: a nested scope assigns to it later on."""
    sourced = {name for s in body for n in ast.walk(s) for name in _sourced(n)}
    found: set[int] = set()
    for scope in _scopes(body):
        nested: set[str] = set()
        for node in reversed(scope):
            for target in _targets(node):
                if target.id in nested or target.id in sourced:
                    found.add(id(target))
            nested |= {t.id for inner in _bodies(node) for s in inner for t in _all_targets(s)}
    return frozenset(found)


def _sourced(node: ast.AST) -> list[str]:
    """The names whose memory a node asks for: the ``x`` of ``x.source``, TVM's name for it, or of ``T.address_of(x)``;
    and what operators of a device are given, ``T.ptx.ld(x, …)``, who may store to it."""
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr="source"):
            return [name]
        case ast.Call(func=ast.Attribute(attr=last) as func, args=args) if last == "address_of" or _is_nested(func):
            pass
        case ast.Call(func=ast.Subscript(), args=args):
            pass
        case _:
            return []
    return [name for a in [*args, *[k.value for k in node.keywords]] for name in _named(a)]


def _named(node: ast.expr) -> list[str]:
    """The names that an argument passes themselves, alone or in a list; not those that it computes with."""
    match node:
        case ast.Name(id=name):
            return [name]
        case ast.List(elts=elts) | ast.Tuple(elts=elts):
            return [name for e in elts for name in _named(e)]
        case ast.Starred(value=inner):
            return _named(inner)
    return []


def _is_nested(func: ast.Attribute) -> bool:
    """Whether a function is one of a namespace inside another one, ``T.ptx.ld`` or ``Tx.copy``, axes excepted."""
    match func.value:
        case ast.Attribute(attr=space):
            return space != "axis"
        case ast.Name(id=name):
            return name == "Tx"
    return isinstance(func.value, ast.Subscript)


def _targets(node: ast.stmt) -> list[ast.Name]:
    """The name that a statement itself assigns to."""
    match node:
        case ast.Assign(targets=[ast.Name() as target]) | ast.AugAssign(target=ast.Name() as target):
            return [target]
        case ast.AnnAssign(target=ast.Name() as target, annotation=annotation) if not _is_let(annotation):
            return [target]
    return []


def _is_let(annotation: ast.expr) -> bool:
    """Whether the annotation is ``T.let`` or ``T.let[…]``."""
    inner = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    return isinstance(inner, ast.Attribute) and inner.attr in ("let", "Let")


def _bodies(node: ast.stmt) -> list[list[ast.stmt]]:
    """The nested scopes of a statement."""
    return [inner for name in ("body", "orelse") if isinstance(inner := getattr(node, name, None), list)]


def _scopes(body: Sequence[ast.stmt]) -> Iterator[Sequence[ast.stmt]]:
    """The scope and all nested ones."""
    yield body
    for node in body:
        for inner in _bodies(node):
            yield from _scopes(inner)


def _all_targets(node: ast.stmt) -> Iterator[ast.Name]:
    """All names that a statement assigns to, nested scopes included."""
    yield from _targets(node)
    for inner in _bodies(node):
        for s in inner:
            yield from _all_targets(s)
