"""Calls in other processes: one that dies takes only its own call along."""

from __future__ import annotations

import operator
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

from verified_tir.child.executors import Processes, each, failure, in_helper
from verified_tir.child.helper import Ended


@pytest.fixture
def two() -> Iterator[Processes]:
    with Processes(2) as pool:
        yield pool


def lost(problem: Exception, *arguments: object) -> str:
    return f"{arguments}: {failure(problem)}"


def test_results_are_in_the_order_of_the_work(two: Processes) -> None:
    assert [*each(two, operator.add, [(k, 1) for k in range(20)], lost)] == [*range(1, 21)]
    with pytest.raises(ZeroDivisionError):
        two.submit(operator.truediv, 1, 0).result()


@pytest.mark.parametrize(
    ("call", "argument", "status"), [(os._exit, 3, 3), (os._exit, 0, 0), (signal.raise_signal, 9, -9)]
)
def test_a_call_that_ends_its_process_ends_alone(two: Processes, call: Any, argument: int, status: int) -> None:
    works = [two.submit(operator.neg, k) for k in range(3)]
    died = two.submit(call, argument)
    works += [two.submit(operator.neg, k) for k in range(3, 6)]
    assert [w.result() for w in works] == [0, -1, -2, -3, -4, -5]
    with pytest.raises(Ended) as found:
        died.result()
    assert found.value.status == status


def test_named_arguments_are_passed(two: Processes) -> None:
    assert two.submit(sorted, [1, 3, 2], reverse=True).result() == [3, 2, 1]


def test_what_a_call_prints_is_not_its_result(two: Processes) -> None:
    assert two.submit(os.write, 1, b"loud\n").result() == 5


def test_a_copy_that_holds_the_pipe_is_not_waited_for_but_killed(two: Processes, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    forks = "import ctypes, os, time\ncopy = ctypes.PyDLL(None).fork()\nif copy == 0:\n    time.sleep(600)\n"
    forks += f"with open({str(copy)!r}, 'w') as file:\n    file.write(str(copy))\nos._exit(3)"
    with pytest.raises(Ended) as found:
        two.submit(exec, forks).result(timeout=60)
    assert found.value.status == 3
    with pytest.raises(ProcessLookupError):
        while True:
            os.kill(int(copy.read_text()), 0)
            time.sleep(0.05)


class Dies(Executor):
    """An executor whose worker dies so many times."""

    def __init__(self, times: int) -> None:
        self.times, self.calls = times, 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.calls += 1
        done: Future[Any] = Future()
        if args == (1,) and self.times:
            self.times -= 1
            done.set_exception(Ended(-9))
        else:
            done.set_result(fn(*args))
        return done


def test_a_call_whose_worker_dies_is_made_once_more() -> None:
    work = [(k,) for k in range(3)]
    assert [*each(once := Dies(1), operator.neg, work, lost)] == [0, -1, -2] and once.calls == 4
    said = "(1,): the worker failed: Ended: its process ended by SIGKILL"
    assert [*each(twice := Dies(2), operator.neg, work, lost)] == [0, said, -2] and twice.calls == 4


def test_processes_that_are_not_needed_any_more_end() -> None:
    with pytest.raises(KeyboardInterrupt), Processes(1) as pool:
        process = pool.submit(os.getpid).result()
        pool.submit(signal.pause)
        waiting = pool.submit(os.getpid)
        raise KeyboardInterrupt
    assert waiting.cancelled()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    with pytest.raises(RuntimeError, match="ended"):
        pool.submit(os.getpid)


def test_a_worker_stays_whole_whatever_its_call_does() -> None:
    assert in_helper(operator.add, 1, 2) == (3, None)
    found, problem = in_helper(os._exit, 4)
    assert found is None and isinstance(problem, Ended) and problem.status == 4
    assert in_helper(operator.add, 1, 2) == (3, None)
    assert isinstance(in_helper(operator.truediv, 1, 0)[1], ZeroDivisionError)
