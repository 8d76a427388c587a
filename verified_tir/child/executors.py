"""Calls that are handed to processes, here or on other machines, and what becomes of them when one dies.

:class:`Processes` is an executor of the standard library's form whose processes may die: only the call at hand ends
with one, and there is a new one for the next.  On workers of other executors, which may have several threads and must
not die, :func:`in_helper` makes a call in a process beside them.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any, Final, TypeVar, final

from verified_tir.child.helper import Helper

R = TypeVar("R")

_Call = tuple["Future[Any]", Callable[..., Any], tuple[Any, ...]]


@final
class Processes(Executor):
    """Some processes, each started when it is first needed."""

    def __init__(self, jobs: int) -> None:
        self._waiting: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._helpers = [Helper() for _ in range(jobs)]
        self._over = False
        self._threads = [threading.Thread(target=self._work, args=(h,), daemon=True) for h in self._helpers]
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Callable[..., R], /, *args: Any, **kwargs: Any) -> Future[R]:
        """Have a process make a call.

        :raises RuntimeError: after the end.
        """
        if self._over:
            raise RuntimeError("the processes have ended")
        future: Future[R] = Future()
        self._waiting.put((future, partial(fn, **kwargs) if kwargs else fn, args))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes: when all calls are made, or at once with ``cancel_futures``."""
        self._over = True
        if cancel_futures:
            while not self._waiting.empty():
                call = self._waiting.get()
                if call is not None:
                    call[0].cancel()
            for helper in self._helpers:
                helper.end()
        for _ in self._threads:
            self._waiting.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    def __exit__(self, kind: object, *rest: object) -> None:
        self.shutdown(cancel_futures=kind is not None)

    def _work(self, helper: Helper) -> None:
        while (call := self._waiting.get()) is not None:
            future, function, arguments = call
            if not future.set_running_or_notify_cancel():
                continue
            try:
                found = helper.call(function, *arguments)
            except BaseException as problem:
                future.set_exception(problem)
            else:
                future.set_result(found)
        helper.end()


_OF_THREAD: Final = threading.local()


def in_helper(function: Callable[..., R], *arguments: object) -> tuple[R | None, Exception | None]:
    """What a function gives, or raises, in a process beside this one, which stays for this thread's next call."""
    helper = getattr(_OF_THREAD, "helper", None)
    if helper is None:
        helper = _OF_THREAD.helper = Helper()
    assert isinstance(helper, Helper)
    try:
        return helper.call(function, *arguments), None
    except Exception as problem:  # no exception here: it is not the worker's, which would log it
        return None, problem


def each(
    executor: Executor | None,
    call: Callable[..., R],
    work: Sequence[tuple[Any, ...]],
    failed: Callable[..., R],
) -> Iterator[R]:
    """What a call gives for each of some arguments, in their order; in this process if there is no executor.

    A call whose worker dies is made once more.

    :param failed: gives the result, from the exception and the arguments, where that fails, too.
    """
    if executor is None:
        yield from (call(*arguments) for arguments in work)
        return
    waiting = [_submitted(executor, call, arguments) for arguments in work]
    try:
        for arguments, future in zip(work, waiting, strict=True):
            try:
                found = _result(future, executor, call, arguments)
            except Exception as problem:
                found = failed(problem, *arguments)
            yield found
    finally:  # an interrupt: what has not begun need not
        for future in waiting:
            future.cancel()


def failure(problem: Exception) -> str:
    """One line on a call that failed."""
    return f"the worker failed: {type(problem).__name__}: {problem}"


def _result(future: Future[R], executor: Executor, call: Callable[..., R], arguments: tuple[Any, ...]) -> R:
    try:
        return future.result()
    except Exception:
        return _submitted(executor, call, arguments).result()


def _submitted(executor: Executor, call: Callable[..., R], arguments: tuple[Any, ...]) -> Future[R]:
    """The future of a call; one that has failed already where the executor takes no more, as when a worker died."""
    try:
        return executor.submit(call, *arguments)
    except RuntimeError as broken:
        failed: Future[R] = Future()
        failed.set_exception(broken)
        return failed
