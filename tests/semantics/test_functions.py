"""Calls of other functions of the module."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.semantics.programs import arrays_of, function, load, loop, store
from verified_tir.elaborate.calls import expand_calls
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import INT32, VOID, DType
from verified_tir.ir.expr import Call, Expr, Ramp, Undef, Var
from verified_tir.ir.func import IRModule, PrimFunc
from verified_tir.ir.stmt import Allocate, Evaluate, Stmt, seq
from verified_tir.ir.sugar import const
from verified_tir.semantics.interpreter import ArgumentError, Outcome, StepLimit, UndefinedBehaviour, run

A, B = Buffer.declare("A", (4,), "int32"), Buffer.declare("B", (4,), "int32")
i = Var.fresh("i")


def call(name: str, *args: Expr) -> Evaluate:
    return Evaluate(Call(VOID, f"@{name}", args))


def add_into() -> PrimFunc:
    """``Y[j] += X[j] * c`` for all j."""
    n, j, c = Var.fresh("n"), Var.fresh("j"), Var.fresh("c")
    x, y = Buffer.declare("X", (n,), "int32"), Buffer.declare("Y", (n,), "int32")
    return function([x, y, c], loop(j, n, store(y, load(y, j) + load(x, j) * c, j)), "add_into")


def execute(body: Stmt, *functions: PrimFunc, **options: Any) -> Outcome:
    module = IRModule(tuple((f.name, f) for f in (add_into(), *functions)))
    args = {"A": np.arange(4, dtype=np.int32), "B": np.full(4, 10, np.int32)}
    return run(function([A, B], body), args, module=module, **options)


def test_buffers_and_scalars_are_passed() -> None:
    outcome = execute(call("add_into", A.data, B.data, const(3)))
    assert outcome.arrays["B"].tolist() == [10, 13, 16, 19]
    t = Buffer.declare("t", (4,), "int32")
    body = Allocate(t, seq(loop(i, 4, store(t, i * i, i)), call("add_into", t.data, B.data, load(A, 1))))
    assert execute(body).arrays["B"].tolist() == [10, 11, 14, 19]
    assert arrays_of(execute(Allocate(t, call("add_into", t.data, B.data, const(1)))), "B") == [None] * 4


def test_a_function_may_be_called_again_and_call_others() -> None:
    y = Buffer.declare("Y", (4,), "int32")
    k = Var.fresh("k")
    x = Buffer.declare("X", (4,), "int32")
    twice = function([x, y], loop(k, 2, call("add_into", x.data, y.data, const(1))), "twice")
    body = loop(i, 2, call("twice", A.data, B.data))
    assert execute(body, twice).arrays["B"].tolist() == [10, 14, 18, 22]


def test_another_shape_of_the_same_block() -> None:
    square = Buffer.declare("S", (2, 2), "int32")
    wider = Buffer.declare("S", (3, 2), "int32")
    assert execute(call("g", A.data), function([square], store(square, 9, 1, 0), "g")).arrays["A"].tolist() == [
        0,
        1,
        9,
        3,
    ]
    with pytest.raises(UndefinedBehaviour) as caught:
        execute(call("g", A.data), function([wider], store(wider, 9, 2, 0), "g"))
    assert caught.value.kind == "out-of-bounds"


def test_what_ends_the_callee_is_placed_at_the_call() -> None:
    j = Var.fresh("j")
    x = Buffer.declare("X", (4,), "int32")
    wrong = function([x], loop(j, 5, store(x, 0, j)), "wrong")
    with pytest.raises(UndefinedBehaviour) as caught:
        execute(loop(i, 2, seq(store(A, 0, 0), call("wrong", A.data))), wrong)
    end = caught.value
    assert (end.place, end.indices, end.iteration) == ((0, 1), (4,), {"i": 0, "j": 4})
    assert "in @wrong: X[4] is outside its shape [4]" in str(end)


def test_written_parameters_may_not_overlap() -> None:
    with pytest.raises(UndefinedBehaviour) as caught:
        execute(call("add_into", A.data, A.data, const(1)))
    assert (caught.value.kind, caught.value.place) == ("overlap", ())
    x, y = Buffer.declare("X", (4,), "int32"), Buffer.declare("Y", (4,), "int32")
    reads = function([x, y], Evaluate(load(x, 0) + load(y, 0)), "reads")
    assert execute(call("reads", A.data, A.data), reads)
    passes_on = function([x, y], call("add_into", y.data, x.data, const(1)), "passes_on")
    with pytest.raises(UndefinedBehaviour, match="passes_on writes it"):
        execute(call("passes_on", A.data, A.data), passes_on)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (lambda n: {"shape": (n * 2,)}, lambda n: {"shape": (n,)}),  # whichever equation comes first counts
        (lambda n: {"shape": (n,)}, lambda n: {"shape": (n * 2,)}),
        (lambda n: {"shape": (n * 3 - 2,)}, lambda n: {"shape": (n,)}),
        (lambda n: {"shape": (7 - n,)}, lambda n: {"shape": (n,)}),
        (lambda n: {"shape": (n + 1,)}, lambda n: {"shape": (n,)}),
        (lambda n: {"shape": (2,), "elem_offset": n}, lambda n: {"shape": (n,)}),  # shapes before offsets and strides
        (lambda n: {"shape": (2,), "strides": (n,)}, lambda n: {"shape": (n,)}),
        (lambda n: {"shape": (2,), "strides": (n,)}, lambda n: {"shape": (2,), "elem_offset": n}),
    ],
)
def test_symbols_are_what_the_expanded_call_makes_them(first: Any, second: Any) -> None:
    """The interpreter solves the extents for them, and so does the expansion, of which proofs speak."""
    n, j = Var.fresh("n"), Var.fresh("j")
    x, y = Buffer.declare("X", dtype="int32", **first(n)), Buffer.declare("Y", dtype="int32", **second(n))
    fills = function([x, y], loop(j, n, store(y, 7, j)), "fills")
    main = function([A, B], call("fills", A.data, B.data), "main")
    module = IRModule((("main", main), ("fills", fills)))
    args = {"A": np.arange(4, dtype=np.int32), "B": np.full(4, 10, np.int32)}
    called, expanded = run(main, args, module=module), run(expand_calls(module, "main"), args)
    assert called.arrays["B"].tolist() == expanded.arrays["B"].tolist()


def test_undefined_scalars_are_not_passed() -> None:
    with pytest.raises(UndefinedBehaviour) as caught:
        execute(call("add_into", A.data, B.data, Undef(INT32)))
    assert caught.value.kind == "undef-argument"


def test_arguments_with_lanes() -> None:
    v, y = Var.fresh("v", DType.parse("int32x4")), Buffer.declare("Y", (4,), "int32")
    lanes = function([v, y], store(y, v, Ramp(const(0), const(1), 4)), "lanes")
    assert execute(call("lanes", Ramp(const(5), const(1), 4), B.data), lanes).arrays["B"].tolist() == [5, 6, 7, 8]
    with pytest.raises(UndefinedBehaviour):
        execute(call("lanes", Undef(v.dtype), B.data), lanes)


def test_recursion_is_refused() -> None:
    x = Buffer.declare("X", (4,), "int32")
    itself = function([x], call("itself", x.data), "itself")
    with pytest.raises(ArgumentError, match="recursion: f calls itself calls itself"):
        execute(call("itself", A.data), itself)
    pong = function([x], call("ping", x.data), "pong")
    y = Buffer.declare("Y", (4,), "int32")
    ping = function([y], call("pong", y.data), "ping")
    with pytest.raises(ArgumentError, match="recursion"):
        execute(call("ping", A.data), ping, pong)


def test_calls_that_do_not_fit() -> None:
    for wrong in (
        call("add_into", A.data, B.data),
        call("nobody", A.data),
        call("add_into", A.data, const(1), const(1)),
        call("add_into", A.data, B.data, A.data),
        call("add_into", A.data, B.data, const(1, "int64")),
    ):
        with pytest.raises(ArgumentError):
            execute(wrong)
    stray = Buffer.declare("stray", (4,), "int32")
    with pytest.raises(ValueError, match="not a block"):
        execute(call("add_into", A.data, stray.data, const(1)))


def test_steps_and_races_count_inside_the_callee() -> None:
    body = call("add_into", A.data, B.data, const(1))
    assert execute(body).steps == 8
    with pytest.raises(StepLimit):
        execute(body, max_steps=7)
    parallel = loop(i, 2, body, "parallel")
    (finding,) = execute(parallel, check_races=True).findings
    assert (finding.var, finding.buffer, finding.indices) == (i, "Y", (0,))
