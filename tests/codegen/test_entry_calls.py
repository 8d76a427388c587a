"""Calls that are right: what the kernel gets, and which way they take."""

from __future__ import annotations

import array
import ctypes
import gc
import math
import sys
import threading
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.codegen.entry_support import Recorder, SlowCalls, slow_calls
from verified_tir.codegen.entry_check import word
from verified_tir.ir.dtype import DType

__all__ = ["slow_calls"]

THREE = """
@T.prim_func
def add(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
    for i, j in T.grid(4, 8):
        C[i, j] = A[i, j] + B[i, j]
"""


def addresses(*arrays: Any) -> list[int]:
    return [a.__array_interface__["data"][0] for a in arrays]


def test_three_arrays_go_the_fast_way(slow_calls: SlowCalls) -> None:
    f = Recorder(THREE)
    a, b, c = (np.zeros((4, 8), np.float32) for _ in range(3))
    assert f.function(a, b, c) is None
    assert f.seen == addresses(a, b, c)
    assert (f.calls, slow_calls.count) == (1, 0)


def test_arrays_that_are_only_read_may_coincide(slow_calls: SlowCalls) -> None:
    f = Recorder(THREE)
    a, c = (np.zeros((4, 8), np.float32) for _ in range(2))
    a.flags.writeable = False
    f(a, a, c)
    assert f.seen == addresses(a, a, c)
    assert slow_calls.count == 0


def test_parameters_by_name(slow_calls: SlowCalls) -> None:
    f = Recorder(THREE)
    a, b, c = (np.zeros((4, 8), np.float32) for _ in range(3))
    f(a, C=c, B=b)
    assert f.seen == addresses(a, b, c)
    assert slow_calls.count == 1


def test_wrong_names_and_numbers_of_arguments() -> None:
    f = Recorder(THREE)
    a, b, c = (np.zeros((4, 8), np.float32) for _ in range(3))
    signature = r"add\(A: float32\[4, 8\], B: float32\[4, 8\], C: float32\[4, 8\]\)"
    for args, named, message in (
        ((a, b, c), {"A": a}, "A is given twice"),
        ((a, b, c), {"D": a}, "has no parameter 'D'"),
        ((a, b), {"B": b}, "B is given twice"),
        ((a,), {"C": c}, "B is missing"),
        ((), {}, "A, B, C is missing"),
        ((a, b, c, c), {}, "takes 3 arguments; 4 were given"),
    ):
        with pytest.raises(TypeError, match=f"^{signature}:? {message}$"):
            f(*args, **named)
    assert f.calls == 0


SCALARS = """
@T.prim_func
def f(A: T.Buffer((1,), "{dtype}"), x: T.{dtype}):
    A[0] = x
"""

INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers(dtype: str, slow_calls: SlowCalls) -> None:
    f, t = Recorder(SCALARS.format(dtype=dtype)), DType.parse(dtype)
    a = np.zeros(1, dtype)
    for value in (t.min_value, t.max_value, 0, 1, t.max_value // 2):
        f(a, value)
        assert f.seen[1] == value % 2**t.bits
    assert slow_calls.count == (1 if dtype == "uint64" else 0)  # what needs all 64 bits is left to Python
    f(a, np.int8(7))
    assert f.seen[1] == 7
    for wrong in (t.min_value - 1, t.max_value + 1, 2**64, -(2**200)):
        with pytest.raises(OverflowError, match=f"x = {wrong} does not fit {dtype}"):
            f(a, wrong)
    for kind in (1.0, True, np.bool_(True), "1", None, np.zeros(()), np.float32(1)):
        with pytest.raises(TypeError, match="x is a scalar of type"):
            f(a, kind)


FLOATS = [0.0, -0.0, 1.0, 1e-45, 1e-320, 3.5e38, -3.5e38, 1 + 2.0**-24, 1 + 2.0**-24 + 2.0**-52, math.inf, -math.inf]
FLOATS += [1e-39, -1e-39, 6e-8, -6e-8, 65520.0, 65519.999, 2.0**-25, 1.0 + 2.0**-9 + 2.0**-30]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_floats_are_rounded_once(dtype: str) -> None:
    f, t = Recorder(SCALARS.format(dtype=dtype)), DType.parse(dtype)
    a = np.zeros(1, ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    for value in FLOATS:
        f(a, value)
        assert f.seen[1] == word(t, value), value
    for given in (3, np.float32(3), np.float64(3), np.int32(3), ml_dtypes.bfloat16(3), np.float16(3)):
        f(a, given)
        assert f.seen[1] == word(t, 3.0)
    f(a, 10**400)
    assert f.seen[1] == word(t, math.inf)
    f(a, -(10**400))
    assert f.seen[1] == word(t, -math.inf)
    f(a, math.nan)
    bits = f.seen[1].to_bytes(8, "little")[: t.nbytes]
    assert np.isnan(np.frombuffer(bits, a.dtype)[0])
    for wrong in (True, np.bool_(False), 1j, "1.0", None, [1.0]):
        with pytest.raises(TypeError, match="x is a scalar of type"):
            f(a, wrong)


def test_bools(slow_calls: SlowCalls) -> None:
    f = Recorder(SCALARS.format(dtype="bool"))
    a = np.zeros(1, np.bool_)
    for given in (True, False):
        f(a, given)
        assert f.seen[1] == given
    assert slow_calls.count == 0
    f(a, np.bool_(True))
    assert f.seen[1] == 1
    for wrong in (1, 0.0, None, np.int8(1)):
        with pytest.raises(TypeError, match="x is a scalar of type bool"):
            f(a, wrong)


# -- kinds of arrays -------------------------------------------------------------------------------------------------

ONE = """
@T.prim_func
def f(A: T.Buffer((6,), "{dtype}")):
    A[0] = A[1]
"""


@pytest.mark.parametrize("dtype", [*INTEGERS, "float16", "float32", "float64", "bool"])
def test_each_dtype_has_its_format(dtype: str, slow_calls: SlowCalls) -> None:
    f = Recorder(ONE.format(dtype=dtype))
    accepted = [t for t in [*INTEGERS, "float16", "float32", "float64", "bool", "longlong", "ulonglong", "complex64"]
                if np.dtype(t) == np.dtype(dtype)]  # fmt: skip
    for t in accepted:
        a = np.zeros(6, t)
        f(a)
        assert f.seen == addresses(a)
    assert slow_calls.count == 0
    for t in {*INTEGERS, "float16", "float32", "float64", "bool", "complex64", "S4", "M8[s]", "V4", ">i4", ">f8", "O"}:
        if np.dtype(t) != np.dtype(dtype):
            with pytest.raises(TypeError, match="A is "):
                f(np.zeros(6, t))


def test_bfloat16_has_no_buffer_and_is_taken_all_the_same(slow_calls: SlowCalls) -> None:
    f = Recorder(ONE.format(dtype="bfloat16"))
    a = np.zeros(6, ml_dtypes.bfloat16)
    f(a)
    assert f.seen == addresses(a)
    assert slow_calls.count == 1
    for wrong in (np.float16, np.uint16, np.float32):
        with pytest.raises(TypeError, match=r"A is bfloat16\[6\]; an array of"):
            f(np.zeros(6, wrong))


class WithDLPack:
    def __init__(self, held: Any, device: tuple[int, int] = (1, 0)) -> None:
        self.held, self.device = held, device

    def __dlpack__(self, **named: Any) -> Any:
        return self.held.__dlpack__(**named)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


class WithOldDLPack(WithDLPack):
    """As torch does it: no version is negotiated."""

    def __dlpack__(self, stream: Any = None) -> Any:  # type: ignore[override]
        return self.held.__dlpack__()


def test_other_arrays_share_their_memory() -> None:
    f = Recorder(ONE.format(dtype="float32"))
    a = np.zeros(6, np.float32)
    for given in (
        memoryview(a),
        WithDLPack(a),
        WithOldDLPack(a),
        a[None][0],
        a.reshape(2, 3).reshape(6),
    ):
        f(given)
        assert f.seen == addresses(a)
    held = array.array("f", [0.0] * 6)
    f(held)
    assert f.seen == [held.buffer_info()[0]]
    words = (ctypes.c_float * 6)()
    f(words)
    assert f.seen == [ctypes.addressof(words)]
    a.flags.writeable = False
    for given in (a, WithDLPack(a), memoryview(a)):
        with pytest.raises(ValueError, match="A is written; a read-only array was given"):
            f(given)
    raw = bytearray(24)
    f(memoryview(raw).cast("f"))
    assert f.seen == addresses(np.frombuffer(raw, np.uint8))
    with pytest.raises(TypeError, match="an array of uint8 was given"):
        f(raw)


def test_what_is_no_array() -> None:
    f = Recorder(ONE.format(dtype="float32"))
    for wrong, kind in ((None, "NoneType"), ([0.0] * 6, "list"), (1.0, "float"), ("abc", "str"), (object(), "object")):
        with pytest.raises(TypeError, match=f"A is an array; {kind} was given"):
            f(wrong)
    with pytest.raises(TypeError, match="A is an array; a numpy scalar"):
        f(np.float32(1))
    with pytest.raises(BufferError, match=r"A lies on device \(2, 1\) of DLPack; copy it to the CPU"):
        f(WithDLPack(np.zeros(6, np.float32), (2, 1)))
    with pytest.raises(BufferError, match="A: numpy cannot import"):
        f(WithDLPack(np.zeros(6, ml_dtypes.bfloat16)))
    with pytest.raises(TypeError, match="A is "):
        f(b"abcdef")
    assert f.calls == 0


def test_an_exporter_that_raises_leaves_no_exception_behind() -> None:
    class Raises:
        __slots__ = ()

        def __dlpack__(self, **named: Any) -> Any:
            raise RuntimeError("no memory here")

    f = Recorder(ONE.format(dtype="float32"))
    with pytest.raises(BufferError, match="no memory here"):
        f(Raises())
    released = memoryview(bytearray(24)).cast("f")
    released.release()
    with pytest.raises((TypeError, BufferError, ValueError), match="A"):
        f(released)


# -- ends of a call ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("named", [False, True], ids=["fast", "slow"])
def test_a_status_becomes_an_exception(named: bool) -> None:
    f = Recorder(ONE.format(dtype="float32"), ("n is too large", "äöü"))
    a = np.zeros(6, np.float32)
    call = (lambda: f(A=a)) if named else (lambda: f(a))
    for status, kind, text in (
        (1, AssertionError, "n is too large"),
        (2, AssertionError, "äöü"),
        (-1, MemoryError, "f:"),
    ):
        f.ends_with(status)
        with pytest.raises(kind, match=text):
            call()
    f.ends_with(0)
    call()


@pytest.mark.nightly
def test_nothing_is_leaked() -> None:
    f = Recorder(SCALARS.replace("(1,)", "(3,)").format(dtype="float32"))
    a, x = np.zeros(3, np.float32), 1.25e10
    wrong = [(a,), (a, x, 1), (None, x), (a, None), (a[:2], x), (a.astype("f8"), x), (a[::-1], x), (a[None], x)]
    watched = [a, x, None, f.function, *[v for w in wrong for v in w]]

    def calls() -> None:
        for _ in range(3000):
            f(a, x)
            f(a, x=x)
        f.ends_with(1)
        for _ in range(300):
            with pytest.raises(AssertionError):
                f(a, x)
        f.ends_with(0)
        for arguments in wrong:
            for _ in range(100):
                with pytest.raises((TypeError, ValueError)):
                    f(*arguments)

    calls()
    gc.collect()
    before = [sys.getrefcount(v) for v in watched]
    blocks = sys.getallocatedblocks()
    calls()
    gc.collect()
    after = [sys.getrefcount(v) for v in watched]
    assert all(q - p < 20 for p, q in zip(before, after, strict=True)), list(zip(before, after, strict=True))
    assert sys.getallocatedblocks() - blocks < 500
    held = array.array("f", [0.0] * 3)
    f(held, x)
    with pytest.raises(ValueError, match="A is"):
        f(memoryview(held)[:2], x)
    held.append(1.0)  # a buffer that is still held would forbid it


@pytest.mark.nightly
def test_a_function_outlives_its_handle_while_it_runs_and_goes_afterwards() -> None:
    a = np.zeros(6, np.float32)
    f = Recorder(ONE.format(dtype="float32"))
    entry = type(f.function).__call__
    count = sys.getrefcount(f.code)
    f.function = None
    gc.collect()
    entry(a)
    assert f.calls == 1
    del entry
    gc.collect()
    left = sys.getrefcount(f.code)  # (an assert would hold its operands)
    assert left == count - 2  # the built-in function and the handle held it


def test_calls_from_many_threads() -> None:
    f = Recorder(THREE)
    failures: list[BaseException] = []

    def work() -> None:
        arrays = [np.zeros((4, 8), np.float32) for _ in range(3)]
        try:
            for k in range(2000):
                f(*arrays)
                if k % 50 == 0:
                    with pytest.raises(TypeError):
                        f(*arrays[:2])
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert failures == []
    assert f.calls > 2000
