"""Blocks as they stand: iteration variables, predicate, domain, init, and buffers of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.semantics.programs import arrays_of, function, load, loop, store
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import TRUE, Binary, Expr, Var
from verified_tir.ir.stmt import Block, IterKind, IterVar, Stmt, seq
from verified_tir.ir.sugar import const
from verified_tir.semantics.interpreter import UndefinedBehaviour, run

A, B = Buffer.declare("A", (4, 3), "int32"), Buffer.declare("B", (4,), "int32")
i, j, k = Var.fresh("i"), Var.fresh("j"), Var.fresh("k")


def axis(var: Var, extent: int, kind: IterKind, value: Expr, start: int = 0) -> IterVar:
    return IterVar(var, const(start), const(extent), kind, value)


def block(
    axes: list[IterVar],
    body: Stmt,
    predicate: Expr = TRUE,
    init: Stmt | None = None,
    own: tuple[Buffer, ...] = (),
) -> Block:
    return Block("b", tuple(axes), predicate, None, None, init, body, own)


def execute(body: Stmt) -> list[Any]:
    a = np.arange(12, dtype=np.int32).reshape(4, 3)
    return arrays_of(run(function([A, B], body), {"A": a, "B": np.full(4, 100, np.int32)}), "B")


def test_init_runs_where_all_reductions_start() -> None:
    vi, vk = Var.fresh("vi"), Var.fresh("vk")
    add = store(B, load(B, vi) + load(A, vi, vk), vi)
    both = [axis(vi, 4, "spatial", i), axis(vk, 3, "reduce", k)]
    assert execute(loop(i, 4, loop(k, 3, block(both, add, init=store(B, 0, vi))))) == [3, 12, 21, 30]
    assert execute(loop(i, 4, loop(k, 3, block(both, add)))) == [103, 112, 121, 130]
    later = [axis(vi, 4, "spatial", i), axis(vk, 2, "reduce", k + 1, start=1)]  # the domain starts at 1
    assert execute(loop(i, 4, loop(k, 2, block(later, add, init=store(B, 0, vi))))) == [3, 9, 15, 21]
    backwards = [axis(vi, 4, "spatial", i), axis(vk, 3, "reduce", 2 - k)]  # init comes last, and forgets the sum
    assert execute(loop(i, 4, loop(k, 3, block(backwards, add, init=store(B, 0, vi))))) == [0, 3, 6, 9]


def test_without_reductions_init_runs_each_time() -> None:
    vi = Var.fresh("vi")
    body = block([axis(vi, 4, "spatial", i)], store(B, load(B, vi) + 1, vi), init=store(B, 5, vi))
    assert execute(loop(j, 2, loop(i, 4, body))) == [6, 6, 6, 6]


def test_a_false_predicate_does_nothing_not_even_leave_the_domain() -> None:
    vi = Var.fresh("vi")
    split = [axis(vi, 4, "spatial", i * 3 + j)]
    guard = Binary("lt", i * 3 + j, const(4))
    assert execute(loop(i, 2, loop(j, 3, block(split, store(B, vi, vi), guard)))) == [0, 1, 2, 3]
    inside = Binary("lt", vi, const(4))  # a predicate may speak of the iteration variables
    assert execute(loop(i, 2, loop(j, 3, block(split, store(B, vi, vi), inside)))) == [0, 1, 2, 3]
    with pytest.raises(UndefinedBehaviour) as caught:
        execute(loop(i, 2, loop(j, 3, block(split, store(B, 0, 0)))))
    end = caught.value
    assert (end.kind, end.place, end.iteration) == ("block-domain", (0, 0), {"i": 1, "j": 1})
    assert "vi = 4 in block b is outside [0, 4)" in str(end)


def test_iteration_variables_are_index_arithmetic_or_data() -> None:
    """As are lets: what they are bound to decides, which is what a block's expansion puts in their place."""
    vi = Var.fresh("vi")
    with pytest.raises(UndefinedBehaviour) as caught:
        execute(loop(i, 2, block([axis(vi, 4, "spatial", i)], store(B, (vi + (2**31 - 2)) + 1, 0))))
    assert caught.value.kind == "index-overflow"
    data = axis(vi, 4, "spatial", load(A, 0, 1))
    assert execute(block([data], store(B, (vi + (2**31 - 2)) + 1, 0)))[0] == -(2**31)


def test_own_buffers_are_fresh_in_each_instance() -> None:
    vi = Var.fresh("vi")
    t = Buffer.declare("t", (1,), "int32")
    body = seq(store(B, load(t, 0), vi), store(t, vi, 0))
    assert execute(loop(i, 4, block([axis(vi, 4, "spatial", i)], body, own=(t,)))) == [None] * 4
    init = store(t, 7, 0)
    assert execute(loop(i, 4, block([axis(vi, 4, "spatial", i)], body, init=init, own=(t,)))) == [7] * 4


def test_places_count_init_before_the_body() -> None:
    vi = Var.fresh("vi")
    wrong = store(B, 0, 9)
    right = store(B, 0, 0)
    for init, body, place in ((wrong, right, (0,)), (right, wrong, (1,)), (None, wrong, (0,))):
        with pytest.raises(UndefinedBehaviour) as caught:
            execute(block([axis(vi, 4, "spatial", const(0))], body, init=init))
        assert caught.value.place == place


def test_labels_and_attributes_do_nothing() -> None:
    from verified_tir.ir.stmt import AttrStmt

    inner = Block.label("inner", store(B, 1, 0))
    assert execute(AttrStmt("pragma", "x", load(A, 99, 99), inner)) == [1, 100, 100, 100]
