"""The floating-point control register, and the interpreter's lock."""

from __future__ import annotations

import ctypes
import platform
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import llvmlite.binding as llvm
import numpy as np
import pytest

from tests.codegen.entry_support import Recorder
from verified_tir import CodegenError, Schedule, Target, build, parse_func
from verified_tir.codegen.compile import compile_llvm
from verified_tir.codegen.entry_control import ControlRegister, register_of
from verified_tir.codegen.entry_plan import entry_plan
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

_SET = """
define void @set_control(i32 %value) {
  %cell = alloca i32
  store i32 %value, ptr %cell
  call void asm sideeffect "ldmxcsr $0", "*m"(ptr elementtype(i32) %cell)
  ret void
}
"""


@pytest.fixture(scope="module")
def set_control() -> Iterator[object]:
    code = compile_llvm(_SET, Target.host(1))
    session = llvm.create_lljit_compiler(use_jit_link=True)
    library = llvm.JITLibraryBuilder().add_object_img(code).export_symbol("set_control").link(session, "control")
    yield ctypes.PYFUNCTYPE(None, ctypes.c_uint32)(library["set_control"])


@contextmanager
def register(set_control: object, f: Recorder, bits: int) -> Iterator[None]:
    assert callable(set_control)
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
        *[(1 << k, "floating-point exceptions are trapped") for k in range(7, 13)],
    ],
)
def test_a_changed_register_is_refused(set_control: object, bits: int, message: str) -> None:
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
def test_sticky_flags_and_integer_functions_do_not_care(set_control: object) -> None:
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


def released(program: str) -> bool | None:
    return entry_plan(reflexive(parse_func(program))).release


def test_when_the_lock_is_released() -> None:
    assert released(LOOP.format(n=8, kind="range(2)")) is False
    assert released(LOOP.format(n=8, kind="T.parallel(2)")) is True
    assert released(LOOP.format(n=8, kind="range(100000)")) is True
    assert released(LOOP.format(n=100000, kind="range(0)")) is False
    assert (
        released("""
@T.prim_func
def f(a: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    for i in range(n):
        A[i] = 1.0
""")
        is None
    )


LONG = """
@T.prim_func
def f(a: T.handle, B: T.Buffer((1,), "float32")):
    {symbol}
    A = T.match_buffer(a, ({n},), "float32")
    for k in range(3000):
        for i in range({n}):
            B[0] = B[0] * A[i]
"""


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
