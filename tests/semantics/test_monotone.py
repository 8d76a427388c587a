"""Every statement is monotone: more defined arguments give no new undefined behaviour, and a refined outcome.

On this rest locality and transitivity of refinement.  The programs are drawn at random.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.nightly import few
from tests.semantics.programs import function
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import BOOL, DType
from verified_tir.ir.expr import (
    COMPARE_OPS,
    Binary,
    Call,
    Cast,
    Expr,
    IfThenElse,
    LetExpr,
    Load,
    Not,
    Select,
    Undef,
    Var,
)
from verified_tir.ir.stmt import Allocate, Assume, DeclBuffer, For, If, LetStmt, Stmt, Store, seq
from verified_tir.ir.sugar import const
from verified_tir.semantics.interpreter import Outcome, UndefinedBehaviour, refines, run

INT8, FLOAT16 = DType("int", 8), DType("float", 16)
SIZE = 3
N, F = Buffer.declare("N", (SIZE,), INT8), Buffer.declare("F", (SIZE,), FLOAT16)
BYTES = Buffer.declare("bytes", (2 * SIZE,), INT8, data=F.data)  # another view of F
T = Buffer.declare("t", (SIZE,), FLOAT16)
INTEGER_OPS = [
    "add", "sub", "mul", "floordiv", "floormod", "truncdiv", "truncmod", "min", "max", "bitand", "bitor", "bitxor",
    "shl", "shr",
]  # fmt: skip
Draw = Callable[[st.SearchStrategy[Any]], Any]


def index(draw: Draw, depth: int) -> Expr:
    """Mostly in bounds; sometimes what a buffer says."""
    if depth > 0 and draw(st.integers(0, 5)) == 0:
        return number(draw, INT8, depth - 1)
    return const(draw(st.integers(0, SIZE - 1)))


def number(draw: Draw, dtype: DType, depth: int) -> Expr:
    """An expression of type int8 or float16."""
    choice = draw(st.integers(0, 9)) if depth > 0 else draw(st.integers(0, 3))
    if choice == 0:
        return const(draw(st.sampled_from([-1, 0, 1, 2, -2, 7])), dtype)
    if choice == 1 and dtype is INT8:
        return Load(BYTES, (const(draw(st.integers(0, 2 * SIZE - 1))),))
    if choice <= 3:
        return Load(N if dtype is INT8 else F, (index(draw, depth),)) if draw(st.integers(0, 9)) else Undef(dtype)
    a, b = number(draw, dtype, depth - 1), number(draw, dtype, depth - 1)
    match choice:
        case 4:
            return Select(condition(draw, depth - 1), a, b)
        case 5:
            return IfThenElse(condition(draw, depth - 1), a, b)
        case 6:
            return Cast(dtype, number(draw, FLOAT16 if dtype is INT8 else INT8, depth - 1))
        case 7:
            x = Var.fresh("x", DType.parse(dtype))
            return LetExpr(x, a, Binary("mul", x, b))
        case 8:
            return Call(dtype, "abs", (a,)) if dtype is INT8 else Call(dtype, "fma", (a, b, a))
    ops = INTEGER_OPS if dtype is INT8 else ["add", "sub", "mul", "div", "min", "max"]
    return Binary(draw(st.sampled_from(ops)), a, b)


def condition(draw: Draw, depth: int) -> Expr:
    """An expression of type bool."""
    if depth <= 0 or draw(st.integers(0, 2)):
        dtype = draw(st.sampled_from([INT8, FLOAT16]))
        return Binary(
            draw(st.sampled_from(COMPARE_OPS)), number(draw, dtype, depth - 1), number(draw, dtype, depth - 1)
        )
    if draw(st.integers(0, 5)) == 0:
        return Undef(BOOL)
    a, b = condition(draw, depth - 1), condition(draw, depth - 1)
    return Not(a) if draw(st.booleans()) else Binary(draw(st.sampled_from(["and", "or", "bitand", "bitxor"])), a, b)


def statement(draw: Draw, depth: int) -> Stmt:
    match draw(st.integers(0, 8)):
        case 0 if depth > 0:
            return If(condition(draw, 1), statement(draw, depth - 1), statement(draw, depth - 1))
        case 1 if depth > 0:
            i = Var.fresh("i", INT8)
            return For(i, const(0, INT8), number(draw, INT8, 1) % 3, statement(draw, depth - 1))
        case 2:
            return Assume(condition(draw, 1))
        case 3:
            x = Var.fresh("x", INT8)
            return LetStmt(x, number(draw, INT8, 2), Store(N, x, (index(draw, 1),)))
        case 4:
            return Store(BYTES, number(draw, INT8, 2), (const(draw(st.integers(0, 2 * SIZE - 1))),))
        case 5:
            inner = seq(
                Store(T, number(draw, FLOAT16, 1), (index(draw, 1),)), Store(F, Load(T, (const(1),)), (const(0),))
            )
            return Allocate(T, inner)
    if draw(st.booleans()):
        return Store(F, number(draw, FLOAT16, 3), (index(draw, 1),))
    return Store(N, number(draw, INT8, 3), (index(draw, 1),))


@st.composite
def cases(draw: Draw) -> tuple[Stmt, dict[str, Any], dict[str, Any], dict[str, Any]]:
    """A program, arguments, which of them are defined, and arguments that differ only where they are not."""
    body = DeclBuffer(BYTES, seq(*[statement(draw, 2) for _ in range(draw(st.integers(1, 3)))]))
    bytes_of = st.lists(st.sampled_from([0, 1, 2, 3, 127, 128, 254, 255]), min_size=SIZE, max_size=SIZE)
    halves = st.lists(st.sampled_from([0.0, -0.0, 1.0, -2.5, 300.0, np.inf, np.nan]), min_size=SIZE, max_size=SIZE)
    masks = st.lists(st.integers(0, 3).map(bool), min_size=SIZE, max_size=SIZE)

    def arguments() -> dict[str, Any]:
        return {"N": np.array(draw(bytes_of), np.uint8).view(np.int8), "F": np.array(draw(halves), np.float16)}

    given, other = arguments(), arguments()
    defined = {name: np.array(draw(masks)) for name in given}
    refined = {name: np.where(defined[name], given[name], other[name]).astype(given[name].dtype) for name in given}
    return body, given, defined, refined


def outcome(body: Stmt, args: dict[str, Any], defined: dict[str, Any] | None) -> Outcome | str:
    """The outcome of a run, or the kind of undefined behaviour."""
    try:
        return run(function([N, F], body), args, defined=defined, max_steps=1000)
    except UndefinedBehaviour as end:
        return end.kind


@settings(max_examples=few(100, 400), deadline=None)
@given(cases())
def test_more_defined_arguments_give_a_refined_outcome(case: Any) -> None:
    body, args, defined, refined = case
    before = outcome(body, args, defined)
    event(before if isinstance(before, str) else "no undefined behaviour")
    if isinstance(before, Outcome):
        for now_defined in ({"N": defined["N"]}, None):  # F alone, then both
            mixed = refined if now_defined is None else {"N": args["N"], "F": refined["F"]}
            after = outcome(body, mixed, now_defined)
            assert isinstance(after, Outcome), after
            assert refines(before, after) == []
