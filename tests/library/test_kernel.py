"""The base of the library: kernels are proved when they are made, kept, and do not change; arrays are checked."""

from __future__ import annotations

import os
import signal
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pytest

from verified_tir import Schedule, ScheduleError, Target
from verified_tir.certificate.certify import certify
from verified_tir.certificate.check import check
from verified_tir.library import Kernel, kernel, specialised
from verified_tir.library.kernel import destination, lanes_of, machine, operand
from verified_tir.script import tir as T

MADE: list[int] = []


def in_vectors(s: Schedule, lanes: int) -> None:
    _, inner = s.split("i", [None, lanes])
    s.vectorize(inner)


@specialised
def relu(size: int, dtype: str = "float32", *, target: Target | None = None) -> Kernel:
    MADE.append(size)

    @T.prim_func
    def relu(A: T.Buffer((size,), dtype), B: T.Buffer((size,), dtype)):
        for i in range(size):
            B[i] = T.max(A[i], T.Cast(dtype, 0))

    return Kernel(relu, partial(in_vectors, lanes=lanes_of(target, dtype)), target=target)


def test_a_kernel_is_called_with_arrays() -> None:
    a, b = np.array([-1.5, 2.5, -0.0] * 11, np.float32), np.ones(33, np.float32)
    relu(33)(a, b)
    assert b.tolist() == [0.0, 2.5, 0.0] * 11
    assert "0 steps" not in repr(relu(33)) and relu(33).name == "relu"
    assert relu(33).theorem.before is relu(33).program


def test_kernels_are_kept_and_made_once_by_many_threads() -> None:
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(relu, [71] * 8))
        functions = list(pool.map(lambda kernel: kernel.function, made))
    assert len(set(map(id, made))) == len(set(map(id, functions))) == 1
    assert MADE.count(71) == 1


def test_a_child_of_a_process_that_proves_makes_kernels() -> None:
    held, done = Event(), Event()

    def prove() -> None:
        with kernel._ONE_AT_A_TIME:
            held.set()
            done.wait()

    thread = Thread(target=prove)
    thread.start()
    held.wait()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
        child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(20)
        os._exit(relu(24).program.name != "relu")
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_strategy_that_is_wrong_makes_no_kernel() -> None:
    @T.prim_func
    def running(A: T.Buffer((8,), "float32")):
        for i in range(7):
            A[i + 1] = A[i] + A[i + 1]

    with pytest.raises(ScheduleError, match="vectorized"):
        Kernel(running, lambda s: s.vectorize("i"))


def test_a_kernel_does_not_change() -> None:
    with pytest.raises(AttributeError, match="does not change"):
        relu(8).name = "other"


def test_vectors_are_as_wide_as_the_machine_has_them() -> None:
    narrow = Target("x86_64-unknown-linux-gnu", "haswell", "+avx,+avx2,+fma,-avx512f")
    assert lanes_of(narrow, "float32") == 8 and lanes_of(narrow, "float64") == 4
    assert "T.vectorized(8)" in relu(64, target=narrow).schedule.script()
    assert machine(2).threads == 2
    with pytest.raises(ValueError, match="at least one thread"):
        machine(0)
    with pytest.raises(ValueError, match="at most 65536 threads, not 4611686018427387904"):
        machine(2**62)
    for wrong in (1.5, 2.0, "2", [2]):
        with pytest.raises(TypeError, match=r"a whole number of threads, not "):
            machine(wrong)  # type: ignore[arg-type]


def test_a_kernel_has_a_certificate(tmp_path: Path) -> None:
    certify(tmp_path, relu_40=relu(40).schedule)
    done = check(tmp_path, ("z3",))
    assert not done.all_findings and done.exit_code == 0
    assert [*tmp_path.glob("*.json")]


def test_operands_are_checked() -> None:
    whole = np.zeros((4, 6), np.float32)
    assert operand("f", "a", whole, rank=2, dtypes=("float32",)) is whole
    copied = operand("f", "a", whole[:, ::2])
    assert copied.flags.c_contiguous and copied.shape == (4, 3)
    odd = np.frombuffer(bytearray(range(97)), np.uint8)[1:].view(np.float32).reshape(4, 6)
    moved = operand("f", "a", odd)
    assert moved.flags.aligned and moved.tobytes() == odd.tobytes()
    with pytest.raises(TypeError, match="f: a is a masked array, and masks have no meaning here"):
        operand("f", "a", np.ma.masked_array(whole, whole > 0))
    one = np.array(1, np.float32)
    assert operand("f", "a", one).shape == ()
    with pytest.raises(TypeError, match=r"f: the numbers of a are in the byte order of another machine"):
        operand("f", "a", whole.astype(">f4"))
    with pytest.raises(TypeError, match=r"f: a is a list, not an array of numpy"):
        operand("f", "a", [1.0])
    with pytest.raises(TypeError, match=r"f: a is an array of int32; float32, float64 are taken"):
        operand("f", "a", whole.astype(np.int32), dtypes=("float32", "float64"))
    with pytest.raises(ValueError, match=r"f: a has 1 dimensions; an array of shape \(4, 6\) was given"):
        operand("f", "a", whole, rank=1)


def test_destinations_are_checked() -> None:
    a, one = np.zeros((4, 6), np.float32), np.dtype(np.float32)
    assert destination("f", None, (2, 3), one, (a,)).shape == (2, 3)
    out = np.zeros((2, 3), np.float32)
    assert destination("f", out, (2, 3), one, (a,)) is out
    fixed = np.zeros((2, 3), np.float32)
    fixed.flags.writeable = False
    for wrong, error, said in (
        ("out", TypeError, "out is a str"),
        (out.astype(np.float64), TypeError, "the result is one of float32"),
        (np.zeros((3, 2), np.float32), ValueError, r"the result has shape \(2, 3\)"),
        (np.zeros((2, 6), np.float32)[:, ::2], ValueError, "not contiguous"),
        (fixed, ValueError, "cannot be written"),
        (np.frombuffer(bytearray(25), np.uint8)[1:].view(np.float32).reshape(2, 3), ValueError, "not aligned"),
        (np.ma.masked_array(np.zeros((2, 3), np.float32)), TypeError, "out is a masked array"),
        (a.reshape(-1)[:6].reshape(2, 3), ValueError, "shares memory"),
    ):
        with pytest.raises(error, match=said):
            destination("f", wrong, (2, 3), one, (a,))
