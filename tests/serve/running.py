"""A playground that runs, and requests to it."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.cli.files import MAIN

ROW_SUM = """@T.prim_func
def row_sum(A: T.Buffer((16, 14), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        B[i] = 0.0
        for j in range(14):
            B[i] = B[i] + A[i, j]
"""


@dataclass(frozen=True)
class Served:
    """A server: its address as printed, and its process."""

    address: str
    process: subprocess.Popen[str]

    @property
    def port(self) -> int:
        return urlsplit(self.address).port or 0

    @property
    def token(self) -> str:
        return parse_qs(urlsplit(self.address).query)["token"][0]

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, bytes, dict[str, str]]:
        """Status, body and headers; nothing is added to what is asked."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=100)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, response.read(), {k.lower(): v for k, v in response.getheaders()}
        finally:
            connection.close()

    def work(self, program: str, steps: str) -> list[dict[str, Any]]:
        """The answers to a request."""
        body = json.dumps({"program": program, "steps": steps}).encode()
        status, text, _ = self.ask("POST", "/work", body, {"X-Vtir-Token": self.token})
        assert status == 200, text
        return [json.loads(line) for line in text.splitlines()]


def kinds(answers: list[dict[str, Any]]) -> list[str]:
    """What each answer is."""
    return [next(iter(a)) for a in answers]


@contextmanager
def served(folder: Path, *options: str) -> Iterator[Served]:
    """A server, ended as Ctrl-C ends it."""
    process = subprocess.Popen(
        [sys.executable, "-c", MAIN, "serve", "--port", "0", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, cwd=folder,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found is not None, line
        yield Served(found[0], process)
    finally:
        process.send_signal(signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=20)
        finally:
            process.kill()
    assert process.returncode == 0
    assert "Traceback" not in errors, errors
