"""Where commands work: ``--jobs N`` and ``--executor processes|dask[:ADDRESS]``."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from functools import partial
from logging import CRITICAL
from typing import Any, TypeVar, final

from verified_tir.child.executors import Processes, in_helper
from verified_tir.extras import missing

R = TypeVar("R")


@final
class BadExecutor(ValueError):
    """``--executor`` names none, or one that is not installed or not reached."""


@contextmanager
def executor_of(name: str, jobs: int) -> Iterator[Executor | None]:
    """The executor that a name means; ``None`` for this process, which does what a single job does.

    :param jobs: processes on this machine; 0 for one on each core.
    :raises BadExecutor: if there is none of that name, or Dask is not installed or not reached.
    """
    kind, colon, address = name.partition(":")
    jobs = jobs or os.cpu_count() or 1
    match kind, colon:
        case "processes", "":
            if jobs == 1:
                yield None
                return
            with Processes(jobs) as pool:
                yield pool
        case "dask", _ if address or not colon:
            with _dask(address, jobs) as client:
                yield _Cluster(client)
        case _:
            raise BadExecutor(f"there is no executor {name!r}; there are processes, dask and dask:ADDRESS")


@final
class _Cluster(Executor):
    """A Dask cluster.  Calls are made in processes beside its workers, which stay whole whatever a call does."""

    def __init__(self, client: Any) -> None:
        self._executor = client.get_executor(pure=False)

    def submit(self, fn: Callable[..., R], /, *args: Any, **kwargs: Any) -> Future[R]:
        """Have a worker make a call."""
        done: Future[R] = Future()

        def pass_on(there: Future[tuple[R, Exception | None]]) -> None:
            try:
                found, problem = there.result()
            except Exception as lost:  # the worker, or the connection
                problem = lost
            if not done.set_running_or_notify_cancel():
                return
            if problem is None:
                done.set_result(found)
            else:
                done.set_exception(problem)

        self._executor.submit(in_helper, partial(fn, **kwargs) if kwargs else fn, *args).add_done_callback(pass_on)
        return done


@contextmanager
def _dask(address: str, jobs: int) -> Iterator[Any]:
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise BadExecutor(missing(f"--executor dask{':' * bool(address)}{address}", "dask")) from None
    try:
        if address:
            client = distributed.Client(address, timeout=10)
        else:
            client = distributed.Client(
                n_workers=jobs, threads_per_worker=1, dashboard_address=None, silence_logs=CRITICAL
            )
    except (OSError, ValueError) as problem:
        raise BadExecutor(f"no Dask scheduler answers at {address or 'this machine'}: {problem}") from None
    with client:
        yield client
