"""Well-formedness: what is bound, what is needed, and that a program is looked at where it changed only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import HANDLE, DType
from verified_tir.ir.expr import LetExpr, Load, Undef, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.misplaced import misplaced
from verified_tir.ir.paths import put
from verified_tir.ir.stmt import SKIP, Allocate, AttrStmt, DeclBuffer, For, LetStmt, Stmt, Store, seq
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import nodes_of, walk
from verified_tir.ir.wellformed import problem

A = Buffer.declare("A", (16,), "int32")
T = Buffer.declare("t", (16,), "int32")
VIEW = replace(A, name="V")
X, Y, P = Var.fresh("x"), Var.fresh("y"), Var.fresh("p", HANDLE)
LET = LetExpr(X, const(1), X + 1)
SIZED = replace(A, name="W", shape=(LET,))


def function(*stmts: Stmt) -> PrimFunc:
    handle = Var.fresh("A_handle", DType.parse("handle"))
    return PrimFunc("f", (handle,), ((handle, A),), seq(*stmts))


def put_in(index: object, value: object = 0) -> Stmt:
    return Store(A, value if isinstance(value, LetExpr) else const(0), (index,))  # type: ignore[arg-type]


def loop(var: Var, body: Stmt) -> Stmt:
    return For(var, const(0), const(4), body)


@pytest.mark.parametrize(
    "stmts",
    [
        (loop(X, put_in(X)), loop(Y, put_in(Y))),
        (put_in(const(0), LET), put_in(const(1), LET)),  # it is one object, and binds once
        (LetStmt(X, const(2), put_in(X)),),
        (Allocate(T, Store(T, const(1), (const(0),))),),
        (DeclBuffer(VIEW, Store(VIEW, const(1), (const(0),))), DeclBuffer(VIEW, SKIP)),
        (DeclBuffer(SIZED, Store(SIZED, const(1), (const(0),))),),
    ],
)
def test_it_is_a_program(stmts: tuple[Stmt, ...]) -> None:
    assert problem(function(*stmts)) is None


@pytest.mark.parametrize(
    ("stmts", "why"),
    [
        ((loop(X, put_in(X)), loop(X, put_in(X + 1))), "x is bound twice"),
        ((loop(X, loop(X, put_in(X))),), "x is bound twice"),
        ((loop(X, put_in(X)), put_in(X)), "variable x is not in scope here"),
        ((put_in(X), loop(X, put_in(X))), "variable x is not in scope here"),
        ((For(X, const(0), X, SKIP),), "variable x is not in scope here"),
        ((LetStmt(X, X, SKIP),), "variable x is not in scope here"),
        ((put_in(X, LET),), "variable x is not in scope here"),
        ((loop(X, put_in(const(0), LET)),), "x is bound twice"),
        ((put_in(const(0), LET), put_in(const(0), LetExpr(X, const(1), X + 2))), "x is bound twice"),
        ((Store(T, const(1), (const(0),)),), "buffer t is not declared here"),
        ((Allocate(T, SKIP), Store(T, const(1), (const(0),))), "buffer t is not declared here"),
        ((Allocate(T, SKIP), Allocate(T, SKIP)), "t is bound twice"),
        ((Allocate(A, SKIP),), "A is bound twice"),
        ((Store(VIEW, const(1), (const(0),)),), "buffer V is not declared here"),
        ((Store(SIZED, const(1), (const(0),)),), "buffer W is not declared here"),
    ],
)
def test_it_is_no_program(stmts: tuple[Stmt, ...], why: str) -> None:
    assert problem(function(*stmts)) == why


@pytest.mark.parametrize(
    ("bind", "words"),
    [
        (lambda body: LetStmt(P, Undef(HANDLE), body), "v is declared over p, which is not a block here"),
        (lambda body: body, "v is declared over p, which is not a block here"),
        (lambda body: Allocate(T, body), None),
    ],
)
@pytest.mark.parametrize("outside", [False, True])
def test_views_lie_in_a_buffers_memory(bind: Callable[[Stmt], Stmt], words: str | None, *, outside: bool) -> None:
    """Wherever the view is used; and what is bound elsewhere is not in scope here."""
    view = Buffer.declare("v", (4,), "int32", data=T.data if words is None else P)
    declared = DeclBuffer(view, SKIP if outside else Store(view, const(1), (const(0),)))
    found = problem(function(bind(declared)))
    assert found is None if words is None else found is not None and words in found
    assert problem(function(bind(SKIP), declared)) is not None


def test_extents_read_no_memory() -> None:
    """Those of a parameter neither, nor where the buffer is not used."""
    handles = Var.fresh("A", HANDLE), Var.fresh("B", HANDLE)
    b = Buffer.declare("B", (Load(A, (const(0),)),), "int32")
    found = problem(PrimFunc("f", handles, ((handles[0], A), (handles[1], b)), SKIP))
    assert found == "an extent of B reads memory; it must be bound by a let first"
    assert problem(function(Allocate(replace(b, data=Var.fresh("u", HANDLE)), SKIP))) == found


def test_what_did_not_change_is_fine_only_where_it_fits() -> None:
    """A statement that was looked at is taken as known, with what it needs and binds."""
    inner = loop(X, put_in(X + Y))
    whole = function(loop(Y, inner))
    assert problem(whole) is None
    assert problem(whole.with_body(inner)) == "variable y is not in scope here"
    assert problem(whole.with_body(seq(whole.body, inner))) == "variable y is not in scope here"
    assert problem(whole.with_body(LetStmt(X, const(1), whole.body))) == "x is bound twice"
    assert problem(whole.with_body(put(whole.body, (0,), put_in(Y)))) is None


def test_a_walk_gives_each_node_once_parents_first() -> None:
    shared = X + 1
    f = function(loop(X, seq(put_in(shared), put_in(shared + shared), Store(A, shared, (X,)))), put_in(shared))
    found = list(walk(f))
    assert len(found) == len(set(found))
    assert found[0] is f
    for kind in {*map(type, found), LetExpr}:
        assert list(nodes_of(f, kind)) == [n for n in found if type(n) is kind]
    position = {n: k for k, n in enumerate(found)}
    first = found.index(put_in(shared))
    assert position[A] < first < position[shared] < found.index(put_in(shared + shared))


def test_an_extent_that_only_an_attribute_mentions() -> None:
    """What an attribute is about need not be declared; then the violation stands at no place of its own."""
    read = Load(replace(A, name="V", shape=(Load(A, (const(0),)),)), (const(0),))
    whole = function(AttrStmt("key", read, const(0), put_in(const(1))))
    assert misplaced(whole) == ((), "an extent of V reads memory; it must be bound by a let first")
