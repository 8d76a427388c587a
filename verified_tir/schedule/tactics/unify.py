"""A statement compared with a description, in step: what its symbols stand for, and which accesses correspond.

Loops correspond in the order in which they stand, operators with their operands in the order in which they are written.
An access of the description corresponds to any access of one buffer of the site; how their indices are related is left
to ``windows``.  The first difference is reported with both texts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType, PointerType
from verified_tir.ir.expr import Expr, IntImm, Load, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.stmt import For, Stmt, Store
from verified_tir.ir.visit import bound_vars, free_vars, substitute
from verified_tir.kernel.begin import scalars_of

Indices = tuple[Expr, ...]


class Mismatch(Exception):
    """The statement is not what is described; the message says where they differ first."""


@final
@dataclass(slots=True)
class Match:
    """What was found while comparing.

    ``values``: what scalars and symbols of the description stand for.  ``accesses``: for each of its buffers that of
    the site, with pairs of indices, the site's and the description's, both over the site's variables.  ``inner``: the
    variables that the site binds.
    """

    func: PrimFunc
    inner: frozenset[Var]
    values: dict[Var, Expr] = field(default_factory=dict)
    accesses: dict[Buffer, tuple[Buffer, list[tuple[Indices, Indices]]]] = field(default_factory=dict)
    bound: dict[Var, Expr] = field(default_factory=dict)


def unify(func: PrimFunc, description: Stmt, site: Stmt) -> Match:
    """Compare a site with the body of a description, both without labels.

    :raises Mismatch: where they differ first.
    """
    match = Match(func, frozenset(bound_vars(site)))
    _Unifier(match, frozenset(scalars_of(func))).stmt(description, site)
    return match


def first_line(node: object) -> str:
    """A node as text, as far as it is shown in a message."""
    from verified_tir.ir.script import script

    if isinstance(node, (Stmt, Expr)):
        lines = script(node).strip().splitlines()
        return lines[0].strip() if lines else "nothing"
    return repr(node)


@final
class _Unifier:
    def __init__(self, match: Match, scalars: frozenset[Var]) -> None:
        self.match = match
        self.scalars = scalars

    def differ(self, wanted: object, found: object) -> Mismatch:
        return Mismatch(f"{self.match.func.name} has {first_line(wanted)!r} where the site has {first_line(found)!r}")

    def stmt(self, a: Stmt, b: Stmt) -> None:
        if type(a) is not type(b):
            raise self.differ(a, b)
        match a, b:
            case For(), For():
                for x, y in ((a.min, b.min), (a.extent, b.extent)):
                    if isinstance(x, IntImm) and x is not y:
                        raise self.differ(a, b)
                    self.value(x, y, a, b)
                if (a.kind, a.thread) != (b.kind, b.thread) or a.var.dtype is not b.var.dtype:
                    raise self.differ(a, b)
                self.match.bound[a.var] = b.var
                self.stmt(a.body, b.body)
            case Store(), Store():
                self.access(a, b)
                self.value(a.value, b.value, a, b)
            case _:
                self.fields(a, b)

    def fields(self, a: Node, b: Node) -> None:
        for name in a.__match_args__:
            self.value(getattr(a, name), getattr(b, name), a, b)

    def value(self, x: object, y: object, a: Node, b: Node) -> None:
        """:param a: the node around ``x``, and ``b`` around ``y``: they are shown if the values differ."""
        match x, y:
            case Stmt(), Stmt():
                self.stmt(x, y)
            case Var(), Expr() if x in self.scalars:
                self.scalar(x, y, a, b)
            case Var(), Var():
                self.variable(x, y, a, b)
            case (DType(), _) | (PointerType(), _):
                if x is not y:
                    raise self.differ(a, b)
            case Load(), Load():
                self.access(x, y)
            case Buffer(), Buffer():
                self.local(x, y, a, b)
            case Node(), Node():
                if type(x) is not type(y):
                    raise self.differ(a, b)
                self.fields(x, y)
            case tuple(), tuple():
                if len(x) != len(y):
                    raise self.differ(a, b)
                for u, v in zip(x, y, strict=True):
                    self.value(u, v, a, b)
            case float(), float():
                if float.hex(x) != float.hex(y):
                    raise self.differ(a, b)
            case _:
                if type(x) is not type(y) or x != y:
                    raise self.differ(a, b)

    def scalar(self, x: Var, y: Expr, a: Node, b: Node) -> None:
        known = self.match.values.setdefault(x, y)
        if known is not y:
            raise Mismatch(f"{x.name} of {self.match.func.name} is {first_line(known)!r}, and then {first_line(y)!r}")
        if y.dtype is not x.dtype:
            raise self.differ(a, b)
        if any(v in self.match.inner for v in free_vars(y)):
            raise Mismatch(
                f"{x.name} of {self.match.func.name} would be {first_line(y)!r}, which changes inside the nest"
            )

    def variable(self, x: Var, y: Var, a: Node, b: Node) -> None:
        known = self.match.bound.setdefault(x, y) if x.dtype is y.dtype and y in self.match.inner else None
        if known is not y:
            raise self.differ(a, b)

    def local(self, x: Buffer, y: Buffer, a: Node, b: Node) -> None:
        """Buffers that both sides allocate."""
        if x in self.match.func.buffers or y.data not in self.match.inner:
            raise self.differ(a, b)
        self.variable(x.data, y.data, a, b)
        for name in ("dtype", "shape", "strides", "elem_offset", "scope", "axis_separators"):
            self.value(getattr(x, name), getattr(y, name), a, b)

    def access(self, a: Load | Store, b: Load | Store) -> None:
        p, buffer = a.buffer, b.buffer
        if p not in self.match.func.buffers:
            self.local(p, buffer, a, b)
            self.value(a.indices, b.indices, a, b)
        else:
            self.parameter(a, b)
        self.value(a.predicate, b.predicate, a, b)

    def parameter(self, a: Load | Store, b: Load | Store) -> None:
        p, buffer, name = a.buffer, b.buffer, self.match.func.name
        if p.dtype is not buffer.dtype:
            raise Mismatch(f"{p.name} of {name} holds {p.dtype}, and {buffer.name} holds {buffer.dtype}")
        if p.scope != buffer.scope:
            raise Mismatch(f"{p.name} of {name} lives in scope {p.scope!r}, and {buffer.name} in {buffer.scope!r}")
        known, pairs = self.match.accesses.setdefault(p, (buffer, []))
        if known is not buffer:
            raise Mismatch(f"{p.name} of {name} is {known.name}, and then {buffer.name} ({first_line(b)!r})")
        if buffer.data in self.match.inner:
            raise Mismatch(f"{buffer.name} is allocated inside the nest, and {name} takes it as {p.name}")
        wanted = tuple([substitute(e, self.match.bound | self.match.values) for e in a.indices])
        pairs.append((b.indices, wanted))
