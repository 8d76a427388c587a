"""The unit of work of a check: some questions for one solver; and how work is handed to others.

The function ``answers`` is what travels to other processes and machines.  It needs nothing there but
``verified_tir.logic`` and the solver, which works in a process of its own (``solver_process``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from typing import Any, TypeVar

from verified_tir.certificate.solver_process import ask_apart
from verified_tir.logic.recheck import Answer, SolverName, version

R = TypeVar("R")

Work = tuple[tuple[str, str], ...]
"""Questions: hash and text."""


def answers(solver: SolverName, work: Work, budget: int) -> list[tuple[str, Answer]]:
    """What a solver says of each question, asked anew; where the solver is not installed, that is the reason."""
    if version(solver) is None:
        return [(digest, Answer("unknown", 0.0, reason=f"{solver} is not installed there")) for digest, _ in work]
    return [(digest, ask_apart(solver, text, budget)) for digest, text in work]


def each(
    executor: Executor | None, call: Callable[..., R], work: Sequence[tuple[Any, ...]], failed: Callable[..., R]
) -> Iterator[R]:
    """What a call gives for each of some arguments, in their order; in this process if there is no executor.

    :param failed: gives it, from a reason and the arguments, where a worker died: that has done nothing.
    """
    if executor is None:
        yield from (call(*arguments) for arguments in work)
        return
    waiting = [_submitted(executor, call, arguments) for arguments in work]
    try:
        for arguments, future in zip(work, waiting, strict=True):
            try:
                found = future.result()
            except Exception as problem:
                found = failed(f"the worker failed: {type(problem).__name__}: {problem}", *arguments)
            yield found
    finally:  # an interrupt: what has not begun need not
        for future in waiting:
            future.cancel()


def _submitted(executor: Executor, call: Callable[..., R], arguments: tuple[Any, ...]) -> Future[R]:
    """The future of a call; one that has failed already where the executor takes no more, as when a worker died."""
    try:
        return executor.submit(call, *arguments)
    except RuntimeError as broken:
        failed: Future[R] = Future()
        failed.set_exception(broken)
        return failed
