"""``vtir verify --watch``."""

from __future__ import annotations

import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.files import GOOD, HEAD, MAIN, REFUSED, invoke, write

USES = "from helper import FOUR\n" + HEAD + '@schedule(fill)\ndef uses(s):\n    s.split("i", [FOUR, 4])\n'


class Watching:
    """``vtir verify --watch`` on a folder, with its output line by line."""

    def __init__(self, folder: Path, *paths: str) -> None:
        # a job in the background of a shell inherits that interrupts are ignored
        heeding = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {MAIN}"
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-c", heeding, "verify", "--watch", "--no-validate", *paths], cwd=folder,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))

    def until(self, text: str) -> list[str]:
        """The lines up to one that contains a text."""
        found: list[str] = []
        while not found or text not in found[-1]:
            found.append(self._lines.get(timeout=40))
        return found

    def interrupt(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=40)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path, good=GOOD, uses=USES, helper="FOUR = 4\n")


@pytest.fixture
def watching(folder: Path) -> Iterator[Watching]:
    found = Watching(folder, ".")
    try:
        yield found
    finally:
        found.process.kill()
        found.process.wait()


@pytest.mark.nightly
def test_what_changes_is_verified_again(watching: Watching, folder: Path) -> None:
    first = watching.until("watching 3 files and what they import; Ctrl-C ends it")
    assert first[0] == "good.py"
    assert "2 schedules in 3 files: 2 proved" in "\n".join(first)

    (folder / "helper.py").write_text("FOUR = 3 # not 16 iterations\n")
    second = watching.until("watching")
    assert "good.py" not in second
    assert any(line.startswith("  uses  REFUSED") for line in second), second

    (folder / "new.py").write_text(REFUSED)
    third = watching.until("watching 4 files")
    assert [line for line in third if line.endswith(".py")] == ["new.py"]

    (folder / "new.py").unlink()
    (folder / "good.py").write_text(GOOD + "\n# changed\n")
    fourth = watching.until("watching 3 files")
    assert "1 schedule in 1 file: 1 proved" in "\n".join(fourth)
    assert watching.interrupt() == 0


@pytest.mark.nightly
def test_a_file_that_ends_the_process_does_not_end_the_watch(watching: Watching, folder: Path) -> None:
    watching.until("watching")
    (folder / "good.py").write_text("import os\nos._exit(0)\n")
    said = "\n".join(watching.until("watching"))
    assert "vtir: error: good.py: the file ended the process with exit code 0" in said
    (folder / "good.py").write_text(GOOD)
    assert "1 schedule in 1 file: 1 proved" in "\n".join(watching.until("watching"))
    assert watching.interrupt() == 0


@pytest.mark.nightly
def test_an_interrupt_while_verifying(folder: Path) -> None:
    write(folder, slow=HEAD + '@schedule(fill)\ndef slow(s):\n    import time\n    print("w8")\n    time.sleep(60)\n')
    found = Watching(folder, "slow.py")
    found.until("w8")
    time.sleep(0.2)
    assert found.interrupt() == 130


@pytest.mark.parametrize("form", ["json", "junit", "sarif", "github"])
def test_only_text_is_written_again_and_again(folder: Path, form: str) -> None:
    done = invoke("verify", "--watch", "--format", form, "good.py", cwd=folder)
    assert done.returncode == 2
    assert f"--watch writes text, not {form}" in done.stderr
