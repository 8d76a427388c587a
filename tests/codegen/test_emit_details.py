"""What only some operands show: signs of constants, payloads of NaNs, buffers side by side, sizes in bytes."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.codegen.emit_support import TARGET, Compiled, check
from verified_tir import Schedule, build
from verified_tir.codegen.aliases import alias_notes, span_of
from verified_tir.codegen.emit import emit
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.script import parse_func
from verified_tir.ir.stmt import DeclBuffer, Store, seq
from verified_tir.ir.sugar import const

DIVIDED = """
@T.prim_func
def f(A: T.Buffer((12,), "{kind}"), B: T.Buffer((4, 12), "{kind}")):
    for i in range(12):
        B[0, i] = A[i] // T.{kind}({by})
        B[1, i] = A[i] % T.{kind}({by})
        B[2, i] = T.truncdiv(A[i], T.{kind}({by}))
        B[3, i] = T.truncmod(A[i], T.{kind}({by}))
"""


@pytest.mark.sample(17)
@pytest.mark.parametrize("by", [1, 2, 3, 8, 64, -2, -3, -8])
@pytest.mark.parametrize("kind", ["int8", "int32", "int64"])
def test_data_divided_by_a_constant(kind: str, by: int) -> None:
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    numbers = np.array([low, low + 1, -9, -8, -7, -3, -1, 0, 1, 7, 8, high], kind)
    check(DIVIDED.format(kind=kind, by=by), A=numbers, B=np.zeros((4, 12), kind))


def test_the_remainder_of_an_index_has_the_sign_of_the_divisor() -> None:
    program = """
@T.prim_func
def f(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int64"), d: T.int32):
    for i in range(8):
        B[i] = A[i % d + 4]
        C[i] = T.int64(i % d) * T.int64(1000)
"""
    for d in (-3, -1, 2, 3):
        check(program, A=np.arange(8, dtype=np.int32), B=np.zeros(8, np.int32), C=np.zeros(8, np.int64), d=d)


def test_a_nan_of_any_payload_is_a_nan_as_bfloat16() -> None:
    """Cut off or rounded up, these would be an infinity, a zero, or a number."""
    program = """
@T.prim_func
def f(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32")):
    for i in range(6):
        B[i] = T.float32(T.bfloat16(A[i]))
"""
    bits = np.array([0x7F800001, 0x7FFFFFFF, 0xFFFFFFFF, 0xFF800001, 0x7FC00000, 0x7F808000], np.uint32)
    check(program, A=bits.view(np.float32), B=np.zeros(6, np.float32))


def test_local_buffers_that_are_alive_together_share_nothing() -> None:
    program = """
@T.prim_func
def f(A: T.Buffer((8,), "float32"), n: T.int32, B: T.Buffer((3, 8), "float32")):
    x = T.alloc_buffer((8,), "float32")
    y = T.alloc_buffer((8,), "float32")
    z = T.alloc_buffer((8,), "float32")
    for i in range(8):
        x[i] = A[i]
        y[7 - i] = A[i] + T.float32(1)
        z[i] = A[7 - i] * T.float32(2)
    for i in range(8):
        B[0, i] = x[(i + n) % 8]
        B[1, i] = y[(i + n) % 8]
        B[2, i] = z[(i + n) % 8]
"""
    check(program, A=np.arange(8, dtype=np.float32), B=np.zeros((3, 8), np.float32), n=3)


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64", "float32x4"])
def test_blocks_of_symbolic_size_are_measured_in_bytes(dtype: str) -> None:
    value = "T.Broadcast(T.float32(1), 4)" if dtype.endswith("x4") else f"T.{dtype}(1)"
    func = parse_func(f"""
@T.prim_func
def f(n: T.int32):
    t = T.alloc_buffer((n,), "{dtype}")
    for i in range(n):
        t[i] = {value}
""")
    products = re.findall(r"@llvm\.smul\.with\.overflow\.i64\(i64 [^,]+, i64 (\d+)\)", emit(func, TARGET).text)
    wanted = {"int8": 1, "float32": 4, "float64": 8, "float32x4": 16}[dtype]
    assert str(wanted) in products


@pytest.mark.parametrize(
    ("first", "second", "apart"),
    [((0, 4), (4, 4), True), ((0, 5), (4, 4), False), ((2, 3), (0, 2), True), ((2, 3), (0, 3), False),
     ((0, 8), (2, 2), False), ((0, 4), (0, 4), False)],
)  # fmt: skip
def test_views_are_told_apart_to_the_byte(first: tuple[int, int], second: tuple[int, int], *, apart: bool) -> None:
    """Views with one element in common are not disjoint, however little that is."""
    block = Buffer.declare("W", (16,), "float32")
    views = [Buffer.declare(name, (size,), "float32", data=block.data, elem_offset=const(start))
             for name, (start, size) in (("a", first), ("b", second))]  # fmt: skip
    assert [span_of(v) for v in views] == [(4 * start, 4 * (start + size)) for start, size in (first, second)]
    body = seq(*[Store(v, const(0, "float32"), (const(0),)) for v in views])
    for v in views:
        body = DeclBuffer(v, body)
    assert bool(alias_notes(body, [])) == apart


def test_a_loop_over_more_than_half_of_uint64_begins() -> None:
    """Nobody waits for its end: the assertion fails in the first iteration, if there is one."""
    func = parse_func("""
@T.prim_func
def f(A: T.Buffer((1,), "int32"), n: T.uint64):
    for i in range(n):
        assert A[0] > 0, "stop"
""")
    machine = Compiled(func)
    for n, fails in ((0, False), (1, True), (2**63, True), (2**64 - 1, True)):
        assert (machine({"A": np.zeros(1, np.int32), "n": n}) != 0) == fails


@pytest.mark.parametrize("op", ["floordiv", "floormod", "truncdiv", "truncmod"])
def test_a_guarded_division_is_not_made_in_vain(op: str) -> None:
    """By zero the processor would stop the program."""
    program = f"""
@T.prim_func
def f(A: T.Buffer((8,), "int32"), B: T.Buffer((3, 8), "int32"), n: T.int32):
    for i in range(8):
        B[0, i] = T.if_then_else(A[i] != 0, T.{op}(100, A[i]), -1)
        B[1, i] = T.if_then_else(n != 0, T.{op}(i + 100, n), -1)
        if n == 0 or T.{op}(i, n) > 2:
            B[2, i] = 1
"""
    for n in (0, 3, -3):
        check(program, A=np.array([0, 1, -1, 7, 0, 50, 0, 3], np.int32), B=np.zeros((3, 8), np.int32), n=n)


def test_what_comes_from_the_heap_goes_back() -> None:
    text = emit(
        parse_func("""
@T.prim_func
def f(A: T.Buffer((8,), "float32"), n: T.int32):
    x = T.alloc_buffer((n,), "float32")
    y = T.alloc_buffer((n,), "float32")
    for i in range(n):
        z = T.alloc_buffer((n,), "float32")
        x[i] = A[0]
        y[i] = x[i]
        z[i] = y[i]
        A[0] = z[i]
"""),
        TARGET,
    ).text
    taken = re.findall(r"(%\S+) = call ptr @aligned_alloc", text)
    freed = re.findall(r"call void @free\(ptr (%\S+)\)", text)
    assert len(taken) == 3
    assert set(freed) == set(taken)
    assert freed[-2:] == [taken[1], taken[0]]  # at the end, the last one first


def test_an_extent_that_was_there_before_the_layout_is_not_negative() -> None:
    """The array has no rows, as the new layout of four elements less than none has."""
    s = Schedule("""
@T.prim_func
def f(a: T.handle, n: T.int32):
    A = T.match_buffer(a, (n - 4,), "int32")
    for i in range(n - 4):
        A[i] = i
""")
    s.transform_layout("A", lambda i: [i // 4, i % 4])
    function = build(s)
    function(np.zeros((0, 4), np.int32), 4)
    with pytest.raises(ValueError, match="the extent n - 4 would be -2, where n = 2"):
        function(np.zeros((0, 4), np.int32), 2)
