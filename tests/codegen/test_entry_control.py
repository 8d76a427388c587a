"""The floating-point control register, and the interpreter's lock."""

from __future__ import annotations

import platform
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from tests.codegen.control_support import SetControl
from tests.codegen.entry_support import Recorder
from verified_tir import CodegenError, Schedule, build, parse_func
from verified_tir.codegen.entry_control import ControlRegister, register_of
from verified_tir.codegen.entry_plan import entry_plan
from verified_tir.codegen.entry_work import ALWAYS, NEVER
from verified_tir.kernel.theorem import reflexive

FLOATS = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), x: T.float64):
    A[0] = A[1] + A[2]
"""
INTEGERS = """
@T.prim_func
def f(A: T.Buffer((4,), "int32"), x: T.int64):
    A[0] = A[1] + A[2]
"""

x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="sets MXCSR")


@pytest.fixture(scope="module")
def set_control() -> SetControl:
    return SetControl()


@contextmanager
def register(set_control: SetControl, f: Recorder, bits: int) -> Iterator[None]:
    usual = f.code.control()
    set_control(usual ^ bits)
    try:
        yield
    finally:
        set_control(usual)


@x86
@pytest.mark.parametrize(
    ("bits", "message"),
    [
        (1 << 15, "subnormal numbers are flushed to zero in this thread: its control register MXCSR was changed"),
        (1 << 6, "subnormal numbers are flushed to zero"),
        (1 << 13, "floating-point operations do not round to nearest"),
        (1 << 14, "floating-point operations do not round to nearest"),
        (3 << 13, "floating-point operations do not round to nearest"),
        (1 << 7, "floating-point exceptions are trapped"),
        (1 << 9, "floating-point exceptions are trapped"),  # the others would trap in this test itself
    ],
)
def test_a_changed_register_is_refused(set_control: SetControl, bits: int, message: str) -> None:
    f = Recorder(FLOATS)
    a = np.ones(4, np.float32)
    for call in (lambda: f(a, 1.0), lambda: f(a, x=1.0)):
        with register(set_control, f, bits), pytest.raises(FloatingPointError) as refused:
            call()
        assert message in str(refused.value)
        assert "restore it" in str(refused.value)
    assert f.calls == 0
    f(a, 1.0)
    assert f.calls == 1


@x86
def test_sticky_flags_and_integer_functions_do_not_care(set_control: SetControl) -> None:
    f, g = Recorder(FLOATS), Recorder(INTEGERS)
    with register(set_control, f, 0x3F):
        f(np.ones(4, np.float32), 1.0)
    with register(set_control, g, 1 << 15):
        g(np.ones(4, np.int32), 1)
    assert f.calls == g.calls == 1


@pytest.mark.parametrize(
    ("triple", "value", "message"),
    [
        ("x86_64-unknown-linux-gnu", 0x1F80, None),
        ("x86_64-unknown-linux-gnu", 0x9FC0, "flushed"),
        *[("x86_64-unknown-linux-gnu", 0x1F80 ^ 1 << k, "trapped") for k in range(7, 13)],
        ("aarch64-unknown-linux-gnu", 0, None),
        ("aarch64-unknown-linux-gnu", 1 << 25, None),
        ("aarch64-unknown-linux-gnu", 1 << 24, "FPCR"),
        ("aarch64-unknown-linux-gnu", 1 << 22, "nearest"),
        ("arm64-apple-darwin", 1 << 8, "trapped"),
    ],
)
def test_registers_of_other_processors(triple: str, value: int, message: str | None) -> None:
    control = ControlRegister(register_of(triple), lambda: value)
    if message is None:
        control.check()
    else:
        with pytest.raises(FloatingPointError, match=message):
            control.check()


def test_an_unknown_processor_is_refused() -> None:
    with pytest.raises(CodegenError, match="there is no entry for riscv64"):
        register_of("riscv64-unknown-linux-gnu")


# -- the interpreter's lock ------------------------------------------------------------------------------------------

LOOP = """
@T.prim_func
def f(A: T.Buffer(({n},), "float32"), B: T.Buffer((1,), "float32")):
    for k in {kind}:
        for i in range({n}):
            A[i] = A[i] + 1.0
"""


def above(program: str) -> int | None:
    return entry_plan(reflexive(parse_func(program))).release


@pytest.mark.parametrize(
    ("n", "kind", "threshold"),
    [
        (8, "range(2)", NEVER),
        (8, "T.parallel(2)", ALWAYS),
        (8, "range(100000)", ALWAYS),
        (100000, "range(0)", NEVER),
        (100000, "range(1)", ALWAYS),
    ],
)
def test_when_the_lock_is_released(n: int, kind: str, threshold: int | None) -> None:
    assert above(LOOP.format(n=n, kind=kind)) == threshold


SHOWN = """
@T.prim_func
def f(a: T.handle, k: T.int32, P: T.Buffer((4,), "int32")):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    {body}
"""


@pytest.mark.parametrize(
    ("body", "least", "most"),
    [
        ("for i in range(n): A[i] = 1.0", 3000, 5000),  # some thousand iterations
        ("for i in range(n // 4): A[i] = 1.0", 3000, 5000),
        ("for i in range(100):\n        for j in range(n): A[j] = 1.0", 10, 50),
        ("for i in range(n):\n        for j in range(i, n): A[j] = 1.0", 1000, 5000),
        ("for i in range(k): A[0] = 1.0", ALWAYS, ALWAYS),  # nothing says how often
        ("for i in range(P[0]): A[0] = 1.0", ALWAYS, ALWAYS),
        ("while P[0] > 0: P[0] = P[0] - 1", ALWAYS, ALWAYS),
        ("for i in range(20000):\n        for j in range(n): A[j] = 1.0", ALWAYS, ALWAYS),
    ],
)
def test_where_the_arguments_tell_how_much_there_is_to_do(body: str, least: int, most: int) -> None:
    found = above(SHOWN.format(body=body))
    assert found is not None
    assert least <= found <= most


LONG = """
@T.prim_func
def f(a: T.handle, B: T.Buffer((1,), "float32")):
    {symbol}
    A = T.match_buffer(a, ({n},), "float32")
    for k in range(3000):
        for i in range({n}):
            B[0] = B[0] * A[i]
"""


@pytest.mark.nightly
@pytest.mark.parametrize(("symbol", "n"), [("pass", "65536"), ("n = T.int32()", "n")], ids=["constant", "symbolic"])
def test_other_threads_run_during_a_long_call(symbol: str, n: str) -> None:
    f = build(Schedule(LONG.format(symbol=symbol, n=n)), threads=1, cache=False)
    running, ended = threading.Event(), threading.Event()

    def work() -> None:
        running.set()
        f(np.ones(65536, np.float32), np.ones(1, np.float32))
        ended.set()

    thread = threading.Thread(target=work)
    thread.start()
    running.wait()
    ticks = 0
    while not ended.wait(0.001):
        ticks += 1
    thread.join()
    assert ticks > 20
