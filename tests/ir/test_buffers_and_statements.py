"""What buffers and statements are made of: each part of each condition on its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import BOOL, FLOAT32, HANDLE, INT32, INT64, DType, PointerType
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.expr import FALSE, TRUE, Broadcast, Call, LetExpr, Undef, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.index_arith import is_index
from verified_tir.ir.node import IRError, Node
from verified_tir.ir.stmt import (
    SKIP,
    Allocate,
    Assert,
    Assume,
    AttrStmt,
    Block,
    DeclBuffer,
    For,
    If,
    IterVar,
    LetStmt,
    Stmt,
    Store,
    While,
    seq,
)
from verified_tir.ir.sugar import const
from verified_tir.ir.wellformed import problem

A = Buffer.declare("A", (4, 4), "int32")
N, X = Var.fresh("n"), Var.fresh("x")
ZERO, VECTOR, REAL = const(0), Broadcast(const(1), 2), const(1.0, "float32")
ROW = Buffer.declare("R", (4,), "int32")


@pytest.mark.parametrize("wrong", [VECTOR, REAL])
def test_shapes_strides_and_offsets_are_scalar_integers(wrong: Node) -> None:
    four = const(4)
    for parts in ({"shape": (four, wrong)}, {"strides": (four, wrong)}, {"elem_offset": wrong}):
        with pytest.raises(IRError, match="are scalar integers"):
            replace(A, **parts)  # type: ignore[arg-type]
    assert replace(A, strides=(const(8), const(1))).strides


def test_the_data_variable_of_a_buffer_is_no_number() -> None:
    """An extent of its own shape, it was: then a map could mention it, and with it what is read there."""
    with pytest.raises(IRError, match="the data variable of A is a pointer, not of type int32"):
        replace(A, data=N, shape=(N,))
    assert replace(A, data=Var.fresh("p", HANDLE), shape=(N,)).shape == (N,)


def test_a_buffer_has_a_stride_for_each_dimension_or_none() -> None:
    for strides in ((const(1),), (const(1),) * 3):
        with pytest.raises(IRError, match=f"2 dimensions and {len(strides)} strides"):
            replace(A, strides=strides)


def test_no_extent_is_negative() -> None:
    for shape in ((const(-1), const(4)), (const(4), const(-1))):
        with pytest.raises(IRError, match="negative extent -1"):
            replace(A, shape=shape)

    assert replace(A, shape=(const(0), const(4))).shape[0] is const(0)


def test_separators_ascend_between_the_axes() -> None:
    for separators in ((-1,), (3,), (2, 1)):
        with pytest.raises(IRError, match="must ascend"):
            replace(A, axis_separators=separators)
    assert replace(A, axis_separators=(0, 1, 2)).axis_separators == (0, 1, 2)


def test_a_fresh_buffer_begins_where_its_block_does() -> None:
    b = Buffer.fresh("t", INT32, (const(4),), "local")
    assert b.elem_offset is const(0) and not b.strides and b.scope == "local"


@pytest.mark.parametrize(
    "make",
    [
        lambda c: If(c, SKIP),
        lambda c: While(c, SKIP),
        Assume,
        lambda c: Assert(c, ""),
        lambda c: Block("b", (), c, None, None, None, SKIP),
    ],
)
def test_conditions_are_scalar_bools(make: Callable[[Node], Stmt]) -> None:
    for wrong in (const(1), Undef(BOOL.with_lanes(2))):
        with pytest.raises(IRError, match="takes a scalar bool"):
            make(wrong)
    make(TRUE)


def test_a_loop_counts_in_one_type_of_scalar_integers() -> None:
    wide, four = Var.fresh("w", INT64), const(4)
    for var, low, extent in (
        (wide, ZERO, four), (X, const(0, "int64"), four), (X, ZERO, const(4, "int64")),
        (Var.fresh("r", FLOAT32), REAL, REAL), (Var.fresh("v", INT32.with_lanes(2)), VECTOR, VECTOR),
    ):  # fmt: skip
        with pytest.raises(IRError, match="all are of one scalar integer type"):
            For(var, low, extent, SKIP)
    for kind, thread in (("thread_binding", ""), ("serial", "threadIdx.x")):
        with pytest.raises(IRError, match="names its thread"):
            For(X, ZERO, four, SKIP, kind, thread)  # type: ignore[arg-type]
    with pytest.raises(IRError, match="has type int32, its value int64"):
        LetStmt(X, const(0, "int64"), SKIP)


def test_a_label_is_a_block_of_nothing_but_a_name() -> None:
    label = Block.label("b", SKIP)
    assert label.is_label
    for change in (
        {"iter_vars": BLOCK.iter_vars}, {"predicate": FALSE}, {"init": SKIP}, {"alloc_buffers": (LOCAL,)},
        {"reads": ()}, {"writes": ()},
    ):  # fmt: skip
        assert not replace(label, **change).is_label  # type: ignore[arg-type]


def test_what_is_counted_in_a_word_of_any_width_has_the_width_that_is_stated() -> None:
    wide = Var.fresh("w", INT64)
    assert Call(INT32, "clz", (wide,)).dtype is INT32
    for wrong in (FLOAT32, INT32.with_lanes(2), BOOL):
        with pytest.raises(IRError, match="clz of int64 does not give"):
            Call(wrong, "clz", (wide,))


def test_a_comparison_of_indices_is_index_arithmetic() -> None:
    assert is_index(X < 4) and (X < 4).dtype is BOOL and is_index(X + 1, [N]) and not is_index(X + 1, [X])
    assert not is_index(Undef(BOOL)) and not is_index(Undef(INT32))
    assert is_index(Var.fresh("p", BOOL)) and not is_index(REAL < 2.0)


# -- equality ----------------------------------------------------------------------------------------------------------


def test_names_of_buffers_and_blocks_do_not_matter() -> None:
    store = Store(ROW, const(1), (const(0),))
    other = Store(replace(ROW, name="S"), const(1), (const(0),))
    assert structural_equal(store, other)
    assert structural_equal(Block.label("a", store), Block.label("b", other))


def test_of_a_pointer_the_scope_matters_and_not_the_type() -> None:
    def local(kind: DType, scope: str) -> Stmt:
        return Allocate(replace(ROW, data=Var.fresh("t", PointerType(kind, scope))), SKIP)

    assert structural_equal(local(INT32, "local"), local(FLOAT32, "local"))
    assert not structural_equal(local(INT32, "local"), local(INT32, "shared"))


# -- well-formedness ---------------------------------------------------------------------------------------------------


def function(body: Stmt, *more: tuple[Var, Buffer]) -> PrimFunc:
    handle = Var.fresh("h", HANDLE)
    return PrimFunc("f", (handle, *[p for p, _ in more]), ((handle, ROW), *more), body)


def use(index: Node = ZERO, buffer: Buffer = ROW) -> Stmt:
    return Store(buffer, const(1), (index,))  # type: ignore[arg-type]


LOCAL = Buffer.declare("t", (4,), "int32")
VIEW = replace(LOCAL, name="v")
BLOCK = Block("b", (IterVar(X, const(0), const(4), "spatial", N),), TRUE, None, None, None, use(X), (LOCAL,))


def test_each_parameter_that_is_a_buffer_is_a_handle() -> None:
    other = Buffer.declare("B", (4,), "int32")
    assert problem(function(SKIP, (Var.fresh("p", HANDLE), other))) is None
    found = problem(function(SKIP, (Var.fresh("p", INT64), other)))
    assert found == "p of type int64 cannot be the buffer B; it takes a handle"


def test_a_parameter_is_there_once_and_stands_for_one_block() -> None:
    """Two parameters over one block would be apart in no call."""
    p, other = Var.fresh("p", HANDLE), Buffer.declare("B", (4,), "int32")
    assert problem(function(SKIP, (p, other))) is None
    assert problem(function(SKIP, (p, replace(other, data=ROW.data)))) == "R is bound twice"
    for entries in (((p, other),), ((p, other), (p, replace(other, name="C")))):
        params = (p, p) if len(entries) == 1 else (p,)
        assert problem(PrimFunc("f", params, entries, SKIP)) is not None
    assert problem(PrimFunc("f", (N, N), (), SKIP)) == "n is bound twice"
    assert problem(PrimFunc("f", (N,), (), For(N, ZERO, const(4), SKIP))) == "n is bound twice"
    assert problem(PrimFunc("f", (N,), ((p, other),), SKIP)) == (
        "a buffer stands for no parameter, or two of them for one"
    )


def test_extents_call_nothing_that_may_read() -> None:
    for op, pure in (("abs", True), ("call_extern", False)):
        sized = Buffer.declare("u", (Call(INT32, op, (N,)),), "int32")
        found = problem(function(LetStmt(N, const(4), Allocate(sized, SKIP))))
        assert found == (None if pure else "an extent of u reads memory; it must be bound by a let first")


def test_every_view_lies_in_a_blocks_memory() -> None:
    lost = Buffer.declare("w", (4,), "int32", data=Var.fresh("p", HANDLE))
    assert problem(function(Allocate(LOCAL, DeclBuffer(VIEW, use(buffer=VIEW))))) is None
    found = problem(function(Allocate(LOCAL, seq(DeclBuffer(VIEW, SKIP), DeclBuffer(lost, SKIP)))))
    assert found == "w is declared over p, which is not a block here"
    inside = replace(BLOCK, body=DeclBuffer(VIEW, seq(use(X, VIEW), use(X, LOCAL))))
    assert problem(function(LetStmt(N, const(0), inside))) is None
    assert problem(function(seq(DeclBuffer(VIEW, SKIP), Allocate(LOCAL, SKIP)))) == "variable t is not in scope here"
    assert problem(function(DeclBuffer(VIEW, Allocate(LOCAL, SKIP)))) == "variable t is not in scope here"


def test_what_a_shape_binds_is_bound_once() -> None:
    sized = (Var.fresh("p", HANDLE), Buffer.declare("B", (N,), "int32"))
    assert problem(function(use(N), sized)) is None
    assert problem(function(For(N, const(0), const(4), SKIP), sized)) == "n is bound twice"


def test_what_a_binder_evaluates_is_outside_of_it() -> None:
    own = replace(BLOCK, iter_vars=(IterVar(X, const(0), const(4), "spatial", X),))
    assert problem(function(LetStmt(N, const(0), BLOCK))) is None
    assert problem(function(BLOCK)) == "variable n is not in scope here"
    assert problem(function(own)) == "variable x is not in scope here"
    assert problem(function(use(LetExpr(X, const(1), X)))) is None
    assert problem(function(use(LetExpr(X, const(1), X) + 1))) is None
    assert problem(function(use(LetExpr(X, X, X)))) == "variable x is not in scope here"


def test_an_attribute_may_be_about_what_stands_further_inside() -> None:
    loop = For(X, const(0), const(4), use(X))
    assert problem(function(AttrStmt("key", X, const(1), loop))) is None
    assert problem(function(AttrStmt("key", X, X, loop))) == "variable x is not in scope here"
    assert problem(function(AttrStmt("key", X, const(1), use(X)))) == "variable x is not in scope here"
