"""Child processes: what they may take, and that none is left behind."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

from verified_tir.child.limits import Ending


def child(code: str, request: object = None) -> subprocess.CompletedProcess[str]:
    """What a child with that handler says until it ends; the parent's end of its input stays open, as it must."""
    text = f"from verified_tir.child.worker import work\n{code}\n"
    with subprocess.Popen(
        [sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        answers, errors = process.stdout.read(), process.stderr.read()
        return subprocess.CompletedProcess([], process.wait(timeout=60), answers, errors)


def test_it_ends_with_its_parent() -> None:
    text = "from verified_tir.child.worker import work\nimport time\nwork(lambda request, answer: time.sleep(600))\n"
    done = subprocess.run([sys.executable, "-c", text], input="1\n", text=True, timeout=60, start_new_session=True,
                          check=False)  # fmt: skip
    assert done.returncode == -signal.SIGKILL


def test_only_answers_are_on_the_channel() -> None:
    code = "import os\ndef handle(request, answer):\n    print('noise')\n    os.write(1, b'more noise')\n"
    code += "    answer({'got': request, 'input': input_is_empty()})\n"
    code += "def input_is_empty():\n    import sys\n    return sys.stdin.read() == '' and os.read(0, 9) == b''\n"
    done = child(code + "work(handle)", {"a": 1})
    assert [json.loads(line) for line in done.stdout.splitlines()] == [{"got": {"a": 1}, "input": True}, None]
    assert "noise" in done.stderr


def test_a_child_that_raises_is_not_done() -> None:
    done = child("work(lambda request, answer: answer(1 / 0))")
    assert done.stdout == ""
    assert "ZeroDivisionError" in done.stderr
    assert done.returncode == 1


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux")
def test_memory_is_limited() -> None:
    code = "def handle(request, answer):\n    try:\n        answer(len(bytearray(10**9)))\n"
    code += "    except MemoryError:\n        answer('too much')\n"
    assert '"too much"' in child(code + "work(handle, 500 * 2**20)").stdout
    assert "1000000000" in child(code + "work(handle)").stdout


def test_without_a_request_there_is_nothing_to_do() -> None:
    code = "from verified_tir.child.worker import work\nwork(lambda request, answer: answer(1))\n"
    done = subprocess.run(
        [sys.executable, "-c", code], input="", capture_output=True, text=True, timeout=60, check=True
    )
    assert (done.stdout, done.stderr) == ("", "")


def test_endings_are_said() -> None:
    assert str(Ending(done=True)) == "done"
    assert str(Ending(late=True)) == "its time was over"
    assert str(Ending(code=3)) == "it ended with exit code 3"
    assert str(Ending(code=-9)) == "it was ended by signal 9"
