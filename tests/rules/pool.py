"""The words of the grammars: three buffers, a size, and small statements over a loop variable.

``X`` and ``Y`` hold integers (six and four elements), ``F`` and ``G`` floats, ``n`` is a size.  Each function makes a
new statement: variables are bound once in a program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tests.rules.building import function, load, store
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Binary, Broadcast, Expr, IfThenElse, Ramp, Select, Undef, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import (
    Allocate,
    Assert,
    Assume,
    DeclBuffer,
    For,
    If,
    LetStmt,
    Stmt,
    Store,
    While,
    seq,
)
from verified_tir.ir.sugar import binary, const

X = Buffer.declare("X", (6,), "int32")
Y = Buffer.declare("Y", (4,), "int32")
F = Buffer.declare("F", (4,), "float32")
G = Buffer.declare("G", (4,), "float32")
n = Var.fresh("n")

Word: TypeAlias = Callable[[Expr], Stmt]
"""A statement that may use the value of a loop variable (a constant, where there is no loop)."""


def integers(body: Stmt) -> PrimFunc:
    """A function of X, Y and n."""
    return function([X, Y, n], body)


def floats(body: Stmt) -> PrimFunc:
    """A function of F and G."""
    return function([F, G], body)


def loop(extent: Expr | int, body: Callable[[Var], Stmt], low: Expr | int = 0, name: str = "i") -> For:
    """``for name in [low, low + extent)``, with a new variable."""
    v = Var.fresh(name)
    return For(v, const(low), const(extent), body(v))


def local(body: Callable[[Buffer], Stmt], extent: Expr | int = 2, dtype: str = "int32") -> Allocate:
    """A new buffer ``t`` around the body."""
    t = Buffer.declare("t", (extent,), dtype)
    return Allocate(t, body(t))


def let(value: Expr, body: Callable[[Var], Stmt]) -> LetStmt:
    """A new name for a value."""
    v = Var.fresh("v", value.dtype)
    return LetStmt(v, value, body(v))


def view(body: Callable[[Buffer], Stmt], of: Buffer = X, shape: tuple[int, ...] = (2, 3), start: int = 0) -> DeclBuffer:
    """Another view of a block."""
    v = Buffer.declare("V", shape, of.dtype, data=of.data, elem_offset=start)
    return DeclBuffer(v, body(v))


def plus(a: Expr, b: Expr | int) -> Expr:
    return binary("add", a, b)


STORES: tuple[Word, ...] = (
    lambda i: store(X, 7, 0),
    lambda i: store(X, i, 0),
    lambda i: store(X, i, i),
    lambda i: store(X, 7, i),
    lambda i: store(X, 7, plus(i, 1)),
    lambda i: store(X, load(X, i) + 1, i),
    lambda i: store(X, load(X, plus(i, 1)), i),
    lambda i: store(X, load(X, i), plus(i, 1)),
    lambda i: store(X, load(X, i), i),
    lambda i: store(X, load(Y, i), i),
    lambda i: store(Y, load(X, i), i),
    lambda i: store(Y, load(X, 0), i),
    lambda i: store(Y, i, 2 - i),
    lambda i: store(X, i, 2 * i),
    lambda i: store(X, load(X, 2 * i), i),
    lambda i: store(X, load(X, 0) + load(Y, i), 0),
    lambda i: store(X, Undef(X.dtype), i),
)
"""Single stores."""

INDIRECT: tuple[Word, ...] = (
    lambda i: store(X, 5, load(Y, i)),
    lambda i: store(Y, load(X, load(Y, i)), i),
    lambda i: store(X, i, load(X, i) % 3),
    lambda i: let(load(X, i), lambda v: store(Y, v, i)),
    lambda i: let(load(X, 0), lambda v: seq(store(X, i, 0), store(Y, v, i))),
    lambda i: store(X, IfThenElse(load(X, i) > 0, load(Y, i), const(0)), i),
    lambda i: store(Y, Select(load(X, i) > 0, load(Y, 0), load(X, 1)), i),
    lambda i: let(load(Y, i), lambda v: store(X, v, v)),
)
"""Stores where memory says."""

GUARDED: tuple[Word, ...] = (
    lambda i: If(binary("lt", i, 1), store(X, 9, i)),
    lambda i: If(binary("lt", i, 1), store(X, 9, i), store(Y, 8, i)),
    lambda i: If(load(X, 0) > 0, store(X, 0, 0)),
    lambda i: If(load(X, i) > 0, store(X, 0, i)),
    lambda i: If(load(X, i) > 0, store(Y, 1, i)),
    lambda i: If(load(Y, i) > 1, store(X, load(Y, i), i)),
    lambda i: If(load(Y, 0).equal(0), store(X, 3, i), store(X, 4, i)),
    lambda i: If(binary("lt", i, n), store(X, 9, i)),
    lambda i: If(Binary("and", binary("lt", i, 2), load(X, i) > 0), store(Y, 1, i)),
)
"""Conditional stores."""

NESTED: tuple[Word, ...] = (
    lambda i: loop(2, lambda j: store(X, 6, plus(i, j)), name="j"),
    lambda i: loop(i, lambda j: store(X, i, j), name="j"),
    lambda i: loop(n, lambda j: store(X, load(X, j) + 1, j), name="j"),
    lambda i: loop(load(Y, 0), lambda j: store(X, 6, j), name="j"),
    lambda i: loop(load(X, 0), lambda j: store(X, 6, j), name="j"),
    lambda i: loop(2, lambda j: store(Y, load(X, plus(i, j)), j), name="j"),
    lambda i: local(lambda t: seq(store(t, load(X, i), 0), store(Y, load(t, 0), i))),
    lambda i: local(lambda t: seq(store(t, i, 0), If(load(t, 0).equal(i), store(X, i, 0)))),
    lambda i: local(lambda t: store(Y, load(t, 0), i)),
    lambda i: While(load(X, 0) > 1, store(X, load(X, 0) - 1, 0)),
    lambda i: view(lambda v: store(v, 4, 0, i)),
    lambda i: view(lambda v: store(Y, load(v, 1, i), i)),
    lambda i: view(lambda v: store(v, load(v, 0, i), 1, i)),
    lambda i: view(lambda v: store(v, 3, i), shape=(5,), start=1),
    lambda i: view(lambda v: store(Y, load(v, i), i), shape=(4,), start=2),
)
"""Loops, local buffers, views."""

CLAIMS: tuple[Word, ...] = (
    lambda i: Assume(load(X, i) >= 0),
    lambda i: Assume(load(Y, 0) > 0),
    lambda i: Assert(load(X, 0) < 3, "small"),
    lambda i: Assert(binary("lt", i, n), "within"),
    lambda i: Assume(binary("eq", load(X, i), Undef(X.dtype))),
)
"""Assumptions and assertions."""

VECTORS: tuple[Word, ...] = (
    lambda i: store(X, Broadcast(const(3), 2), Ramp(plus(i, 0), const(1), 2)),
    lambda i: store(X, load(X, Ramp(plus(i, 1), const(1), 2)), Ramp(plus(i, 0), const(1), 2)),
    lambda i: store(X, Ramp(plus(i, 0), const(0), 2), Ramp(const(0), const(2), 2)),
    lambda i: store(X, Ramp(plus(i, 0), const(1), 2), Ramp(const(1), const(0), 2)),
)
"""Vector stores, one of them to one element twice."""

WORDS: tuple[Word, ...] = (*STORES, *INDIRECT, *GUARDED, *NESTED, *CLAIMS, *VECTORS)

Z = const(0)
EXTENTS: tuple[Callable[[], tuple[Expr, Expr]], ...] = tuple(
    lambda low=low, extent=extent: (const(low), const(extent))  # type: ignore[misc]
    for low, extent in (
        (0, 3),
        (0, n),
        (1, 2),
        (0, 1),
        (0, 0),
        (0, -1),
        (n, 1),
        (0, load(Y, 0)),
        (0, load(X, 0)),
        (load(X, 0), 1),
        (load(Y, 0), 2),
    )
)
"""Bounds of loops: start and extent; some empty, some negative, some read from memory."""


def words_in_order(words: tuple[Word, ...], i: Expr) -> Store | Stmt:
    """The statements one after the other."""
    return seq(*[w(i) for w in words])
