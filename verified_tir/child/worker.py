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
from typing import IO, Any, TypeAlias

Answer: TypeAlias = Callable[[object], None]
"""Sends one JSON value to the parent."""


def work(handle: Callable[[Any, Answer], None], memory: int | None = None) -> None:
    """Read a request, let ``handle`` answer it, and say that this is done.

    :param memory: bytes of address space that may be used; more is a ``MemoryError``.
    """
    parent, channel = taken_streams()
    line = parent.readline()
    if not line:  # the parent has ended without a request
        return
    request = json.loads(line)
    threading.Thread(target=_end_with_parent, args=(parent,), daemon=True).start()
    if memory is not None:
        _limit(memory)

    def answer(value: object) -> None:
        channel.write(json.dumps(value).encode() + b"\n")
        channel.flush()

    handle(request, answer)
    answer(None)


def taken_streams() -> tuple[IO[bytes], IO[bytes]]:
    """What the standard input and output were.

    From now on what is printed goes to the standard error, so that it does not come between answers, and nothing is
    read.
    """
    given, channel = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    bind_copies(given.fileno(), channel.fileno())
    sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 (as long as the process)
    return given, channel


def _end_with_parent(parent: IO[bytes]) -> None:
    while parent.read(1):
        pass
    end_group()


def end_with(parent: int) -> None:
    """Have this process end when its parent does, where the system can do that."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, int(signal.SIGKILL), 0, 0, 0)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os._exit(1)


def bind_copies(*descriptors: int) -> None:
    """Have copies that a fork makes of this process hold none of these descriptors, and end as :func:`end_with` says.

    Who waits for the end of a pipe would otherwise wait for the copies, too.
    """
    if not hasattr(os, "register_at_fork"):
        return
    parent = [os.getpid()]

    def copied() -> None:
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in descriptors:  # not closed: their numbers stay in use
            os.dup2(nothing, descriptor, inheritable=False)
        os.close(nothing)
        end_with(parent[0])

    os.register_at_fork(before=lambda: parent.__setitem__(0, os.getpid()), after_in_child=copied)


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
