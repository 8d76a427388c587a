"""Statements: machine code against the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.codegen.emit_support import TARGET, Compiled, check
from verified_tir.codegen.emit import emit
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType, PointerType
from verified_tir.ir.expr import Binary, Cast, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import parse_func
from verified_tir.ir.stmt import For, Store
from verified_tir.ir.sugar import const


def ints(*shape: int, dtype: Any = np.int32) -> Any:
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


def floats(*shape: int) -> Any:
    return np.random.default_rng(5).standard_normal(shape).astype(np.float32)


@pytest.mark.sample(9)
@pytest.mark.parametrize("kind", ["range", "T.serial", "T.parallel", "T.vectorized", "T.unroll"])
@pytest.mark.parametrize("low, high", [("0", "n"), ("n", "8"), ("n - 2", "n"), ("3", "3"), ("5", "2"), ("2", "3")])
def test_loops_of_every_kind(kind: str, low: str, high: str) -> None:
    program = f"""
@T.prim_func
def f(A: T.Buffer((8,), "int32"), n: T.int32):
    for i in {kind}({low}, {high}):
        A[i] = A[i] * 2 + i
"""
    for n in (2, 3, 8):
        check(program, A=ints(8), n=n)


@pytest.mark.parametrize("n", [-3, 0, 1, 5])
def test_an_extent_that_may_be_negative(n: int) -> None:
    for kind in ("range", "T.parallel"):
        check(
            f"""
@T.prim_func
def f(A: T.Buffer((8,), "int32"), n: T.int32):
    for i in {kind}(n):
        A[i] = 7
""",
            A=ints(8), n=n,
        )  # fmt: skip


@pytest.mark.parametrize("code, bits", [(c, b) for c in ("int", "uint") for b in (8, 16, 32, 64)])
def test_loops_up_to_the_last_value_of_the_type(code: Any, bits: int) -> None:
    """The bound of the loop does not fit the type of its variable; its last value does."""
    dtype = DType(code, bits)
    out, i = Buffer.declare("A", (3,), dtype), Var.fresh("i", DType.parse(dtype))
    first = const(dtype.max_value - 2, dtype)
    index = Cast(DType("int", 64), Binary("sub", i, first))
    for kind in ("serial", "parallel", "unrolled"):
        loop = For(i, first, const(3, dtype), Store(out, i, (index,)), kind)  # type: ignore[arg-type]
        param = Var.fresh("A", PointerType(dtype))
        check(PrimFunc("f", (param,), ((param, out),), loop), A=np.zeros(3, f"{code}{bits}"))


def test_bounds_are_evaluated_once() -> None:
    check(
        """
@T.prim_func
def f(A: T.Buffer((4,), "int32")):
    for i in range(A[0], A[0] + A[1]):
        A[3] = A[3] * 10 + A[0]
        A[0] = A[0] + 2
        A[1] = i
    while A[2] < 5:
        A[3] = A[3] * 10 + A[2]
        A[2] = A[2] + 2
""",
        A=np.array([1, 3, 0, 0], np.int32),
    )


def test_a_load_is_repeated_after_a_store_and_in_each_copy_of_a_body() -> None:
    check(
        """
@T.prim_func
def f(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    B[0] = A[1] + A[1]
    A[1] = 5
    B[1] = A[1] + A[1]
    for i in T.unroll(4):
        if A[i] > 2:
            B[2] = B[2] + A[i]
        B[3] = B[3] * 3 + A[i]
        A[i + 1] = A[i + 1] + A[i]
    for i in range(5):
        B[4] = B[4] + A[i]
        A[i + 1] = A[i]
""",
        A=ints(6), B=ints(6),
    )  # fmt: skip


def test_lets_hold_their_value() -> None:
    check(
        """
@T.prim_func
def f(A: T.Buffer((4,), "int32"), n: T.int32):
    for i in T.unroll(3):
        x: T.let[T.int32] = A[i]
        A[i] = x + 1
        y: T.let[T.int32] = x + n * i
        A[i + 1] = x * y + A[i]
""",
        A=ints(4), n=3,
    )  # fmt: skip


@pytest.mark.parametrize("a", [[0, 3, 0, 1], [1, 0, 5, 0], [2**31 - 1, -(2**31), 1, -1]])
def test_lazy_operators_guard_what_may_not_be_evaluated(a: list[int]) -> None:
    check(
        """
@T.prim_func
def f(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
    for i in range(4):
        B[i] = T.if_then_else(A[i] != 0, T.if_then_else(A[i] == -1, 9, T.truncdiv(12, A[i])), -1)
    for i in range(4):
        if A[i] != 0 and A[i] != -1 and 12 % A[i] == 0:
            B[i] = B[i] + 100
        if i == 3 or A[i + 1] > 2:
            B[i] = B[i] + 1000
    for i in range(6):
        if i < 4 and A[i] > 0:
            B[i] = B[i] - 7
""",
        A=np.array(a, np.int32), B=ints(4),
    )  # fmt: skip


def test_what_is_guarded_is_not_loaded() -> None:
    """Were these loads executed, they would be gigabytes away."""
    program = """
@T.prim_func
def f(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32"), n: T.int64):
    for i in T.serial(T.int64(0), T.int64(4)):
        B[i] = T.if_then_else(i < n, A[i * 1000000000], 5)
        if i < n and A[i * 3000000000] == 0:
            B[i] = B[i] + 1
        if i >= n or A[i * 3000000000] == 7:
            B[i] = B[i] + 2
        if i < n:
            B[i] = B[i] + A[i * 2000000000]
"""
    assert "select" not in emit(parse_func(program), TARGET).text
    check(program, A=ints(4), B=ints(4), n=1)


def test_while() -> None:
    check(
        """
@T.prim_func
def f(A: T.Buffer((3,), "int32")):
    while A[0] < 100 and A[1] > 0:
        A[0] = A[0] * 2 + A[1]
        A[1] = A[1] - 1
    while A[2] > 1:
        if A[2] % 2 == 0:
            A[2] = A[2] // 2
        else:
            A[2] = A[2] * 3 + 1
""",
        A=np.array([1, 50, 27], np.int32),
    )


def test_blocks_with_initialisation_and_predicate() -> None:
    check(
        """
@T.prim_func
def f(A: T.Buffer((6, 7), "float32"), B: T.Buffer((6,), "float32")):
    for i, j in T.grid(2, 28):
        with T.block("sum"):
            vi = T.axis.spatial(6, i * 4 + j // 7)
            vj = T.axis.reduce(7, j % 7)
            T.where(i * 4 + j // 7 < 6)
            with T.init():
                B[vi] = -0.0
            B[vi] = B[vi] + A[vi, vj]
""",
        A=floats(6, 7), B=floats(6),
    )  # fmt: skip


def test_assertions_end_the_run_and_say_which_failed() -> None:
    func = parse_func("""
@T.prim_func
def f(A: T.Buffer((8,), "int32"), n: T.int32):
    assert n >= 0, "not negative"
    t = T.alloc_buffer((n + 40000,), "float32")
    t[0] = 1.0
    for i in T.parallel(n):
        u = T.alloc_buffer((n + 1,), "float32")
        u[n] = t[0]
        assert A[i] != 5, "no fives"
        A[i] = T.Cast("int32", u[n])
    assert n != 3, "not negative"
    assert A[n] == 7, "last"
""")
    machine = Compiled(func)
    assert machine.emitted.asserts == ("not negative", "no fives", "last")
    cases = ((-1, [7], 1), (0, [7], 0), (2, [1, 5, 7], 2), (2, [1, 1, 7], 0), (2, [1, 1, 1], 3), (3, [1] * 4, 1))
    for n, a, status in cases:
        given = np.array(a + [0] * (8 - len(a)), np.int32)
        assert machine({"A": given, "n": n}) == status, (n, a)


def test_symbolic_shapes_with_empty_arrays() -> None:
    program = """
@T.prim_func
def f(a: T.handle, b: T.handle):
    n = T.int32()
    m = T.int32()
    A = T.match_buffer(a, (n, m, 3), "float32")
    B = T.match_buffer(b, (m, n), "float32")
    for i, j in T.grid(n, m):
        B[j, i] = A[i, j, 0] * A[i, j, 2] + A[n - 1 - i, m - 1 - j, 1]
"""
    for n, m in ((0, 5), (5, 0), (1, 1), (4, 7)):
        check(program, A=floats(n, m, 3), B=floats(m, n))


def test_parameters_come_in_the_agreed_order() -> None:
    func = parse_func("""
@T.prim_func
def f(a: T.handle, x: T.float16, b: T.handle, n: T.int32):
    m = T.int64()
    s = T.int32()
    o = T.int32()
    A = T.match_buffer(a, (n, m), "bool", strides=(s, 1), elem_offset=o)
    B = T.match_buffer(b, (m,), "bfloat16")
    A[0, 0] = True
""")
    found = emit(func, TARGET).parameters
    assert [(p.kind, p.name, p.type) for p in found] == [
        ("buffer", "A", "ptr"), ("scalar", "x", "half"), ("buffer", "B", "ptr"), ("scalar", "n", "i32"),
        ("scalar", "m", "i64"), ("scalar", "s", "i32"), ("scalar", "o", "i32"),
    ]  # fmt: skip
    assert [p.written for p in found if p.kind == "buffer"] == [True, False]


@pytest.mark.parametrize("kind", ["bool", "int8", "uint16", "int64", "float16", "bfloat16", "float32", "float64"])
def test_scalar_parameters_of_every_type(kind: str) -> None:
    dtype = DType.parse(kind)
    out, x = Buffer.declare("B", (1,), dtype), Var.fresh("x", DType.parse(dtype))
    param = Var.fresh("B", PointerType(dtype))
    func = PrimFunc("f", (x, param), ((param, out),), Store(out, x, (const(0),)))
    import ml_dtypes

    given = {"bool": True, "int8": -3, "uint16": 65000, "int64": -(2**40)}.get(kind, 1.5)
    check(func, x=given, B=np.zeros(1, ml_dtypes.bfloat16 if kind == "bfloat16" else kind))


def test_local_buffers_on_the_stack_and_on_the_heap() -> None:
    check(
        """
@T.prim_func
def f(A: T.Buffer((8,), "float32"), n: T.int32):
    small = T.alloc_buffer((4, 2), "float32")
    large = T.alloc_buffer((20000,), "float32")
    symbolic = T.alloc_buffer((n, 3), "float32")
    empty = T.alloc_buffer((n - n, 3), "float32")
    for i in range(8):
        small[i // 2, i % 2] = A[i]
        large[i * 2500] = A[i] * 2.0
    for i in range(n):
        symbolic[i, 2] = small[i // 2, i % 2] + large[i * 2500]
    for i in range(n):
        inner = T.alloc_buffer((i + 1,), "float32")
        inner[i] = symbolic[i, 2]
        A[i] = inner[i]
""",
        A=floats(8), n=8,
    )  # fmt: skip


def test_copies_of_an_unrolled_body_share_their_local_buffer() -> None:
    program = """
@T.prim_func
def f(A: T.Buffer((8,), "float32"), n: T.int32):
    for i in T.unroll(8):
        t = T.alloc_buffer((4096,), "float32")
        t[n + i] = A[i]
        A[i] = t[n + i] + t[n + i]
"""
    check(program, A=floats(8), n=3)
    text = emit(parse_func(program), TARGET).text
    assert text.count("alloca") == 1 and "aligned_alloc" not in text


def test_too_large_a_local_buffer_is_out_of_memory() -> None:
    func = parse_func("""
@T.prim_func
def f(A: T.Buffer((8,), "float32"), n: T.int64):
    first = T.alloc_buffer((20000,), "float32")
    first[0] = 1.0
    t = T.alloc_buffer((n, n), "float32")
    if n > 0:
        t[0, 0] = first[0]
        A[0] = t[0, 0]
""")
    machine = Compiled(func)
    for n, status in ((2**62, -1), (2**31, -1), (3, 0), (0, 0), (2**33 + 1, -1)):
        a = floats(8)
        assert machine({"A": a, "n": n}) == status
        assert (a[0] == 1.0) == (status == 0 and n > 0)


def test_views_of_other_shape_type_and_offset() -> None:
    check(
        """
@T.prim_func
def f(A: T.Buffer((4, 6), "float32"), B: T.Buffer((24,), "int32"), n: T.int32):
    flat = T.decl_buffer((24,), "float32", data=A.data)
    bits = T.decl_buffer((12,), "int32", data=A.data, elem_offset=12)
    halves = T.decl_buffer((48,), "uint16", data=A.data)
    turned = T.decl_buffer((6, 4), "float32", data=A.data, strides=(1, 6))
    part = T.decl_buffer((2, n), "float32", data=A.data, elem_offset=n)
    pairs = T.decl_buffer((12,), "float32x2", data=A.data)
    for i in range(12):
        B[i] = bits[i] + T.Cast("int32", halves[2 * i])
    flat[3] = turned[5, 2] + 1.0
    turned[2, 1] = part[1, n - 1] * 2.0
    pairs[4] = pairs[5] + pairs[0]
    for i in range(12, 24):
        B[i] = T.reinterpret("int32", flat[i])
""",
        A=floats(4, 6), B=ints(24), n=5,
    )  # fmt: skip


def test_a_view_that_runs_backwards() -> None:
    check(
        """
@T.prim_func
def f(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    back = T.decl_buffer((8,), "int32", data=A.data, strides=(-1,), elem_offset=7)
    for i in range(8):
        B[i] = back[i]
    B[T.Ramp(0, 1, 4)] = B[T.Ramp(0, 1, 4)] + back[T.Ramp(2, 1, 4)]
    back[T.Ramp(1, 1, 4)] = B[T.Ramp(4, 1, 4)]
    back[T.Ramp(7, -1, 2)] = B[T.Ramp(1, -1, 2)]
""",
        A=ints(8), B=ints(8),
    )  # fmt: skip


def test_undef_may_be_stored_and_is_harmless() -> None:
    check(
        """
@T.prim_func
def f(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "bool")):
    t = T.alloc_buffer((8,), "int32")
    A[0] = T.undef("int32") * 0
    A[1] = T.Select(A[2] == 2, 7, T.undef("int32"))
    A[3] = T.Cast("int32", T.float32(3e9))
    B[0] = T.undef("bool")
    for i in range(8):
        if i > 3:
            t[i] = i
        A[i] = T.if_then_else(i > 3, t[i], A[i])
    A[5] = t[0]
""",
        A=ints(8), B=np.zeros(8, np.bool_),
    )  # fmt: skip


def test_buffers_without_dimensions_and_extents_that_are_loaded() -> None:
    check(
        """
@T.prim_func
def f(A: T.Buffer((), "float32"), B: T.Buffer((8,), "int32")):
    t = T.alloc_buffer((), "float32")
    t[()] = A[()] * 2.0
    A[()] = t[()] + 1.0
    u = T.alloc_buffer((B[3], B[2]), "int32")
    V = T.decl_buffer((B[4], B[2]), "int32", data=B.data)
    for i in range(B[3]):
        for j in range(B[2]):
            u[i, j] = V[i, j]
            V[i, j] = i - j
    B[0] = u[1, 1] + u[2, 0]
""",
        A=np.array(2.5, np.float32), B=np.arange(8, dtype=np.int32),
    )  # fmt: skip
