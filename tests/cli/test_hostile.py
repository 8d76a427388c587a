"""Inputs that nobody means: a sentence and an exit code, at once, and never a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

from tests.cli.files import GOOD, HEAD, MAIN, invoke, write

CODES = (0, 1, 2, 3, 4, 130)
PROGRAM = '@T.prim_func\ndef {}(A: T.Buffer(({},), "{}")):\n    for i in range({}):\n        A[i] = {}\n'
STEP = HEAD + "@schedule(fill)\ndef p(s):\n    {}\n"
NESTED = "".join("    " * (k + 1) + f"for i{k} in range(1):\n" for k in range(90)) + "    " * 91 + "A[0] = 1.0\n"

FILES = {
    "ok": PROGRAM.format("f", 16, "float32", 16, "1.0"),
    "good": GOOD,
    "empty": "",
    "null": "x\0",
    "brackets": "x = " + "(" * 5000 + ")" * 5000,
    "nested": '@T.prim_func\ndef f(A: T.Buffer((1,), "float32")):\n' + NESTED,
    "digits": PROGRAM.format("f", 16, "float32", "9" * 5000, "1.0"),
    "wide": PROGRAM.format("f", 2**40, "float32", 16, "1.0"),
    "long": PROGRAM.format("f", 16, "float32", 16, "+".join(["1.0"] * 20000)),
    "unicode": PROGRAM.format("größe", 16, "float32", 16, "1.0"),
    "negative": PROGRAM.format("f", -16, "float32", 16, "1.0"),
    "unknown": PROGRAM.format("f", 16, "float99", 16, "1.0"),
    "group": HEAD + "raise ExceptionGroup('g', [ValueError(1)])\n",
    "base": HEAD + "class E(BaseException): pass\nraise E('x')\n",
    "itself": HEAD + "import itself\n",
    "cookie": "# coding: nonsense\n",
    "reads": HEAD + "x = input()\n",
    "partial": HEAD + "import functools\nschedule(fill)(functools.partial(print))\n",
    "nothing": HEAD + "@schedule(None)\ndef p(s): pass\n",
    "coroutine": HEAD + "@schedule(fill)\nasync def p(s): pass\n",
    "padded": STEP.format('s.transform_layout("A", lambda i: [0, i], shape=[1, 10**6])'),
    "dimension": STEP.format('s.transform_layout("A", lambda i: [0, i], shape=[1, 2**40])'),
    "factor": STEP.format('s.split("i", [2**40, None])'),
    "deletes": STEP.format("del s.func"),
}
"""Schedule files and programs, by their names."""

BYTES = {
    "garbage.py": bytes(range(256)) * 40,
    "garbage.jsonl": bytes(range(256)) * 40,
    "garbage.jsonl.gz": bytes(range(256)) * 40,
    "garbage.npy": bytes(range(256)) * 40,
    "garbage.onnx": bytes(range(256)) * 40,
    "utf16.py": GOOD.encode("utf-16"),
    "marked.py": b"\xef\xbb\xbf" + GOOD.encode(),
    "lines.py": GOOD.replace("\n", "\r\n").encode(),
    "null.jsonl": b"null\n",
    "deep.jsonl": b"[" * 100_000 + b"\n",
    "numbers.jsonl": b'{"before": 1, "after": 2}\n',
    "one.jsonl": b'{"before": "x", "after": "y"}\n',
}

COMMANDS = [
    *[(command, f"{name}.py") for name in FILES for command in ("verify", "lower", "run")],
    *[("validate", f"{name}.py", "ok.py") for name in FILES],
    *[("validate", name) for name in BYTES],
    *[(command, name) for name in BYTES for command in ("verify", "run")],
    ("check", "garbage.py"), ("check", ""), ("check", "a" * 300), ("check", "pipes"), ("check", "."),
    ("check", ".", "--jobs", "-1"), ("check", ".", "--solver", "x"), ("check", ".", "--executor", "x"),
    ("plan", "garbage.onnx", "--layout", "conv2d=NCHW4c"), ("plan", "ok.py", "--layout", "conv2d=NCHW4c"),
    ("plan", "."), ("plan", "garbage.onnx"),
    ("verify",), ("verify", "."), ("verify", ""), ("verify", ":good"), ("verify", "good.py:"),
    ("verify", "good.py:a:b"), ("verify", "good.py", "--budget", "-1"), ("verify", "good.py", "--budget", "9" * 20),
    ("verify", "good.py", "--budget", "1"), ("verify", "good.py", "--smt", "good.py"),
    ("verify", "good.py", "--certify", "/dev/full"), ("verify", "--json", "nowhere.py"),
    ("lower", "ok.py", "--pipeline", ""), ("lower", "ok.py", "--pipeline", "(" * 3000),
    ("lower", "ok.py", "--pipeline", "__import__('os')"), ("lower", "ok.py", "--pipeline", "UnrollLoop(max_extent=-1)"),
    ("run", "ok.py", "--shape", "=3"), ("run", "ok.py", "--shape", "n=" + "9" * 5000), ("run", "ok.py", "--seed", "-1"),
    ("run", "garbage.onnx", "--input", "x=garbage.npy"),
    ("validate", "ok.py", "ok.py", "--shape", "n=1", "--shape", "n=2"), ("validate", "ok.py", "ok.py", "ok.py"),
    ("fuzz", "--time", "x"), ("fuzz", "--target", "nope"), ("cache", "x"), ("nonsense",), ("",),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = write(tmp_path_factory.mktemp("hostile"), **FILES)
    for name, content in BYTES.items():
        (made / name).write_bytes(content)
    os.mkfifo(made / "pipe.py")
    (made / "loop.py").symlink_to("loop.py")
    (made / "pipes").mkdir()
    os.mkfifo(made / "pipes" / "manifest.json")
    return made


@pytest.fixture
def _patience() -> Iterator[None]:
    """Half a minute: ten seconds on a machine that has other work."""

    def late(number: int, frame: FrameType | None) -> None:
        raise AssertionError("it takes too long")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("_patience")
@pytest.mark.sample(20)
@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda a: " ".join(a)[:60])
def test_a_hostile_input_ends_with_a_sentence(arguments: tuple[str, ...], folder: Path) -> None:
    done = invoke(*arguments, cwd=folder)
    assert done.returncode in CODES
    assert "Traceback" not in done.stderr + done.stdout
    assert (done.stderr + done.stdout).strip()


@pytest.mark.nightly
def test_outputs_that_cannot_be_written(folder: Path) -> None:
    def shell(line: str) -> subprocess.CompletedProcess[str]:
        vtir = f"{sys.executable} -c '{MAIN}'"
        return subprocess.run(
            ["bash", "-c", line.replace("vtir", vtir)], cwd=folder, capture_output=True, text=True, check=False
        )

    full = shell("vtir verify good.py > /dev/full")
    assert full.returncode == 2
    assert full.stderr == "vtir: error: the output could not be written: No space left on device\n"
    closed = shell("vtir verify good.py >&-")
    assert (closed.returncode, closed.stderr) == (2, "vtir: error: the standard output is closed\n")
    silent = shell("vtir verify good.py 2>&-")
    assert silent.returncode == 0 and "good  proved" in silent.stdout
    piped = shell("vtir verify good.py | head -1")
    assert piped.stdout == "good.py\n" and piped.stderr == ""
