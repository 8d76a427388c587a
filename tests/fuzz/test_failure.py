"""When two failures are one finding, and what it is called."""

from __future__ import annotations

import os

import pytest

from tests.fuzz.toys import DIES, HANGS
from verified_tir import parse_func
from verified_tir.fuzz.failure import Failure, Key, failure_of, failure_of_death, failure_of_hang
from verified_tir.fuzz.running import crowding
from verified_tir.fuzz.sandbox import check_apart
from verified_tir.fuzz.target import Disagreement

STACK = """Fatal Python error: Segmentation fault

Stack (most recent call first):
  File "/somewhere/lib/python3.11/ctypes/__init__.py", line 7 in call
  File "/somewhere/verified_tir/codegen/jit.py", line 12 in run
  File "/somewhere/verified_tir/schedule/schedule.py", line 3 in build
  File "/somewhere/verified_tir/testing/assertions.py", line 5 in assert_same
  File "/somewhere/tests/fuzz/targets/kernel.py", line 9 in check
  File "/somewhere/verified_tir/fuzz/cases.py", line 1 in check
  File "/somewhere/verified_tir/codegen/not_this.py", line 1 in main

Extension modules: numpy
"""


def caught(action: object) -> BaseException:
    assert callable(action)
    with pytest.raises(Exception) as raised:
        action()
    return raised.value


def test_a_disagreement_says_what_and_where() -> None:
    failure = failure_of("kernel", Disagreement("accepted-but-differs", "split", "B[0] was 1, is 2"))
    assert failure.key == Key("kernel", "accepted-but-differs", "split")
    assert failure.message == "B[0] was 1, is 2"
    assert failure.key.name == "test_kernel_accepted_but_differs_split"


def test_a_crash_is_its_type_and_the_innermost_function_of_the_compiler() -> None:
    one = failure_of("parser", caught(lambda: parse_func("@T.prim_func\ndef f(A: T.Buffer((4,))):\n    A[0] = x")))
    other = failure_of("parser", caught(lambda: parse_func("@T.prim_func\ndef f(A: T.Buffer((8,))):\n    A[1] = yy")))
    assert one.key == other.key and one.key.kind == "crash"
    assert one.key.where.startswith("ScriptError in ir/script/")
    assert "x" in one.message and "Traceback" in one.traceback


def test_a_recursion_without_end_is_where_it_began() -> None:
    def down(n: int) -> int:
        return down(n + 1) + 1

    def first() -> int:
        return down(0)

    keys = {failure_of("t", caught(first)).key for _ in range(3)}
    assert len(keys) == 1 and next(iter(keys)).where.startswith("RecursionError in test_failure.py:")


def test_a_death_is_its_signal_and_the_innermost_function_of_the_compiler() -> None:
    assert failure_of_death("t", 11, STACK).key == Key("t", "died", "SIGSEGV in codegen/jit.py:run")
    assert failure_of_death("t", 9, "").key == Key("t", "died", "SIGKILL")
    assert failure_of_death("t", -3, "").key == Key("t", "died", "exit code 3")


def test_a_hang_is_what_was_asked_of_the_compiler_first() -> None:
    assert failure_of_hang("t", 2, STACK).key == Key("t", "hang", "schedule/schedule.py:build")
    assert failure_of_hang("t", 2, "").key.where == "unknown"


@pytest.mark.nightly
def test_a_case_apart_is_told_from_the_death_of_its_process() -> None:
    assert check_apart(DIES, "toy", [5], 30) is None
    dead = check_apart(DIES, "toy", [901], 30)
    assert isinstance(dead, Failure) and dead.key == Key("toy", "died", "SIGSEGV in toys.py:_dies")
    hung = check_apart(HANGS, "toy", [901], 1)
    assert isinstance(hung, Failure) and hung.key == Key("toy", "hang", "toys.py:check")


def test_a_case_may_take_longer_on_a_crowded_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    for load, factor in ((0.3, 1.0), (2.0, 1.0), (9.0, 4.5)):
        monkeypatch.setattr(os, "getloadavg", lambda load=load: (load, 1.0, 1.0))
        assert crowding() == factor
