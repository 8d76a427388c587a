"""Random programs, larger than those that can be enumerated, and random applications of each rule to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from hypothesis import strategies as st

from tests.rules.building import function, load, store
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import INT32
from verified_tir.ir.expr import Binary, Call, Expr, FloatImm, IfThenElse, Select, StringImm, Undef, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.stmt import Allocate, Assume, DeclBuffer, Evaluate, For, If, LetStmt, Stmt, seq
from verified_tir.ir.sugar import binary, const

Draw: TypeAlias = Callable[[st.SearchStrategy[Any]], Any]


@dataclass
class Scope:
    """What a statement may use: integer variables, and buffers with their extents."""

    integers: list[Expr]
    buffers: list[Buffer]
    depth: int
    callees: bool = False
    """Whether there are opaque calls."""

    def with_integer(self, v: Expr) -> Scope:
        return replace(self, integers=[*self.integers, v], depth=self.depth - 1)

    def with_buffer(self, b: Buffer) -> Scope:
        return replace(self, buffers=[*self.buffers, b], depth=self.depth - 1)

    def inner(self) -> Scope:
        return replace(self, depth=self.depth - 1)


def one_of(draw: Draw, *options: Any) -> Any:
    """One of the options.

    :raises IRError: if there is none.
    """
    if not options:
        raise IRError("there is nothing to choose from")
    return draw(st.sampled_from(options))


def index(draw: Draw, scope: Scope, extent: int) -> Expr:
    """Affine with small coefficients, sometimes folded into the range, sometimes from memory."""
    total: Expr = const(draw(st.integers(0, extent - 1)))
    for v in scope.integers:
        if draw(st.booleans()):
            total = binary("add", total, one_of(draw, v, 2 * v, 0 - v))
    if draw(st.integers(0, 3)) == 0:
        total = total % extent
    memory = [b for b in scope.buffers if b.dtype.is_int and len(b.shape) == 1]
    if draw(st.integers(0, 9)) == 0 and memory:
        total = load(one_of(draw, *memory), draw(st.integers(0, 1))) % extent
    return total


def access(draw: Draw, scope: Scope, b: Buffer) -> tuple[Expr, ...]:
    return tuple(index(draw, scope, e.value) for e in b.shape)  # type: ignore[attr-defined]


def value(draw: Draw, scope: Scope, like: Buffer, depth: int = 2) -> Expr:
    """A value of the type of a buffer's elements."""
    dtype = like.dtype
    kind = draw(st.integers(0, 7 if depth else 2))
    same = [b for b in scope.buffers if b.dtype is dtype]
    if kind == 0:
        return FloatImm(dtype, one_of(draw, 0.0, -0.0, 1.0, 2.5)) if dtype.is_float else const(draw(st.integers(-2, 3)))
    if kind == 1 and dtype.is_int and scope.integers:
        return one_of(draw, *scope.integers)  # type: ignore[no-any-return]
    if kind <= 3:
        b = one_of(draw, *same)
        return load(b, *access(draw, scope, b))
    a, b = value(draw, scope, like, depth - 1), value(draw, scope, like, depth - 1)
    if kind == 4:
        return one_of(draw, Select, IfThenElse)(condition(draw, scope), a, b)  # type: ignore[no-any-return]
    if kind == 5 and draw(st.integers(0, 4)) == 0:
        return Undef(dtype)
    if kind == 6 and scope.callees:
        return Call(dtype, "call_extern", (StringImm("g"), *one_of(draw, (), (a,))))
    return Binary(one_of(draw, "add", "mul", "sub", "min", "max"), a, b)


def condition(draw: Draw, scope: Scope) -> Expr:
    """A comparison of integers or of elements."""
    if draw(st.booleans()):
        left = one_of(draw, *scope.integers, const(1))
        right = one_of(draw, *scope.integers, const(draw(st.integers(-1, 3))))
        return Binary(one_of(draw, "lt", "le", "eq", "ge"), left, right)
    b = one_of(draw, *scope.buffers)
    return Binary(one_of(draw, "lt", "eq", "ge"), value(draw, scope, b, 1), value(draw, scope, b, 0))


def bounds(draw: Draw, scope: Scope) -> tuple[Expr, Expr]:
    low = one_of(draw, const(0), const(0), const(1), *scope.integers)
    extent = one_of(draw, const(2), const(3), const(1), const(0), *scope.integers)
    return low, extent


def statement(draw: Draw, scope: Scope) -> Stmt:
    """A statement of at most the scope's depth."""
    kind = draw(st.integers(0, 9)) if scope.depth > 0 else 0
    if kind <= 1:
        b = one_of(draw, *scope.buffers)
        return store(b, value(draw, scope, b), *access(draw, scope, b))
    if kind <= 3:
        return seq(*[statement(draw, scope.inner()) for _ in range(draw(st.integers(2, 3)))])
    if kind <= 5:
        v = Var.fresh(one_of(draw, "i", "j"))
        return For(v, *bounds(draw, scope), statement(draw, scope.with_integer(v)))
    if kind == 6:
        other = statement(draw, scope.inner()) if draw(st.booleans()) else None
        return If(condition(draw, scope), statement(draw, scope.inner()), other)
    if kind == 7:
        b = one_of(draw, *scope.buffers)
        bound = value(draw, scope, b, 1)
        x = Var.fresh("x", bound.dtype)
        inner = scope.with_integer(x) if bound.dtype.is_int else scope.inner()
        return LetStmt(x, bound, statement(draw, inner))
    if kind == 8:
        t = Buffer.declare("t", (draw(st.integers(1, 4)),), one_of(draw, "int32", "float32"))
        return Allocate(t, statement(draw, scope.with_buffer(t)))
    if scope.callees:
        b = one_of(draw, *scope.buffers)
        given = one_of(draw, (), (value(draw, scope, b, 1),), (b.data,))
        return Evaluate(Call(INT32, "call_extern", (StringImm("g"), *given)))
    return Assume(condition(draw, scope))


@st.composite
def programs(draw: Draw, callees: bool = False) -> PrimFunc:
    """A function of three buffers and a size, sometimes with a second view of one of them.

    :param callees: whether some make opaque calls; who runs them has to say what these do (``testing.callees``).
    """
    x, y, z = (
        Buffer.declare("X", (6,), "int32"),
        Buffer.declare("Y", (2, 3), "int32"),
        Buffer.declare("Z", (5,), "float32"),
    )
    n = Var.fresh("n")
    scope = Scope([n], [x, y, z], draw(st.integers(2, 5)), callees and draw(st.integers(0, 4)) == 0)
    if draw(st.integers(0, 3)) == 0:
        view = Buffer.declare("V", (6,), "int32", data=y.data)
        return function([x, y, z, n], DeclBuffer(view, statement(draw, scope.with_buffer(view))))
    return function([x, y, z, n], statement(draw, scope))
