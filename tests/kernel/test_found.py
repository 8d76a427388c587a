"""Wrong acceptances that reading and enumeration found in the kernel; each must stay refused.

Beside most of them stands a neighbour that is right and must be accepted.
"""

from __future__ import annotations

from tests.kernel.programs import accepted, buffer, function, load, program, refused, store
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import INT64
from verified_tir.ir.expr import Binary, Broadcast, Call, Expr, IfThenElse, LetExpr, Ramp, Shuffle, Var, binary, const
from verified_tir.ir.stmt import SKIP, Allocate, For, LetStmt, Store, seq
from verified_tir.kernel.rules.bind import Bind
from verified_tir.kernel.rules.branch import Introduce
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.reindex import NewLoop, Reindex
from verified_tir.kernel.rules.rewrite import Rewrite
from verified_tir.kernel.rules.unit import WrapUnit

# ------------------------------------------------------------------------------------ scopes, binders, declarations


def test_a_view_that_is_not_declared() -> None:
    f = program("B[0] = A[1, 0]", 'A: T.Buffer((2, 3), "int32"), B: T.Buffer((4,), "int32")')
    view = Buffer.declare("V", (3, 2), "int32", data=buffer(f, "A").data)
    refused(f, Rewrite((), (0,), load(view, 1, 0)), "buffer V is not declared here")


def test_a_let_does_not_outlive_its_expression() -> None:
    f = program("B[0] = 0\nB[1] = A[0]")
    a, b, x = buffer(f, "A"), buffer(f, "B"), Var.fresh("x")
    value = IfThenElse(load(a, 1) > 0, LetExpr(x, load(a, 0), x), const(0))
    f = f.with_body(seq(store(b, value, 0), store(b, load(a, 0), 1)))
    refused(f, Rewrite((1,), (0,), x), "variable x is not in scope here")


def test_an_expression_may_not_bind_a_variable_again() -> None:
    f = program("B[0] = 1")
    x = Var.fresh("x")
    f = f.with_body(LetStmt(x, const(1), store(buffer(f, "B"), x, 0)))
    refused(f, Introduce((0,), LetExpr(x, const(5), x > 0)), "x is bound twice")
    y = Var.fresh("y")
    accepted(f, Introduce((0,), LetExpr(y, const(5), y > 0)))


def test_an_inserted_statement_uses_its_loop_variable_inside_the_loop_only() -> None:
    f = program("B[0] = 1")
    b, k = buffer(f, "B"), Var.fresh("k")
    after = Store(b, load(b, k % 4), (k % 4,))
    refused(f, Insert((), seq(For(k, const(0), const(0), SKIP), after)), "variable k is not in scope here")
    accepted(f, Insert((), For(k, const(0), const(4), after)))


def test_new_variables_occur_nowhere_else() -> None:
    f = program("for i in range(2):\n    for j in range(2):\n        B[i] = j")
    outer, inner = f.body, f.body.body  # type: ignore[attr-defined]
    i, j = outer.var, inner.var  # type: ignore[attr-defined]
    refused(f, Reindex((0,), 1, (NewLoop(i, const(0), const(2)),), (), (i,), (j,)), "not fresh")
    refused(f, WrapUnit((0,), i), "not a fresh integer")
    refused(f, Bind((0,), i, const(1)), "not fresh")


def test_a_name_for_a_shape_symbol_would_change_the_buffers_of_the_statement() -> None:
    n, i, y = Var.fresh("n"), Var.fresh("i"), Var.fresh("y")
    a = Buffer.declare("A", (n,), "int32")
    f = function([a, n], For(i, const(0), n, Store(a, n, (i,))))
    refused(f, Bind((), y, n), "buffer A is not declared here")
    accepted(f, WrapUnit((), y))


# ---------------------------------------------------------------------------------------------------------- vectors


def test_with_lanes_both_operands_of_and_are_evaluated() -> None:
    f = program("B[0] = 1", 'A: T.Buffer((2,), "int32"), B: T.Buffer((4,), "int32")')
    flags, ramp = Buffer.declare("L", (4,), "bool"), Ramp(const(0), const(1), 4)
    low = binary("lt", ramp, 2)

    def guarded(first: Expr, second: Expr) -> Insert:
        return Insert((), Allocate(flags, Store(flags, Binary("and", first, second), (ramp,))))

    refused(f, guarded(low, binary("eq", load(buffer(f, "A"), ramp), 0)), "in bounds")
    accepted(f, guarded(low, binary("eq", load(buffer(f, "B"), ramp), 0)))


def test_a_shuffle_evaluates_the_lanes_that_it_drops() -> None:
    f = program("B[0] = 1", 'A: T.Buffer((2,), "int32"), B: T.Buffer((4,), "int32")')
    one = Buffer.declare("L", (1,), "int32")

    def first_of(lanes: int) -> Insert:
        value = Shuffle((load(buffer(f, "A"), Ramp(const(0), const(1), lanes)),), (0,))
        return Insert((), Allocate(one, store(one, value, 0)))

    refused(f, first_of(4), "in bounds")
    accepted(f, first_of(2))


def test_reinterpret_may_change_the_number_of_lanes() -> None:
    f = program("B[0] = T.int64(0)", 'B: T.Buffer((4,), "int64")')
    joined = Call(INT64, "reinterpret", (Broadcast(const(1), 2),))
    f = f.with_body(store(buffer(f, "B"), joined, 0))
    refused(f, Rewrite((), (0,), const(1, INT64)), "the logic knows single lanes")
