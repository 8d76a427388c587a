"""The child's side: a request comes in on the standard input, answers go out on what was the standard output.

The parent keeps the input open as long as it lives: when it ends, however suddenly, the child's group is killed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any, TypeAlias

Answer: TypeAlias = Callable[[object], None]
"""Sends one JSON value to the parent."""


def work(handle: Callable[[Any, Answer], None], memory: int | None = None) -> None:
    """Read a request, let ``handle`` answer it, and say that this is done.

    :param memory: bytes of address space that may be used; more is a ``MemoryError``.
    """
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what is printed on the way must not come between the answers
    line = sys.stdin.buffer.readline()
    if not line:  # the parent has ended without a request
        return
    request = json.loads(line)
    parent = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 (as long as the process)
    threading.Thread(target=_end_with_parent, args=(parent,), daemon=True).start()
    if memory is not None:
        _limit(memory)

    def answer(value: object) -> None:
        channel.write(json.dumps(value) + "\n")
        channel.flush()

    handle(request, answer)
    answer(None)


def _end_with_parent(parent: int) -> None:
    while os.read(parent, 4096):
        pass
    end_group()


def end_with(parent: int) -> None:
    """Have this process end when its parent does, where the system can do that."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, int(signal.SIGKILL), 0, 0, 0)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os._exit(1)


def end_group() -> None:
    """End this process and those that it has started."""
    if os.name == "posix":
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _limit(memory: int) -> None:
    try:
        import resource
    except ImportError:  # no limits on this system
        return
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
