"""TVM in a process of its own: it may die, and then it is known of what.

The worker reads pickled cases from the standard input, and writes pickled messages to a pipe: ``("at", what)`` before
each thing that it does, and ``("outcome", result)`` at the end of a case.
"""

from __future__ import annotations

import atexit
import os
import pickle
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, final

from tests.fuzz.targets.tvm_programs import Plan
from verified_tir.fuzz.failure import failure_of
from verified_tir.fuzz.target import Disagreement

SECONDS: Final = 120
_CHECKOUT: Final = Path(__file__).parents[3]


@final
class Died(Exception):
    """The process ended, or was ended since it took too long.

    :ivar at: what it was doing: ``"tvm: reorder"``, ``"validate: a step"``.
    :ivar how: how it ended.
    """

    def __init__(self, at: str, how: str) -> None:
        super().__init__(f"{how} at {at}")
        self.at = at
        self.how = how


@final
class Worker:
    """The process, started when it is first needed, and again after it died."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._reading = -1
        self._buffer = b""
        atexit.register(self.close)

    def examine(self, text: str, plans: Sequence[Plan], seed: int) -> Any:
        """What comes of a case.

        :raises Died: if the process dies of it.
        :raises Disagreement: if something in it raised an exception.
        """
        if self._process is None or self._process.poll() is not None:
            self._start()
        process = self._process
        assert process is not None and process.stdin is not None
        at = "starting"
        try:
            pickle.dump((text, tuple(plans), seed), process.stdin)
            process.stdin.flush()
        except OSError:
            raise self._ended(at) from None
        until = time.monotonic() + SECONDS
        while True:
            message = self._next(until)
            if message is None:
                raise self._ended(at)
            kind, value = message
            if kind == "at":
                at = value
            elif kind == "failed":
                raise Disagreement(*value)
            else:
                return value

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            if self._process.stdin is not None:
                self._process.stdin.close()
            self._process.kill()
            self._process.wait()
            os.close(self._reading)
            self._process = None

    def _start(self) -> None:
        self.close()
        reading, writing = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(writing)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, pass_fds=(writing,), cwd=_CHECKOUT,
        )  # fmt: skip
        os.close(writing)
        self._reading, self._buffer = reading, b""

    def _next(self, until: float) -> tuple[str, Any] | None:
        """The next message; ``None`` if the process ended, or time is over."""
        while True:
            if len(self._buffer) >= 8:
                size = int.from_bytes(self._buffer[:8], "little")
                if len(self._buffer) >= 8 + size:
                    message: tuple[str, Any] = pickle.loads(self._buffer[8 : 8 + size])
                    self._buffer = self._buffer[8 + size :]
                    return message
            if not select.select([self._reading], [], [], max(0.0, until - time.monotonic()))[0]:
                return None
            part = os.read(self._reading, 1 << 16)
            if not part:
                return None
            self._buffer += part

    def _ended(self, at: str) -> Died:
        assert self._process is not None
        try:
            code = self._process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            self.close()
            return Died(at, f"it took more than {SECONDS} seconds")
        self.close()
        return Died(at, f"the process ended with {code}")


def main() -> None:
    """Serve cases."""
    out = int(sys.argv[1])

    def send(*message: Any) -> None:
        data = pickle.dumps(message)
        data = len(data).to_bytes(8, "little") + data
        while data:
            data = data[os.write(out, data) :]

    from tests.fuzz.targets.tvm_checks import examine

    while True:
        try:
            text, plans, seed = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            outcome = examine(text, plans, seed, lambda what: send("at", what))
        except Exception as problem:
            failure = failure_of("tvm", problem)
            send("failed", (failure.key.kind, failure.key.where, f"{failure.message}\n{failure.traceback}"))
            continue
        send("outcome", outcome)


if __name__ == "__main__":
    main()
