"""Shapes, symbols, strides, alignment, overlap: what is refused, and in which words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from tests.codegen.entry_support import Recorder, SlowCalls, slow_calls
from verified_tir import CodegenError

__all__ = ["slow_calls"]


def zeros(*shape: int, dtype: str = "float32") -> Any:
    return np.zeros(shape, dtype)


SYMBOLIC = """
@T.prim_func
def f(a: T.handle, b: T.handle, c: T.handle, m: T.int32):
    n = T.int32()
    A = T.match_buffer(a, ((n + 3) // 4, 4), "float32")
    B = T.match_buffer(b, (n, m), "float32")
    C = T.match_buffer(c, (n * 4,), "float32")
    C[0] = A[0, 0] + B[0, 0]
"""


def test_symbols_are_bound_and_composite_extents_computed(slow_calls: SlowCalls) -> None:
    f = Recorder(SYMBOLIC)
    for n, m in ((5, 7), (0, 3), (1, 0), (4, 1), (0, 0)):
        a, b, c = zeros((n + 3) // 4, 4), zeros(n, m), zeros(n * 4)
        f(a, b, c, m)
        assert f.seen[3:] == [m, n]
    assert slow_calls.count == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((zeros(1, 4), zeros(5, 7), zeros(20), 7),
         r"A is float32\[\(n \+ 3\) // 4, 4\]: extent 0 must be \(n \+ 3\) // 4 = 2; an array of shape \(1, 4\) "
         r"was given, where n = 5"),
        ((zeros(2, 4), zeros(5, 7), zeros(20), 6), r"B is .*: extent 1 must be m = 6; .* \(5, 7\) was given"),
        ((zeros(2, 4), zeros(5, 7), zeros(21), 7), r"C is float32\[n \* 4\]: extent 0 must be n \* 4 = 20"),
        ((zeros(2, 5), zeros(5, 7), zeros(20), 7), r"A is .*: extent 1 must be 4; an array of shape \(2, 5\)"),
        ((zeros(2, 4), zeros(5), zeros(20), 7), r"B is float32\[n, m\], of 2 dimensions; an array of shape \(5,\)"),
        ((zeros(2, 4), zeros(5, 0), zeros(20), -1), r"m = -1 is the extent of an array, .* in \[0, 2147418112\]"),
        ((zeros(2, 4), zeros(0, 7), zeros(20), 7), "A is .*: extent 0 must be .* = 0; .* where n = 0"),
    ],
)  # fmt: skip
def test_wrong_shapes(arguments: tuple[Any, ...], message: str) -> None:
    f = Recorder(SYMBOLIC)
    with pytest.raises(ValueError, match=message):
        f(*arguments)
    assert f.calls == 0


def test_a_symbol_must_be_the_same_everywhere() -> None:
    f = Recorder("""
@T.prim_func
def f(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, n), "float32")
    B = T.match_buffer(b, (n,), "float32")
    B[0] = A[0, 0]
""")
    f(zeros(3, 3), zeros(3))
    with pytest.raises(ValueError, match=r"A is float32\[n, n\]: extent 1 must be n = 3"):
        f(zeros(3, 4), zeros(3))
    with pytest.raises(ValueError, match=r"B is float32\[n\]: extent 0 must be n = 3"):
        f(zeros(3, 3), zeros(4))


def test_extents_that_are_too_large(slow_calls: SlowCalls) -> None:
    f = Recorder("""
@T.prim_func
def f(a: T.handle, b: T.handle):
    m = T.int32()
    n = T.int32()
    A = T.match_buffer(a, (m, n), "int8")
    B = T.match_buffer(b, (2,), "int8")
    B[0] = A[0, 0]
""")
    b, one = np.zeros(2, np.int8), np.zeros(1, np.int8)
    most = 2**31 - 2**16
    f(as_strided(one, (most, 0), (0, 0)), b)  # strides of empty arrays do not matter
    for shape, message in (
        ((most + 1, 0), f"A: extent {most + 1} of axis 0 would be m, an int32 that lies in \\[0, {most}\\]"),
        ((2**32 + 1, 0), "would be m"),
        ((0, 2**31), "axis 1 would be n"),
        ((2**16, 2**15), r"A would have 2147483648 elements; with 32-bit extents the most is 2147418112"),
    ):
        with pytest.raises(ValueError, match=message):
            f(as_strided(one, shape, (shape[1], 1)), b)
    assert f.calls == 1
    assert slow_calls.count == 4


def test_many_elements_times_none(slow_calls: SlowCalls) -> None:
    f = Recorder("""
@T.prim_func
def f(a: T.handle):
    m = T.int32()
    n = T.int32()
    k = T.int32()
    A = T.match_buffer(a, (m, n, k), "int8")
    A[0, 0, 0] = T.int8(1)
""")
    f(np.zeros((2**20, 2**20, 0), np.int8))
    assert f.seen[1:] == [2**20, 2**20, 0]
    assert slow_calls.count == 1


def test_index_arithmetic_of_extents_does_not_overflow() -> None:
    f = Recorder("""
@T.prim_func
def f(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 0), "int8")
    B = T.match_buffer(b, (n * n // 65536,), "int8")
    B[0] = A[0, 0]
""")
    empty = np.zeros(0, np.int8)
    b = np.zeros(1, np.int8)
    f(np.zeros((2**8, 0), np.int8), b)
    with pytest.raises(ValueError, match=r"B: n \* n // 65536 has no value here .*overflow.* where n = 65536"):
        f(np.zeros((2**16, 0), np.int8), empty)
    with pytest.raises(ValueError, match="overflow"):
        f(np.zeros((2**16, 0), np.int8), np.zeros(2**16, np.int8))  # what it would be without


WIDE = """
@T.prim_func
def f(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 0), "int8")
    B = T.match_buffer(b, ({extent},), "int8")
    B[0] = A[0, 0]
"""


def test_extents_of_64_bits(slow_calls: SlowCalls) -> None:
    f = Recorder(WIDE.format(extent="n * n * n"))
    f(np.zeros((2**5, 0), np.int8), np.zeros(2**15, np.int8))
    assert slow_calls.count == 0
    with pytest.raises(ValueError, match=r"B: n \* n \* n has no value here .*overflow"):
        f(np.zeros((2**22, 0), np.int8), np.zeros(0, np.int8))  # 2**66
    g = Recorder(WIDE.format(extent="n // T.int64(4294967296)"))
    a = as_strided(np.zeros(1, np.int8), (2**33, 0), (0, 1))
    g(a, np.zeros(2, np.int8))
    assert g.seen[2] == 2**33
    with pytest.raises(ValueError, match=r"extent 0 must be .* = 2"):
        g(a, np.zeros(3, np.int8))


def test_casts_in_extents_wrap(slow_calls: SlowCalls) -> None:
    f = Recorder(WIDE.format(extent='T.Cast("int64", T.Cast("int8", n))'))
    f(np.zeros((100, 0), np.int8), np.zeros(100, np.int8))
    assert slow_calls.count == 0
    f(np.zeros((300, 0), np.int8), np.zeros(44, np.int8))
    assert slow_calls.count == 1
    with pytest.raises(ValueError, match=r"extent 0 must be .* = 44"):
        f(np.zeros((300, 0), np.int8), np.zeros(300, np.int8))


def test_negative_extents_of_composites() -> None:
    f = Recorder("""
@T.prim_func
def f(a: T.handle, n: T.int32, d: T.int32):
    A = T.match_buffer(a, (n // d,), "int8")
    A[0] = T.int8(1)
""")
    f(np.zeros(3, np.int8), 7, 2)
    f(np.zeros(3, np.int8), -7, -2)
    with pytest.raises(ValueError, match=r"A is int8\[n // d\]: extent 0 must be n // d = -4"):
        f(np.zeros(0, np.int8), 7, -2)
    with pytest.raises(ValueError, match=r"A: n // d has no value here .*zero.* where n = 7, d = 0"):
        f(np.zeros(0, np.int8), 7, 0)
    with pytest.raises(ValueError, match=r"A: n // d has no value here"):
        f(np.zeros(0, np.int8), -(2**31), -1)


def test_a_symbol_that_no_array_shows_is_refused_with_the_remedy() -> None:
    with pytest.raises(CodegenError, match=r"n occurs in n \* 4 of A .*; make it a parameter of f: n: T.int32"):
        Recorder("""
@T.prim_func
def f(a: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n * 4,), "int8")
    A[0] = T.int8(1)
""")


# -- strides ----------------------------------------------------------------------------------------------------------

MATRIX = """
@T.prim_func
def f(A: T.Buffer((4, 6), "float32")):
    A[0, 0] = 1.0
"""

STRIDED = """
@T.prim_func
def f(a: T.handle, b: T.handle):
    m = T.int32()
    n = T.int32()
    s = T.int32()
    t = T.int32()
    A = T.match_buffer(a, (m, n), "float32", strides=[s, t])
    B = T.match_buffer(b, (m,), "float32")
    B[0] = A[0, 0]
"""


@pytest.mark.parametrize(
    "array",
    [zeros(6, 4).T, zeros(8, 6)[::2], zeros(4, 12)[:, ::2], zeros(4, 6)[::-1], zeros(4, 6)[:, ::-1],
     np.broadcast_to(np.float32(0), (4, 6)), np.asfortranarray(zeros(4, 6))],
)  # fmt: skip
def test_arrays_that_are_not_compact(array: Any) -> None:
    f = Recorder(MATRIX)
    with pytest.raises(ValueError, match=r"A: strides must be \[24, 4\] bytes|A is written; a read-only array"):
        f(array)
    assert f.calls == 0


def test_the_stride_of_a_single_element_does_not_matter(slow_calls: SlowCalls) -> None:
    f = Recorder(MATRIX.replace("(4, 6)", "(1, 6)"))
    f(as_strided(zeros(6), (1, 6), (-400, 4)))
    g = Recorder(MATRIX.replace("(4, 6)", "(4, 1)"))
    g(as_strided(zeros(4), (4, 1), (4, 12345)))
    assert f.calls == g.calls == 1


def test_declared_strides_are_bound(slow_calls: SlowCalls) -> None:
    f = Recorder(STRIDED)
    for array, strides in (
        (zeros(3, 5), [5, 1]),
        (zeros(3, 10)[:, ::2], [10, 2]),
        (zeros(6, 5)[::2], [10, 1]),
        (zeros(3, 10)[:, :5], [10, 1]),
    ):
        f(array, zeros(3))
        assert f.seen[2:] == [3, 5, *strides]
    assert slow_calls.count == 0
    f(zeros(5, 3).T, zeros(3))  # the other order is for Python to see
    assert f.seen[2:] == [3, 5, 1, 3]
    f(as_strided(zeros(20), (2, 3), (12, 8)), zeros(2))  # 0, 2, 4 and 3, 5, 7
    assert f.seen[2:] == [2, 3, 3, 2]
    assert slow_calls.count == 2
    for overlapping in (
        np.broadcast_to(np.float32(0), (3, 5)),
        zeros(3, 5)[::-1],
        as_strided(zeros(20), (3, 5), (8, 4)),
        as_strided(zeros(40), (4, 4), (12, 8)),
    ):
        with pytest.raises(
            ValueError, match=r"A: with strides .*, elements of the array would share memory or lie before"
        ):
            f(overlapping, zeros(overlapping.shape[0]))


def test_the_stride_of_a_single_element_is_that_of_the_array(slow_calls: SlowCalls) -> None:
    f = Recorder(STRIDED)
    for shape, strides, bound in (
        ((1, 5), (-6, 4), [-2, 1]),
        ((1, 5), (4000, 4), [1000, 1]),
        ((5, 1), (4, -400), [1, -100]),
        ((1, 1), (1, 2), [0, 0]),
        ((0, 5), (8, 12), [2, 3]),
    ):
        f(as_strided(zeros(50), shape, strides), zeros(shape[0]))
        assert f.seen[2:] == [shape[0], shape[1], *(b % 2**32 for b in bound)]
    assert slow_calls.count == 5  # numpy exports other strides than it shows


def test_strides_in_fractions_of_an_element() -> None:
    f = Recorder(STRIDED)
    raw = np.zeros(100, np.int8)
    half = np.ndarray((2, 3), np.float32, raw, 0, (14, 4))
    with pytest.raises(ValueError, match=r"A: strides must be \[12, 4\] bytes"):
        f(half, zeros(2))


def test_constant_strides() -> None:
    f = Recorder(STRIDED.replace("s = T.int32()", "").replace("t = T.int32()", "").replace("[s, t]", "[16, 2]"))
    f(np.zeros((3, 16), np.float32)[:, ::2], zeros(3))
    with pytest.raises(ValueError, match=r"A: strides must be \[64, 8\] bytes; .* shape \(3, 8\)"):
        f(zeros(3, 8), zeros(3))


def test_offsets(slow_calls: SlowCalls) -> None:
    program = """
@T.prim_func
def f(a: T.handle, k: T.int32):
    A = T.match_buffer(a, (4,), "float32", elem_offset={offset})
    A[0] = 1.0
"""
    array = zeros(4)
    first = array.__array_interface__["data"][0]
    f = Recorder(program.format(offset="3"))
    f(array, 0)
    assert f.seen[0] == first - 12  # the kernel counts from the start of the block
    g = Recorder(program.format(offset="k * 2"))
    g(array, 5)
    assert g.seen[0] == first - 40
    assert slow_calls.count == 0
    with pytest.raises(ValueError, match=r"A: the offset k \* 2 would be -2"):
        g(array, -1)


LANES = """
@T.prim_func
def f(a: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32x4")
    A[0] = T.Broadcast(T.float32(0), 4)
"""


def test_lanes_are_a_last_dimension(slow_calls: SlowCalls) -> None:
    f = Recorder(LANES)
    f(zeros(5, 4))
    assert f.seen[1] == 5
    assert slow_calls.count == 0
    for array, message in (
        (zeros(5, 3), "A has 4 lanes as its last dimension; an array of shape"),
        (zeros(20), r"A is float32\[n, 4\], of 2 dimensions"),
        (zeros(5, 8)[:, ::2], "A: the lanes of an element must lie side by side"),
        (zeros(5, 8)[:, :4], r"A: strides must be \[16\] bytes"),
        (zeros(1, 3), "A has 4 lanes as its last dimension; an array of shape"),
        (zeros(1, 8)[:, ::2], "A: the lanes of an element must lie side by side"),
    ):
        with pytest.raises(ValueError, match=message):
            f(array)


def test_no_dimensions() -> None:
    f = Recorder("""
@T.prim_func
def f(A: T.Buffer((), "float32"), B: T.Buffer((), "float32")):
    B[()] = A[()]
""")
    a, b = np.zeros((), np.float32), np.zeros((), np.float32)
    f(a, b)
    assert f.seen == [x.__array_interface__["data"][0] for x in (a, b)]
    with pytest.raises(ValueError, match="A is float32"):
        f(zeros(1), b)


def test_nothing_at_all() -> None:
    f = Recorder("@T.prim_func\ndef f():\n    T.evaluate(0)")
    f()
    assert f.calls == 1
    with pytest.raises(TypeError, match=r"f\(\) takes 0 arguments; 1 were given"):
        f(1)


# -- access, alignment, overlap --------------------------------------------------------------------------------------


def test_what_is_written_must_be_writable() -> None:
    f = Recorder(MATRIX)
    array = zeros(4, 6)
    array.flags.writeable = False
    with pytest.raises(ValueError, match="A is written; a read-only array was given"):
        f(array)
    with pytest.raises(ValueError, match="A is written; a read-only array was given"):
        f(memoryview(bytes(96)).cast("f", (4, 6)))


def test_alignment() -> None:
    f = Recorder(MATRIX)
    raw = np.zeros(200, np.int8)
    start = -raw.__array_interface__["data"][0] % 4
    for shift in range(4):
        array = raw[start + shift : start + shift + 96].view(np.float32).reshape(4, 6)
        if shift == 0:
            f(array)
            continue
        with pytest.raises(ValueError, match=rf"A must lie at a multiple of 4 bytes; .*, {shift} beyond one"):
            f(array)


def test_alignment_of_other_buffers() -> None:
    f = Recorder(MATRIX)
    raw = bytearray(200)
    start = -np.frombuffer(raw, np.uint8).__array_interface__["data"][0] % 4
    for shift in range(4):  # numpy says of its own arrays that they are not aligned; a memoryview does not
        view = memoryview(raw)[start + shift : start + shift + 96].cast("f", (4, 6))
        if shift == 0:
            f(view)
            continue
        with pytest.raises(ValueError, match=rf"A must lie at a multiple of 4 bytes; .*, {shift} beyond one"):
            f(view)


TWO = """
@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    B[0] = A[0]
"""


def test_overlap() -> None:
    f = Recorder(TWO)
    raw = zeros(32)
    for at in (8, 16):
        f(raw[:8], raw[at : at + 8])
        f(raw[at : at + 8], raw[:8])
    for at in (0, 1, 7):
        for a, b in ((raw[:8], raw[at : at + 8]), (raw[at : at + 8], raw[:8])):
            with pytest.raises(ValueError, match="A and B share memory, and f writes B; pass a copy of one"):
                f(a, b)


def test_an_empty_array_overlaps_nothing() -> None:
    f = Recorder("""
@T.prim_func
def f(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (8,), "float32")
    B[0] = A[0]
""")
    raw = zeros(8)
    for at in (0, 3, 8):
        f(raw[at:at], raw)
    with pytest.raises(ValueError, match="A and B share memory"):
        f(raw[:1], raw)


def test_columns_of_one_matrix_do_not_overlap(slow_calls: SlowCalls) -> None:
    f = Recorder("""
@T.prim_func
def f(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (4,), "float32", strides=[6])
    B = T.match_buffer(b, (4,), "float32", strides=[6])
    B[0] = A[0]
""")
    raw = zeros(4, 6)
    f(raw[:, 0], raw[:, 3])
    assert slow_calls.count == 1
    with pytest.raises(ValueError, match="A and B share memory"):
        f(raw[:, 2], raw[:, 2])


# -- refused when built -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("@T.prim_func\ndef f(p: T.handle):\n    T.evaluate(0)", "parameter p is a pointer without a buffer"),
    ],
)
def test_parameters_that_no_call_could_give(program: str, message: str) -> None:
    with pytest.raises(CodegenError, match=message):
        Recorder(program)
