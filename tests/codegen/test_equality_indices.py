"""Random index arithmetic, as a value and as an index: the interpreter and machine code agree.

It is computed differently from data: in 64 bits, with ``nsw``, unsigned where it is known not to be negative.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DataObject, DrawFn

from tests.codegen.emit_support import Compiled, check, compare
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType, PointerType
from verified_tir.ir.expr import Binary, Cast, Expr, IfThenElse, Load, Ramp, Select, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.ir.stmt import For, LetStmt, Store, seq
from verified_tir.ir.sugar import const
from verified_tir.semantics.interpreter import UndefinedBehaviour, run

SETTINGS = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
OPS = ("add", "add", "sub", "mul", "floordiv", "floormod", "truncdiv", "truncmod", "min", "max", "shl", "shr", "bitand")


@st.composite
def index_expressions(draw: DrawFn, variables: tuple[Var, ...], depth: int) -> Expr:
    """Index arithmetic of one type, which may overflow or divide by zero."""
    dtype = variables[0].dtype
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        numbers = st.sampled_from(
            [1, 2, 3, 4, 7, 8, dtype.max_value, max(-1, dtype.min_value), max(-5, dtype.min_value)]
        )
        return const(draw(numbers), dtype) if draw(st.booleans()) else draw(st.sampled_from(variables))
    a, b = (draw(index_expressions(variables, depth - 1)) for _ in range(2))
    if draw(st.integers(0, 7)) == 0:
        condition = Binary(draw(st.sampled_from(["lt", "eq", "ge"])), a, b)
        return draw(st.sampled_from([Select, IfThenElse]))(condition, b, a)
    return Binary(draw(st.sampled_from(OPS)), a, b)


@pytest.mark.nightly
@SETTINGS
@given(st.sampled_from(["int32", "int32", "int64", "int8", "uint8", "uint32", "uint64"]), st.data())
def test_index_arithmetic(kind: str, data: DataObject) -> None:
    dtype = DType.parse(kind)
    i, j, n, s, x = (Var.fresh(name, DType.parse(dtype)) for name in "ijnsx")
    memory, out = Buffer.declare("A", (16,), "float32"), Buffer.declare("B", (24,), dtype)
    found = Buffer.declare("C", (24, 3), "float32")
    sized = Buffer("S", Var.fresh("S", PointerType(DType.parse("int8"))), DType.parse("int8"), (s,), (), const(0), ())
    low = const(draw_low(data, dtype), dtype)
    bound = data.draw(index_expressions((i, j, n, s), 2))
    value = data.draw(index_expressions((i, j, n, s, x), 3))
    place = Binary("floormod", value, const(data.draw(st.sampled_from([13, 16])), dtype))
    index = Cast(DType("int", 64), Binary("add", Binary("mul", i, const(4, dtype)), Binary("sub", j, low)))
    ramp = Ramp(Binary("floormod", value, const(7, dtype)), const(data.draw(st.sampled_from([1, 2, 3])), dtype), 3)
    body = seq(
        Store(out, value, (index,)),
        Store(found, Load(memory, (place,)), (index, const(0))),
        Store(found, Load(memory, (ramp,)), (index, Ramp(const(0), const(1), 3))),
    )
    nest = For(i, const(0, dtype), const(6, dtype), For(j, low, const(4, dtype), LetStmt(x, bound, body)))
    buffers = (memory, out, found, sized)
    params = tuple(Var.fresh(b.name, PointerType(b.dtype)) for b in buffers)
    func = PrimFunc("f", (*params, n), tuple(zip(params, buffers, strict=True)), nest)
    rng = np.random.default_rng(3)
    machine = None
    for number in (-7, 0, 1, 2, 3, 8, dtype.max_value, dtype.min_value):
        if number < dtype.min_value:
            continue
        size = abs(number) % 5
        arguments = {
            "A": rng.standard_normal(16).astype(np.float32), "B": np.zeros(24, numpy_dtype(dtype)), "n": number,
            "C": np.zeros((24, 3), np.float32), "S": np.zeros(size, np.int8),
        }  # fmt: skip
        try:
            expected = run(func, arguments)
        except UndefinedBehaviour:
            continue
        machine = machine or Compiled(func)
        assert machine({**arguments, "s": size}) == 0
        compare(expected, arguments)


def draw_low(data: DataObject, dtype: DType) -> int:
    """The first value of a loop: often negative, or near an end of the type."""
    return data.draw(st.sampled_from([0, 1, max(-2, dtype.min_value), max(-9, dtype.min_value), dtype.max_value - 3]))


def test_signs_in_index_arithmetic() -> None:
    """Negative intermediate values, of variables that are not negative; unsigned indices beyond half their range."""
    program = """
@T.prim_func
def f(A: T.Buffer((300,), "int32"), I: T.Buffer((6,), "uint8"), B: T.Buffer((6, 4), "int32"), s: T.handle):
    n = T.int32()
    S = T.match_buffer(s, (n,), "int8")
    for i in range(6):
        B[i, 0] = A[(i - n) // 16 + 2] + A[(i - n) % 4] + A[T.truncdiv(i - n, 4) + 2]
        B[i, 1] = (i - n) // 3 * 100 + (i - n) % 3
        B[i, 2] = A[I[i]]
        B[i, 3] = A[(i - n) // 3 + 3] + A[T.max(i - n, 0) // 3]
"""
    indices = np.array([0, 127, 128, 200, 255, 1], np.uint8)
    for n in (0, 1, 4, 5):
        check(
            program, A=np.arange(300, dtype=np.int32), I=indices, B=np.zeros((6, 4), np.int32), S=np.zeros(n, np.int8)
        )
