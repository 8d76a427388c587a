"""The compiled entry accepts nothing that the check in Python refuses, and both give the kernel the same words."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

from tests.codegen.entry_support import Recorder
from tests.nightly import few
from verified_tir.codegen import runtime
from verified_tir.codegen.entry_check import Arguments, check

PROGRAMS = {
    "plain": """
@T.prim_func
def f(A: T.Buffer((2, 3), "float32"), B: T.Buffer((3,), "int64"), x: T.float32):
    A[0, 0] = x
""",
    "symbols": """
@T.prim_func
def f(a: T.handle, b: T.handle, k: T.int32):
    n = T.int32()
    A = T.match_buffer(a, (n, k), "float32")
    B = T.match_buffer(b, (n * k + 1,), "float32")
    B[0] = A[0, 0]
""",
    "quotients": """
@T.prim_func
def f(a: T.handle, b: T.handle, k: T.int32):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, ((n - k) // 3, (n - 5) % 4, T.max(n, 2)), "float32")
    A[0] = B[0, 0, 0]
""",
    "strides": """
@T.prim_func
def f(a: T.handle, b: T.handle, k: T.int64):
    n = T.int32()
    s = T.int32()
    A = T.match_buffer(a, (n, 3), "float32", strides=[s, 1], elem_offset=2)
    B = T.match_buffer(b, (2, n), "float32", strides=[s + 1, 2])
    B[0, 0] = A[0, 0]
""",
    "lanes": """
@T.prim_func
def f(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32x2")
    B = T.match_buffer(b, (n, 2), "float32")
    B[0, 0] = T.float32(1)
""",
    "narrow": """
@T.prim_func
def f(a: T.handle, b: T.handle, k: T.uint8):
    n = T.int8()
    A = T.match_buffer(a, (n,), "bool")
    B = T.match_buffer(b, (n + T.int8(100), k), "uint16")
    B[0, 0] = T.uint16(0)
""",
}


@cache
def recorder(name: str) -> Recorder:
    return Recorder(PROGRAMS[name])


extents = st.sampled_from([0, 1, 1, 2, 2, 3, 3, 4, 5, 7, 127, 128])
dtypes = st.sampled_from(["float32"] * 12 + ["bool", "uint16", "int64", "int32", "float64", ">f4"])


@st.composite
def arrays(draw: st.DrawFn, memory: Any) -> Any:
    """A view of some memory: of any shape and strides, often of a plain one."""
    dtype = np.dtype(draw(dtypes))
    shape = tuple(draw(st.lists(extents, min_size=0, max_size=3)))
    strides = [dtype.itemsize] * len(shape)
    for k in reversed(range(len(shape) - 1)):
        strides[k] = strides[k + 1] * max(1, shape[k + 1])
    if draw(st.integers(0, 3)) == 0 and shape:
        axis = draw(st.integers(0, len(shape) - 1))
        strides[axis] = draw(st.sampled_from([0, 1, 4, 6, 8, 12, 16, 20, -4]))
    shift = draw(st.sampled_from([0, 0, 0, 4, 8, 1, 16, 64]))
    if sum(abs(s) * max(0, n - 1) for s, n in zip(strides, shape, strict=True)) > 100_000:
        shape = (0, *shape[1:])
    start = memory[200_000 + shift : 200_000 + shift + dtype.itemsize].view(dtype)
    found = as_strided(start, shape, strides)
    if draw(st.integers(0, 9)) == 0:
        found.flags.writeable = False
    return found


scalars = st.one_of(
    st.sampled_from(
        [0, 1, 2, 3, 5, 7, -1, 255, 256, 2**31 - 1, 2**31 - 2**16, 2**31, -(2**31), 2**63, 1.5, True, None]
    ),
    st.integers(-5, 5),
)


def fitting(draw: st.DrawFn, name: str) -> list[Any] | None:
    """Right arguments, drawn: mere chance would give them too rarely."""
    n, k = draw(st.integers(0, 6)), draw(st.integers(0, 4))

    def zeros(*shape: int, dtype: str = "float32") -> Any:
        return np.zeros(shape, dtype)

    match name:
        case "plain":
            return [zeros(2, 3), zeros(3, dtype="int64"), draw(st.floats(allow_nan=False))]
        case "symbols":
            return [zeros(n, k), zeros(n * k + 1), k]
        case "quotients":
            return [zeros(n), zeros(max(0, (n - k) // 3), (n - 5) % 4, max(n, 2)), k]
        case "strides":
            s = draw(st.integers(3, 5))
            b = as_strided(zeros(200), (2, n), ((s + 1) * 4, 8))
            return [zeros(n, s)[:, :3], b, k]
        case "lanes":
            return [zeros(n, 2), zeros(n, 2)]
        case "narrow":
            return [zeros(n, dtype="bool"), zeros(n + 100, k, dtype="uint16"), k]
    return None


@st.composite
def calls(draw: st.DrawFn, name: str) -> list[Any]:
    """Arguments, each right or not."""
    memories = [np.zeros(400_000, np.uint8) for _ in range(2)]
    right = fitting(draw, name)
    assert right is not None
    for k, value in enumerate(right):
        if draw(st.integers(0, 3)) == 0:
            if isinstance(value, np.ndarray):
                right[k] = draw(arrays(memories[draw(st.integers(0, 1))]))
            else:
                right[k] = draw(scalars)
    return right


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", list(PROGRAMS))
@settings(max_examples=few(80, 200), deadline=None)
@given(data=st.data())
def test_the_entry_is_never_laxer_than_the_check(name: str, data: st.DataObject) -> None:
    f = recorder(name)
    arguments = data.draw(calls(name))
    compare(f, arguments)


def compare(f: Recorder, arguments: list[Any]) -> bool:
    """Call both ways; whether the arguments are right, and the entry has seen so by itself."""
    try:
        expected: list[int] | Exception = check(f.plan, arguments, f.control).slots(f.plan)
    except (TypeError, ValueError, OverflowError, BufferError) as refused:
        expected = refused
    asked = 0

    def counting(*args: Any) -> Arguments:
        nonlocal asked
        asked += 1
        return check(*args)

    before = f.calls
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runtime, "check", counting)
        if isinstance(expected, Exception):
            with pytest.raises(type(expected)) as raised:
                f(*arguments)
            assert str(raised.value) == str(expected)
            assert (asked, f.calls) == (1, before)
            return False
        f(*arguments)
    assert f.calls == before + 1
    assert f.seen == expected
    return asked == 0


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_right_arguments_take_the_fast_way(name: str) -> None:
    f = recorder(name)
    rights = {
        "plain": [np.zeros((2, 3), np.float32), np.zeros(3, np.int64), 1.0],
        "symbols": [np.zeros((4, 3), np.float32), np.zeros(13, np.float32), 3],
        "quotients": [np.zeros(7, np.float32), np.zeros((2, 2, 7), np.float32), 1],
        "strides": [np.zeros((3, 4), np.float32)[:, :3], as_strided(np.zeros(99, np.float32), (2, 3), (20, 8)), 2],
        "lanes": [np.zeros((4, 2), np.float32), np.zeros((4, 2), np.float32)],
        "narrow": [np.zeros(5, np.bool_), np.zeros((105, 3), np.uint16), 3],
    }
    assert compare(f, rights[name])
    for k, other in itertools.product(range(len(rights[name])), (None, 2**70, np.zeros((1, 1, 1, 1)), "text")):
        wrong = list(rights[name])
        wrong[k] = other
        assert not compare(f, wrong)
