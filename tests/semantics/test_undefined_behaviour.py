"""Each kind of undefined behaviour: where it is, at which indices, in which iteration; and its near miss."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.semantics.programs import arrays_of, function, load, loop, store
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import BOOL, INT8, INT32, PointerType
from verified_tir.ir.expr import (
    FALSE,
    TRUE,
    Binary,
    Broadcast,
    Call,
    Cast,
    IfThenElse,
    LetExpr,
    Load,
    Ramp,
    Select,
    Undef,
    Var,
)
from verified_tir.ir.stmt import (
    Allocate,
    Assert,
    Assume,
    DeclBuffer,
    Evaluate,
    If,
    LetStmt,
    Stmt,
    Store,
    While,
    seq,
)
from verified_tir.ir.sugar import binary, const
from verified_tir.semantics.interpreter import (
    ArgumentError,
    AssertionFailed,
    Outcome,
    StepLimit,
    UndefinedBehaviour,
    Unsupported,
    run,
)

A = Buffer.declare("A", (8,), "float32")
N = Buffer.declare("N", (8,), "int32")
i, j = Var.fresh("i"), Var.fresh("j")
UNDEF_INT, UNDEF_BOOL = Undef(INT32), Undef(BOOL)


def execute(body: Stmt, *scalars: tuple[Var, Any], n: list[int] | None = None, **options: Any) -> Outcome:
    """Run a body on A = 0, 1, … and N = ``n`` (zeros)."""
    args: dict[str, Any] = {"A": np.arange(8, dtype=np.float32), "N": np.array(n or [0] * 8, np.int32)}
    args.update({v.name: value for v, value in scalars})
    return run(function([A, N, *[v for v, _ in scalars]], body), args, **options)


def undefined(body: Stmt, *scalars: tuple[Var, Any], **options: Any) -> UndefinedBehaviour:
    with pytest.raises(UndefinedBehaviour) as caught:
        execute(body, *scalars, **options)
    assert caught.value.place is not None
    return caught.value


# ------------------------------------------------------------------------------------------------ place and moment


def test_the_place_is_the_innermost_statement_and_the_iteration_is_complete() -> None:
    access = store(A, 1.0, i * 3 + j)
    body = seq(store(A, 0.0, 0), loop(i, 3, loop(j, 3, If(TRUE, seq(Evaluate(i), access)))))
    assert execute(loop(i, 2, loop(j, 3, access))).defined["A"].all()
    end = undefined(body)
    assert (end.kind, end.place, end.indices) == ("out-of-bounds", (1, 0, 0, 0, 1), (8,))
    assert end.iteration == {"i": 2, "j": 2} and list(end.iteration) == ["i", "j"]
    assert str(end) == "out-of-bounds: A[8] is outside its shape [8] at [1, 0, 0, 0, 1], i = 2, j = 2"


def test_trouble_in_the_bounds_of_a_loop_is_placed_at_the_loop() -> None:
    end = undefined(loop(i, 2, loop(j, load(N, 9), store(A, 0.0, 0))))
    assert (end.kind, end.place, end.iteration) == ("out-of-bounds", (0,), {"i": 0})


def test_an_else_branch_is_step_one() -> None:
    assert undefined(If(FALSE, store(A, 0.0, 0), store(A, 0.0, -1))).place == (1,)


# ---------------------------------------------------------------------------------------------------------- memory


@pytest.mark.parametrize("index", [-1, 8, 1 << 20])
def test_out_of_bounds_read_and_write(index: int) -> None:
    for body in (Evaluate(load(A, index)), store(A, 0.0, index)):
        end = undefined(body)
        assert (end.kind, end.indices) == ("out-of-bounds", (index,))
    assert execute(seq(store(A, load(A, 0), 7)))


def test_out_of_bounds_of_one_dimension_although_the_address_exists() -> None:
    square = Buffer.declare("V", (2, 4), data=A.data)
    for indices in ((0, 4), (1, -1)):
        end = undefined(DeclBuffer(square, store(square, 0.0, *indices)))
        assert (end.kind, end.indices) == ("out-of-bounds", indices)
    assert execute(DeclBuffer(square, store(square, 9.0, 1, 3))).arrays["A"][7] == 9.0


def test_a_view_may_be_larger_than_its_block_but_not_used_there() -> None:
    larger = Buffer.declare("V", (16,), data=A.data)
    assert execute(DeclBuffer(larger, store(larger, 9.0, 7))).arrays["A"][7] == 9.0
    end = undefined(DeclBuffer(larger, store(larger, 9.0, 8)))
    assert end.kind == "out-of-bounds" and "block of 32 bytes" in end.message
    before = Buffer.declare("V", (16,), data=A.data, elem_offset=-2)
    assert undefined(DeclBuffer(before, store(before, 9.0, 1))).kind == "out-of-bounds"


def test_inaccessible_elements_through_any_view() -> None:
    closed = {"inaccessible": {"A": np.arange(8) == 5}}
    square = Buffer.declare("V", (2, 4), data=A.data)
    for body in (
        store(A, 0.0, 5),
        Evaluate(load(A, 5)),
        DeclBuffer(square, store(square, 0.0, 1, 1)),
        store(A, 0.0, Ramp(const(4), const(1), 2)),
    ):
        assert undefined(body, **closed).kind == "inaccessible"
    outcome = execute(loop(i, 5, store(A, 7.0, i)), **closed)
    assert outcome.arrays["A"].tolist() == [7, 7, 7, 7, 7, 5, 6, 7]


def test_undef_indices() -> None:
    for body in (Evaluate(Load(A, (UNDEF_INT,))), store(A, 0.0, UNDEF_INT), store(A, 0.0, load(N, 0))):
        assert undefined(body, defined={"N": np.zeros(8, bool)}).kind == "undef-index"
    lanes = Select(Binary("lt", Ramp(const(0), const(1), 4), Broadcast(const(3), 4)), Ramp(const(0), const(1), 4),
                   Undef(INT32.with_lanes(4)))  # fmt: skip
    assert undefined(Evaluate(Load(A, (lanes,)))).kind == "undef-index"


def test_a_negative_extent_is_no_allocation() -> None:
    n = Var.fresh("n")
    t = Buffer.declare("t", (n, 4))
    body = Allocate(t, store(A, 1.0, 0))
    assert execute(body, (n, 0)).arrays["A"][0] == 1.0
    assert undefined(body, (n, -1)).kind == "negative-extent"
    huge = Buffer.declare("t", (1 << 30,))
    with pytest.raises(Unsupported, match="the interpreter stops at"):
        execute(Allocate(huge, store(A, 1.0, 0)))


# -------------------------------------------------------------------------------------------------------- branches


def test_branching_on_undef() -> None:
    one, two = const(1), const(2)
    for body in (
        If(UNDEF_BOOL, store(A, 0.0, 0)),
        If(Binary("lt", UNDEF_INT, one), store(A, 0.0, 0)),
        While(UNDEF_BOOL, store(A, 0.0, 0)),
        Evaluate(IfThenElse(UNDEF_BOOL, one, two)),
        Evaluate(Binary("and", UNDEF_BOOL, FALSE)),
        Evaluate(Binary("or", UNDEF_BOOL, TRUE)),
    ):
        assert undefined(body).kind == "undef-branch"
    for pure in (Select(UNDEF_BOOL, one, two), Binary("and", FALSE, UNDEF_BOOL), Binary("and", TRUE, UNDEF_BOOL)):
        assert execute(Evaluate(pure))


def test_laziness_protects_and_select_does_not() -> None:
    outside = Binary("eq", load(N, i), const(0))
    inside = Binary("lt", i, const(8))
    guarded = [
        If(Binary("and", inside, outside), store(A, 1.0, i)),
        If(Binary("or", Binary("ge", i, const(8)), outside), store(A, 1.0, 0)),
        Evaluate(IfThenElse(inside, load(A, i), const(0.0, "float32"))),
        If(inside, store(A, 1.0, i)),
    ]
    for body in guarded:
        execute(loop(i, 9, body))
    end = undefined(loop(i, 9, Evaluate(Select(inside, load(A, i), const(0.0, "float32")))))
    assert (end.kind, end.iteration) == ("out-of-bounds", {"i": 8})
    assert undefined(loop(i, 9, Evaluate(Binary("bitand", inside, outside)))).kind == "out-of-bounds"


def test_undef_bounds() -> None:
    nothing = store(A, 0.0, 0)
    n = Var.fresh("n")
    t = Buffer.declare("t", (n,))
    v = Buffer.declare("v", (n,), data=A.data)
    assert undefined(loop(i, UNDEF_INT, nothing)).kind == "undef-bound"
    assert undefined(loop(i, 0, nothing, start=UNDEF_INT)).kind == "undef-bound"
    assert undefined(LetStmt(n, UNDEF_INT, Allocate(t, nothing))).kind == "undef-bound"
    assert undefined(LetStmt(n, UNDEF_INT, DeclBuffer(v, nothing))).kind == "undef-bound"


def test_undef_arithmetic_is_no_undefined_behaviour_until_it_is_used() -> None:
    x = Var.fresh("x")
    quiet = LetStmt(x, UNDEF_INT, store(N, x * 2 + 1, 0))
    assert arrays_of(execute(quiet), "N")[:2] == [None, 0]
    assert undefined(LetStmt(x, UNDEF_INT, Evaluate(const(4) // x))).kind == "undef-divisor"
    assert undefined(LetStmt(x, UNDEF_INT, Evaluate(binary("shl", const(4), x)))).kind == "undef-shift"


# ------------------------------------------------------------------------------------------------------ arithmetic

BIG = 2**31 - 1


def test_index_arithmetic_may_not_overflow() -> None:
    n = Var.fresh("n")
    for expr in (n + 1, (n + 1) - 1, n * 2, 0 - (n * -1) * 2, binary("shl", n, 1), Select(TRUE, const(0), n + 1)):
        assert undefined(Evaluate(expr), (n, BIG)).kind == "index-overflow"
        assert execute(Evaluate(expr), (n, 1))
    assert undefined(Evaluate(Ramp(n, const(1), 4)), (n, BIG - 2)).kind == "index-overflow"
    assert execute(Evaluate(Ramp(n, const(1), 4)), (n, BIG - 3))
    assert undefined(If(Binary("lt", n + 1, n), store(A, 0.0, 0)), (n, BIG)).kind == "index-overflow"
    byte = Var.fresh("b", INT8)
    assert undefined(Evaluate(byte + 1), (byte, 127)).kind == "index-overflow"


def test_index_arithmetic_may_not_overflow_inside_a_data_expression() -> None:
    n = Var.fresh("n")
    assert undefined(store(N, load(N, 0) + (n + 1), 0), (n, BIG)).kind == "index-overflow"
    assert execute(store(N, (load(N, 0) + n) + 1, 0), (n, BIG)).arrays["N"][0] == -(2**31)


def test_data_wraps() -> None:
    n, x = Var.fresh("n"), Var.fresh("x")
    for expr in (
        load(N, 0) + 1,
        Call(INT32, "likely", (n,)) + 1,
        Cast(INT32, Cast(INT8, const(0))) + n + 1,
        LetExpr(x, load(N, 0), x + 1),
        LetExpr(x, load(N, 0), Select(TRUE, x, n) + 1),
    ):
        assert execute(store(N, expr, 1), (n, BIG), n=[BIG] + [0] * 7).arrays["N"][1] == -(2**31)
    body = LetStmt(x, load(N, 0), store(N, x * 2, 1))
    assert execute(body, n=[BIG] + [0] * 7).arrays["N"][1] == -2
    assert undefined(LetStmt(x, n, store(N, x * 2, 1)), (n, BIG)).kind == "index-overflow"


def test_a_loop_variable_fits_its_type() -> None:
    b = Var.fresh("b", INT8)
    assert execute(loop(b, 28, store(A, 0.0, 0), start=100)).steps == 56
    assert undefined(loop(b, 29, store(A, 0.0, 0), start=100)).kind == "index-overflow"


def test_division_and_shift() -> None:
    n = Var.fresh("n")
    for op in ("floordiv", "floormod", "truncdiv", "truncmod"):
        assert undefined(Evaluate(binary(op, 7, n)), (n, 0)).kind == "division-by-zero"  # type: ignore[arg-type]
        assert undefined(Evaluate(binary(op, n, -1)), (n, -(2**31))).kind == "division-overflow"  # type: ignore[arg-type]
        assert undefined(Evaluate(binary(op, load(N, 0), load(N, 0)))).kind == "division-by-zero"  # type: ignore[arg-type]
    assert undefined(Evaluate(binary("shr", 7, n)), (n, 32)).kind == "shift"
    assert undefined(Evaluate(binary("shl", load(N, 0), n)), (n, -1)).kind == "shift"
    assert execute(Evaluate(binary("shr", 7, n)), (n, 31))


# ----------------------------------------------------------------------------------------- claims, limits, refusals


def test_assumptions() -> None:
    assert execute(Assume(Binary("eq", load(A, 1), const(1.0, "float32"))))
    assert undefined(Assume(Binary("eq", load(A, 1), const(2.0, "float32")))).kind == "assume"
    assert undefined(Assume(UNDEF_BOOL)).kind == "undef-assume"
    assert (
        undefined(Assume(Binary("eq", load(N, 0), load(N, 1))), defined={"N": np.arange(8) > 0}).kind == "undef-assume"
    )


def test_assumed_equal_to_undef_means_accessible() -> None:
    element = load(A, i)
    accessible = Binary("eq", element, Undef(element.dtype))
    padding = Assume(Binary("or", Binary("lt", i, const(5)), accessible))
    assert execute(loop(i, 8, padding), defined={"A": np.arange(8) < 5})
    closed = {"inaccessible": {"A": np.arange(8) >= 5}}
    end = undefined(loop(i, 8, padding), **closed)
    assert (end.kind, end.iteration) == ("inaccessible", {"i": 5})
    assert execute(loop(i, 5, padding), **closed)
    both = Assume(Binary("and", accessible, Binary("lt", i, const(7))))
    assert undefined(loop(i, 8, both)).kind == "assume"
    assert execute(Assume(Binary("eq", Undef(INT32), load(N, 0))))


def test_assertions_stop_the_program_and_are_no_undefined_behaviour() -> None:
    body = loop(i, 4, seq(Assert(Binary("lt", i, const(2)), "i is small"), store(A, 0.0, i)))
    with pytest.raises(AssertionFailed, match="i is small") as caught:
        execute(seq(body, store(A, 0.0, 99)))
    assert (caught.value.place, caught.value.iteration) == ((0, 0, 0), {"i": 2})
    assert undefined(Assert(UNDEF_BOOL, "?")).kind == "undef-assert"


def test_the_step_limit() -> None:
    body = loop(i, 3, store(A, 0.0, i))
    assert execute(body, max_steps=6).steps == 6
    with pytest.raises(StepLimit):
        execute(body, max_steps=5)
    with pytest.raises(StepLimit):
        execute(While(TRUE, Evaluate(const(0))), max_steps=100)


def test_what_is_opaque_is_refused_only_when_it_is_reached() -> None:
    opaque = Evaluate(Call(INT32, "call_extern", (const(0),)))
    assert execute(If(FALSE, opaque))
    with pytest.raises(Unsupported, match="call_extern") as caught:
        execute(loop(i, 2, opaque))
    assert caught.value.place == (0,)
    with pytest.raises(Unsupported, match="pointer"):
        execute(Evaluate(Var.fresh("p", PointerType(INT32))))


def test_written_arrays_may_not_overlap() -> None:
    base = np.zeros(12, np.int32)
    m = Buffer.declare("M", (8,), "int32")
    read = function([N, m], Evaluate(load(N, 0)))
    write = function([N, m], store(m, 1, 0))
    for func, ok in ((read, True), (write, False)):
        run(func, {"N": base[:4].repeat(2), "M": base[4:]})
        if ok:
            run(func, {"N": base[:8], "M": base[4:]})
            continue
        with pytest.raises(UndefinedBehaviour) as caught:
            run(func, {"N": base[:8], "M": base[4:]})
        assert caught.value.kind == "overlap"


def test_malformed_programs_are_errors_of_the_ir() -> None:
    stray = Buffer.declare("S", (4,))
    with pytest.raises(ValueError, match="not declared"):
        execute(Store(stray, const(0.0, "float32"), (const(0),)))
    with pytest.raises(ValueError, match="not a block"):
        execute(DeclBuffer(stray, store(A, 0.0, 0)))
    with pytest.raises(ValueError, match="not bound"):
        execute(Evaluate(Var.fresh("q") + 1))
    with pytest.raises(ArgumentError):
        execute(Evaluate(Call(INT32, "@missing", ())))
